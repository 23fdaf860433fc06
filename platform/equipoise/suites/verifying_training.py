"""Whether trajectories, credit, plans and weights are what the results say, and what they must be."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from equipoise.execution.conditions import condition_of
from equipoise.execution.plans import plan_of, registered_budget
from equipoise.execution.world import World
from equipoise.policies.model import stored_digest
from equipoise.policies.transcripts import Transcripts
from equipoise.suites.verifying_findings import Findings
from equipoise.suites.verifying_records import Job
from equipoise.suites.verifying_scene import (
    BATCH_FILE,
    CREDIT_FILE,
    PLAN_FILE,
    TRANSCRIPTS_FILE,
    Loaded,
    Scene,
    within,
)
from equipoise_budget import Affordable, Budget, BudgetRefused, Plan
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.trajectories import Trajectories

__all__ = [
    "Trained",
    "check_base",
    "check_cell",
    "check_collection",
    "check_credit",
    "check_training",
    "check_weights",
]

_CHEAP = frozenset({Need.GENERATOR, Need.FORKS})
"""What a rule may need and still be applied again: its own stream, and forks, which are in the stored batch."""


@dataclass(frozen=True)
class Trained:
    """A cell whose plan could be read.

    Attributes:
        job: the cell.
        plan: as it is stored.
        trajectories: that it is of.
        budget: of a matched or twin cell; None for a native one.
        sound: whether plan and trajectories hold their sums.
    """

    job: Job
    plan: Plan
    trajectories: Trajectories
    budget: Budget | None
    sound: bool


def check_base(scene: Scene, job: Job) -> None:
    """Hold the base policy to its digest."""
    check_weights(scene, job, "base.safetensors")


def check_collection(scene: Scene, job: Job) -> None:
    """Hold the block's trajectories and transcripts to their digests."""
    _check_batch(scene, job, _result(job)["digests"])


def _check_batch(scene: Scene, job: Job, told: Mapping[str, Any]) -> None:
    """Hold a batch to the digests that its own job tells, and its two views to each other."""
    findings, read = scene.findings, (scene.trajectories(job), scene.transcripts(job))
    for name, loaded in zip((BATCH_FILE, TRANSCRIPTS_FILE), read, strict=True):
        digest = told.get(name.partition(".")[0])
        if digest is None:
            findings.skip("runs of an earlier version did not record the digest of their own batch", job.key)
        elif loaded is not None:
            pair = (digest, loaded.digest)
            findings.hold("digests", job.key, f"digest of {within(job, name)}", pair)
    if read[0] is not None and read[1] is not None:
        _check_views(job, read[0].content, read[1].content, findings)


def _check_views(job: Job, trajectories: Trajectories, transcripts: Transcripts, findings: Findings) -> None:
    """Actions of the transcripts are the tokens of the trajectories, turn by turn."""
    what, offsets = within(job, TRANSCRIPTS_FILE), trajectories.token_offsets
    if not findings.hold(
        "digests",
        job.key,
        f"{what}, turns and tokens as those of the trajectories",
        (
            (len(offsets), int(offsets[-1])),
            (len(transcripts.token_offsets), int(transcripts.token_offsets[-1])),
        ),
    ):
        return
    counts = transcripts.end - transcripts.start
    first = transcripts.offsets[transcripts.trajectory] + transcripts.start
    place = np.repeat(first - transcripts.token_offsets[:-1], counts) + np.arange(int(counts.sum()))
    written, known = transcripts.tokens[place], trajectories.token >= 0
    findings.compared["digests"] += 1
    if not np.array_equal(written[known], trajectories.token[known]):
        found = _place(f"{what}, tokens of actions", "token", (trajectories.token, written))
        findings.fault(job.key, found[0], *found[1])


def check_credit(scene: Scene, job: Job) -> None:
    """Hold a condition's credit to its digest, and apply its rule again where nothing has to be measured for it."""
    own = BATCH_FILE in job.stored.artifacts
    batch = scene.trajectories(job if own else scene.source(job, "collect"))
    if own:
        _check_batch(scene, job, _result(job).get("digests", {}))
    _check_credit(scene, job, str(job.payload["condition"]), batch)


def check_cell(scene: Scene, job: Job) -> Trained | None:
    """Hold a cell to its digests and its plan to the one that is made again; return what its ledger is held to."""
    check_weights(scene, job, "policy.safetensors")
    return check_training(scene, job)


def check_training(scene: Scene, job: Job) -> Trained | None:
    """Likewise without the weights that training ended in: what one round of a cell trained on."""
    findings, result = scene.findings, _result(job)
    own = within(job, BATCH_FILE) in job.stored.artifacts
    source = job if own else scene.source(job, "batch")
    batch, transcripts = scene.trajectories(source), scene.transcripts(source)
    if own and batch is not None and transcripts is not None:
        _check_views(job, batch.content, transcripts.content, findings)
    credited = within(job, CREDIT_FILE) in job.stored.artifacts
    signals = scene.source(job, "signals")
    if credited:
        _check_credit(scene, job, str(signals.payload["condition"]), batch)
    credit = scene.credit(job if credited else signals)
    for what, loaded, told in (
        ("trajectories", batch, result["digests"]["trajectories"]),
        ("transcripts", transcripts, result["digests"].get("transcripts")),
        ("credit", credit, result["credit"]["digest"]),
    ):
        if told is None:
            why = f"runs of an earlier version did not record the digest of the {what} they trained on"
            findings.skip(why, job.key)
        # A file that does not hold its own sum is told where it lies, not again at everything that read it.
        elif loaded is not None and loaded.sound:
            findings.hold("digests", job.key, f"digest of the {what} it trained on", (told, loaded.digest))
    return _check_plan(scene, job, batch, credit)


