"""The search for hyper-parameters as jobs: blocks of its own, in which each trial is a matched run."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from equipoise.execution.conditions import holds_forks
from equipoise.store.records import JobSpec
from equipoise.tuning.space import rule_values, settle
from equipoise.tuning.tally import trial_key
from equipoise_preregistration import Suite
from equipoise_preregistration.points import label

if TYPE_CHECKING:
    from equipoise.tuning.studies import Proposed

__all__ = ["searched", "tuning_jobs"]

_STAGE = 100_000_000
_DIGITS = 12


def searched(suite: Suite) -> Suite:
    """The suite as trials see it: what no choice rests on is not played."""
    if suite.evaluation.primary == "held_out":
        return suite
    written = suite.model_dump(mode="json")
    written["evaluation"]["held_out_episodes"] = 0
    return Suite.model_validate(written)


def tuning_jobs(suite: Suite, trials: Sequence["Proposed"]) -> list[JobSpec]:
    """Jobs of the trials and what they need; credit is assigned once for all trials of one set of rule parameters.

    Args:
        suite: as registered.
        trials: of all conditions. A trial that was asked for is the same jobs whenever it is passed.
    """
    plain = searched(suite)
    jobs: dict[str, JobSpec] = {}
    for block in range(suite.tuning.blocks):
        for job in _block(plain, block):
            jobs[job.key] = job
        for trial in trials:
            for job in _trial(plain, trial, block):
                jobs[job.key] = job
    return list(jobs.values())


def _job(kind: str, key: str, suite: Suite, inputs: dict[str, str], place: int, **more: object) -> JobSpec:
    # Without a `block`: status and MLflow count the blocks of the comparison only.
    payload = {"job": kind, "suite": suite.model_dump(mode="json"), "inputs": inputs, **more}
    return JobSpec(
        key=key, kind=kind, payload=payload, needs=tuple(dict.fromkeys(inputs.values())), order=place
    )


def _block(suite: Suite, block: int) -> Iterator[JobSpec]:
    base, collect = f"tuning/base/{block}", f"tuning/collect/{block}"
    yield _job("tuning_base", base, suite, {}, block, tuning_block=block)
    yield _job("tuning_collect", collect, suite, {"base": base}, _STAGE + block, tuning_block=block)


def _trial(suite: Suite, trial: "Proposed", block: int) -> Iterator[JobSpec]:
    """Credit and training of one trial; lower numbers first, so that conditions advance side by side."""
    base, collect = f"tuning/base/{block}", f"tuning/collect/{block}"
    name, (place, condition) = (
        trial.condition,
        next((i, c) for i, c in enumerate(suite.conditions) if c.id == trial.condition),
    )
    own, order = rule_values(trial.values), trial.number * 1000 + place
    credited, settled = settle(suite, name, own), settle(suite, name, trial.values)
    digits = sha256(label(dict(own)).encode()).hexdigest()[:_DIGITS]
    signals = f"tuning/signals/{name}/{digits}/{block}"
    yield _job(
        "tuning_signals",
        signals,
        credited,
        {"base": base, "collect": collect},
        2 * _STAGE + place,
        tuning_block=block,
        condition=name,
        values=dict(own),
    )
    inputs = {
        "base": base,
        "signals": signals,
        "batch": signals if holds_forks(credited, name) else collect,
    }
    if settled.budget.under == "refill":
        inputs["collect"] = collect
    cell = {"condition": name, "rule": condition.rule, "arm": "matched", "twin": 0, "block": block}
    yield _job(
        "trial",
        trial_key(name, trial.number, block),
        settled,
        inputs,
        3 * _STAGE + order,
        tuning_block=block,
        cell=cell,
        values=dict(trial.values),
    )
