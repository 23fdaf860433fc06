"""The command line as a process that a test may kill, and results that are made up."""

import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.platform.conftest import COMMAND, ENVIRONMENT, Equipoise, Finished

from equipoise.suites.jobs import cells_of
from equipoise_budget import Cost, Plan, counted_dose
from equipoise_preregistration import Suite

__all__ = ["Equipoise", "Finished", "Start"]

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(request: pytest.FixtureRequest) -> Start:
    """Starts the command line and leaves it running; whatever is left of it is killed after the test."""

    def call(*arguments: object) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        request.addfinalizer(lambda: _end(process))
        return process

    return call


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    with process:
        process.wait()


@pytest.fixture(scope="session")
def make_suite() -> Callable[..., Suite]:
    """Four conditions in three blocks; no run of it is needed where its results are made up."""

    def make(**changes: Any) -> Suite:
        written: dict[str, Any] = {
            "name": "made-up",
            "conditions": [
                {"id": "outcome", "rule": "grpo", "baseline": True},
                {"id": "gigpo", "rule": "gigpo"},
                {"id": "carl", "rule": "carl"},
                {"id": "oracle", "rule": "exact", "control": "positive"},
            ],
            "environment": {"name": "bifurcation", "tasks": {"pool": 2, "held_out": 3}},
            "budget": {"examples": 4, "optimizer_steps": 2},
            "blocks": 3,
            "hypotheses": [{"id": "H1", "says": "it helps", "contrast": "content(gigpo)"}],
        }
        return Suite.model_validate({**written, **changes})

    return make


@pytest.fixture(scope="session")
def made_up() -> Callable[..., dict[str, Any]]:
    """Results as workers write them; `successes` of 10 episodes on each pool task by (condition, arm, block)."""

    def results(suite: Suite, successes: Callable[[str, str, int], int]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for block in range(suite.blocks):
            outcomes = _outcomes(2)
            found[f"b{block}/base"] = {"kind": "base", "block": block, "outcomes": outcomes}
            cost = Cost(rollout_tokens=100).to_json()
            found[f"b{block}/collect"] = {"kind": "collect", "block": block, "cost": cost}
            for condition in suite.conditions:
                found[f"b{block}/signals/{condition.id}"] = {
                    "kind": "signals",
                    "block": block,
                    "condition": condition.id,
                    "credit": {
                        "constant_within_trajectories": condition.rule == "grpo",
                        "shuffle_active_share": 0.0 if condition.rule == "grpo" else 0.8,
                    },
                    "cost": Cost(scoring_tokens=10).to_json(),
                }
        for cell in cells_of(suite):
            found[cell.key] = {
                "cell": vars(cell),
                "outcomes": _outcomes(successes(cell.condition, cell.arm, cell.block)),
                **_cell_numbers(),
            }
        return found

    return results


def _outcomes(successes: int) -> list[dict[str, object]]:
    pool = [{"split": "pool", "task": task, "successes": successes, "episodes": 10} for task in range(2)]
    held_out = [
        {"split": "held_out", "task": task, "successes": task % 2, "episodes": 1} for task in range(3)
    ]
    return [*pool, *held_out]


def _cell_numbers() -> dict[str, object]:
    plan = Plan(
        np.arange(4),
        np.zeros(4, dtype=np.int64),
        np.array([1.0, -1, 0.5, 0]),
        np.array([0, 0, 1, 1]),
        2,
        "exact",
    )
    place = np.array([0, 0, 1, 1])
    planned = plan.dose(np.full(4, 3), trajectory=place, task=place)
    dose = counted_dose(
        plan.example,
        plan.weight,
        grad_norms=np.array([0.5, 0.25]),
        micro_batches=2,
        tokens_in_loss=12,
        tokens_forward=40,
        displacement=(0.1, 0.01),
    )
    return {
        "kind": "cell",
        "end": "ok",
        "breaches": [],
        "credit": {"examples": 4},
        "planned": {**planned.to_json(), "fill": plan.fill, "batch": plan.batch},
        "dose": dose.to_json(),
        "cost": Cost(forward_tokens_train=40).to_json(),
        "digests": {"plan": plan.digest(), "weights": "w"},
        "seconds": {"train": 1.0, "evaluate": 0.5},
    }
