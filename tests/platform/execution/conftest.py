"""A suite of two tasks and two blocks, run through the worker's own entry, in this process."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from equipoise.execution.batches import Batch
from equipoise.execution.execute import execute
from equipoise.execution.world import World
from equipoise.suites.jobs import jobs_of
from equipoise_budget import Plan
from equipoise_conditions.credit import Credit
from equipoise_conditions.projection import to_turns
from equipoise_preregistration import Suite


@pytest.fixture(scope="session", autouse=True)
def _frozen(frozen_imports: None) -> None:
    """Each test here trains."""


@dataclass
class Ran:
    """Results and folders of a suite's jobs, by key."""

    suite: Suite
    results: dict[str, Any]
    folders: dict[str, Path]
    payloads: dict[str, Mapping[str, Any]]

    def world(self, block: int) -> World:
        return World(self.suite, block)

    def batch(self, key: str) -> Batch:
        return Batch.load(self.folders[key])

    def credit(self, block: int, condition: str) -> Credit:
        return Credit.load(self.folders[f"b{block}/signals/{condition}"] / "credit.npz")

    def turns(self, block: int, condition: str) -> Credit:
        """The same as credit of turns, whatever its granularity."""
        return to_turns(self.credit(block, condition), self.batch_of(block, condition).trajectories)

    def plan(self, key: str) -> Plan:
        return Plan.load(self.folders[key] / "plan.npz")

    def cells(self) -> list[tuple[int, str, Any]]:
        """(block, condition, results by arm) of every condition in every block."""
        return [
            (block, c.id, {arm: self.results[f"b{block}/cell/{c.id}/{arm}/0"] for arm in ARMS})
            for block in range(self.suite.blocks)
            for c in self.suite.conditions
        ]

    def batch_of(self, block: int, condition: str) -> Batch:
        """What a condition's turns are turns of."""
        return self.batch(f"b{block}/signals/carl" if condition == "carl" else f"b{block}/collect")

    def again(self, key: str, folder: Path) -> Any:
        """The same job once more, into another folder."""
        return run_job(self.payloads[key], folder, self.folders)


ARMS = ("native", "matched", "twin")


def run_job(payload: Mapping[str, Any], folder: Path, folders: Mapping[str, Path]) -> Any:
    """A job as a worker does it: payload and result pass through JSON, which knows no NaN."""
    result = execute(json.loads(json.dumps(payload)), folder, folders)
    return json.loads(json.dumps(result, allow_nan=False))


@pytest.fixture(scope="session")
def make_suite() -> Callable[..., Suite]:
    import torch

    def make(**changes: Any) -> Suite:
        written: dict[str, Any] = {
            "name": "small",
            "seed": 3,
            "environment": {
                "name": "bifurcation",
                "tasks": {"pool": 2, "held_out": 1},
                "options": {"rooms": 4, "doors": 2, "pivotal": 1, "signs": 2},
                "horizon": 4,
            },
            "policy": {
                "hidden": 16,
                "layers": 1,
                "warm_start": {
                    "demonstrations": 8,
                    "success": [0.0, 1.0],
                    "batch": 8,
                    "max_epochs": 1,
                    "probe_every": 1,
                },
            },
            "collection": {"rollouts_per_task": 4},
            "conditions": [
                {"id": "outcome", "rule": "grpo", "baseline": True},
                {"id": "echo", "rule": "grpo"},
                {"id": "hindsight", "rule": "hcapo"},
                {"id": "carl", "rule": "carl", "forks": 3},
                {"id": "replay", "rule": "replay", "alternatives": 1, "rollouts": 2},
                {"id": "oracle", "rule": "exact", "control": "positive"},
                {"id": "noise", "rule": "random", "control": "negative"},
            ],
            "budget": {"examples": 16, "optimizer_steps": 4},
            "blocks": 2,
            "evaluation": {"episodes_per_task": 2, "held_out_episodes": 1},
            "execution": {"cpu_capability": torch.backends.cpu.get_cpu_capability().lower()},
        }
        return Suite.model_validate({**written, **changes})

    return make


@pytest.fixture(scope="session")
def run_suite(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Suite], Ran]:
    def run(suite: Suite) -> Ran:
        done = Ran(suite, {}, {}, {})
        for job in sorted(jobs_of(suite), key=lambda job: job.order):
            assert set(job.needs) <= set(done.results), "a job comes after all that it needs"
            folder = tmp_path_factory.mktemp("job")
            done.results[job.key] = run_job(job.payload, folder, done.folders)
            done.folders[job.key], done.payloads[job.key] = folder, job.payload
        return done

    return run


@pytest.fixture(scope="session")
def ran(make_suite: Callable[..., Suite], run_suite: Callable[[Suite], Ran]) -> Ran:
    return run_suite(make_suite())


ON_POLICY = {"path": "grpo", "loss": "dapo", "clip": [0.2, 0.28]}


@pytest.fixture(scope="session")
def on_each_path(make_suite: Callable[..., Suite], run_suite: Callable[[Suite], Ran]) -> Mapping[str, Ran]:
    """One block on either path, and two of its conditions in two rounds."""
    conditions: list[dict[str, Any]] = [
        {"id": "outcome", "rule": "grpo", "baseline": True},
        {"id": "tokens", "rule": "reinforce_pp"},
        {"id": "oracle", "rule": "exact", "control": "positive"},
    ]
    twice = {"rollouts_per_task": 4, "rounds": 2}
    return {
        "sft": run_suite(make_suite(conditions=conditions, blocks=1)),
        "dapo": run_suite(make_suite(conditions=conditions, blocks=1, training=ON_POLICY)),
        "rounds": run_suite(
            make_suite(conditions=conditions[:2], blocks=1, training=ON_POLICY, collection=twice)
        ),
    }