def _check_plan(scene: Scene, job: Job, batch: Loaded | None, credit: Loaded | None) -> Trained | None:
    findings, digest = scene.findings, _result(job)["digests"]["plan"]
    plan, name = None, within(job, PLAN_FILE)
    if digest != "none":
        told = not scene.holds(job, name) and name in job.stored.artifacts
        plan = findings.read(job.key, job.folder / name, Plan.load, told=told)
        if plan is not None:
            findings.hold("plans", job.key, f"digest of {name}", (digest, plan.digest()))
    if batch is None or credit is None or not (batch.sound and credit.sound):
        findings.skip("plans are not made again from trajectories or credit that were changed", job.key)
        return None
    world, cell = scene.world(job), job.payload["cell"]
    if plan is not None or digest == "none":
        _make_again(world, job, (batch.content, credit.content), plan, findings)
    if plan is None:
        return None
    budget = None if cell["arm"] == "native" else registered_budget(world, batch.content)
    return Trained(job, plan, batch.content, budget, scene.holds(job, name))


def _make_again(
    world: World, job: Job, read: tuple[Trajectories, Credit], plan: Plan | None, findings: Findings
) -> None:
    generation, name = _affordable(_result(job), job.key, findings), within(job, PLAN_FILE)
    try:
        again = plan_of(world, job.payload["cell"], *read, generation)
    except BudgetRefused as error:
        if plan is not None:
            found = f"a plan of {plan.slots} slots"
            findings.hold_again("plans made again", job.key, name, (f"none: {error}", found))
            return
        findings.compared["plans made again"] += 1
        findings.notes.append(f"{job.key} was left without a plan, and says so: {error}")
        return
    if plan is None and world.suite.budget.under == "refill":
        findings.skip("whether refills were enough is not worked out again", job.key)
        return
    what, pair = _difference(name, again, plan)
    findings.hold_again("plans made again", job.key, what, pair)


def _difference(name: str, expected: Plan, found: Plan | None) -> tuple[str, tuple[object, object]]:
    """The first number in which two plans differ; their digests where none does."""
    if found is None:
        return name, (f"a plan of {expected.slots} slots", "none")
    for field in fields(Plan):
        pair = getattr(expected, field.name), getattr(found, field.name)
        if not isinstance(pair[0], np.ndarray):
            if pair[0] != pair[1]:
                return f"{name}, {field.name}", pair
        elif pair[0].shape != pair[1].shape:
            return f"{name}, length of {field.name}", (pair[0].size, pair[1].size)
        elif not np.array_equal(*pair, equal_nan=pair[0].dtype.kind == "f"):
            return _place(f"{name}, {field.name}", "slot" if "token" not in field.name else "token", pair)
    return name, (expected.digest(), found.digest())


def _place(what: str, unit: str, pair: tuple[Any, Any]) -> tuple[str, tuple[object, object]]:
    """The first place at which two columns of one length differ, undefined being equal to undefined."""
    expected, found = (np.asarray(column) for column in pair)
    same = (expected == found) | ((expected != expected) & (found != found))
    place = int(np.argmin(same))
    return f"{what}, {unit} {place}", (expected[place].item(), found[place].item())


def _check_credit(scene: Scene, job: Job, condition: str, batch: Loaded | None) -> None:
    findings, credit = scene.findings, scene.credit(job)
    if credit is None:
        return
    told = _result(job)["credit"]["digest"]
    findings.hold("digests", job.key, f"digest of {CREDIT_FILE}", (told, credit.digest))
    world = scene.world(job)
    rule, parameters = condition_of(world.suite, condition)
    needs = rule.needed(parameters)
    if not needs <= _CHEAP:
        measured = ", ".join(sorted(str(need) for need in needs - _CHEAP))
        findings.skip(f"credit that rests on measurements ({measured}) is held to its digest only", job.key)
    elif batch is None or not batch.sound:
        findings.skip("rules are not applied again to trajectories that were changed", job.key)
    else:
        stream = world.rng("rule", rule.name) if Need.GENERATOR in needs else None
        again = rule.apply(batch.content, Context(generator=stream), parameters)
        _compare_credit(job, again, credit.content, findings)


def _compare_credit(job: Job, expected: Credit, found: Credit, findings: Findings) -> None:
    what, pair = CREDIT_FILE, (expected.digest(), found.digest())
    if pair[0] != pair[1] and expected.value.shape == found.value.shape:
        for column in ("value", "reason"):
            columns = getattr(expected, column), getattr(found, column)
            if not np.array_equal(*columns, equal_nan=column == "value"):
                what, pair = _place(f"{CREDIT_FILE}, {column}", found.granularity, columns)  # type: ignore[assignment]
                break
    findings.hold_again("credit assigned again", job.key, what, pair)


def check_weights(scene: Scene, job: Job, name: str) -> None:
    """Hold the weights in a file of a job to the digest that its result tells."""
    told = _result(job)["digests"]["weights"]
    found = scene.findings.read(
        job.key, job.folder / name, stored_digest, told=name in scene.damaged.get(job.key, ())
    )
    if found is not None:
        scene.findings.hold("weights", job.key, f"digest of the weights in {name}", (told, found))


def _affordable(result: Mapping[str, Any], key: str, findings: Findings) -> Affordable | None:
    """The prompts that the cell could afford, as it says: their costs rest on measurements."""
    told = (result.get("generation") or {}).get("prompts")
    if told is None:
        return None
    findings.skip("which prompts a cell can afford is not worked out again", key)
    given = {name: value for name, value in told.items() if name != "says"}
    return Affordable(**{**given, "prompts": np.array(told["prompts"], dtype=np.int64)})


def _result(job: Job) -> Mapping[str, Any]:
    assert job.result is not None
    return job.result
