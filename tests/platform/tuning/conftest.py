"""A suite with a search whose runs are made up."""

from collections.abc import Callable
from typing import Any

import pytest

from equipoise_preregistration import Suite

MakeTuned = Callable[..., Suite]


@pytest.fixture(scope="session")
def make_tuned() -> MakeTuned:
    """Three conditions; only the second and third have the parameter `gamma`."""

    def make(**tuning: Any) -> Suite:
        space = {
            "training.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
            "training.clip": {"choices": [None, [0.2, 0.2]]},
            "gamma": {"low": 0.5, "high": 1.0},
        }
        return Suite.model_validate(
            {
                "name": "tuned",
                "seed": 3,
                "conditions": [
                    {"id": "outcome", "rule": "grpo", "baseline": True},
                    {"id": "gigpo", "rule": "gigpo", "std": "population"},
                    {"id": "turns", "rule": "mt_grpo"},
                ],
                "environment": {"name": "bifurcation", "tasks": {"pool": 2, "held_out": 3}},
                "budget": {"examples": 4, "optimizer_steps": 2},
                "tuning": {"trials": 4, "blocks": 2, "space": space, **tuning},
            }
        )

    return make


@pytest.fixture(scope="session")
def trial_results() -> Callable[..., dict[str, Any]]:
    """Results of the runs of one trial: successes of 10 episodes on each of two tasks, by block."""

    def results(condition: str, number: int, successes: list[int], **changes: Any) -> dict[str, Any]:
        return {
            f"tuning/trial/{condition}/{number}/{block}": {
                "kind": "trial",
                "values": {"gamma": 0.5 + number / 10},
                "outcomes": [
                    {"split": "pool", "task": task, "successes": won, "episodes": 10} for task in range(2)
                ],
                "steps": {"slots": [2, 2]},
                "end": "ok",
                "breaches": [],
                **changes,
            }
            for block, won in enumerate(successes)
        }

    return results
