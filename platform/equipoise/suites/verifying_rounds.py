"""Whether each round of a cell is what it says, and whether the rounds add up to what the cell says in all."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from equipoise.execution.plans import whole_budget
from equipoise.execution.received import ROUNDING, levels_of
from equipoise.execution.rounds import collected_of
from equipoise.execution.totals import digest_of
from equipoise.suites.verifying_findings import Findings
from equipoise.suites.verifying_ledgers import check_ledger
from equipoise.suites.verifying_records import Job
from equipoise.suites.verifying_scene import Scene
from equipoise.suites.verifying_training import Trained, check_training, check_weights
from equipoise_budget import Budget, Cost, Dose, Joined, Ledger, PlannedDose, breaches

__all__ = ["check_rounds"]

_SUMS = (
    "slots",
    "optimizer_steps",
    "unique_examples",
    "micro_batches",
    "tokens_in_loss",
    "tokens_forward",
    "weight_abs",
    "weight_sq",
    "weight_mass",
    "zero_weight_slots",
    "positive_slots",
    "padding_slots",
    "padding_tokens",
)
"""Of a dose; an example of one round is none of another."""


def check_rounds(scene: Scene, job: Job, tolerance: float) -> Trained | None:
    """Check every round as a run of its own, and the sums; return what the cell's rows are matched by.

    Args:
        scene: of the suite.
        job: a cell of several rounds.
        tolerance: registered relative difference between planned and counted sums.
    """
    result, findings = job.result, scene.findings
    assert result is not None
    check_weights(scene, job, "policy.safetensors")
    _check_number(scene, job)
    trained: list[Trained] = []
    for told in result["rounds"]:
        one = _as_run(scene, job, told)
        found = check_training(scene, one)
        if found is not None:
            check_ledger(found, tolerance, findings)
            _check_collected(one, found, findings)
            trained.append(found)
    planned = [told for told in result["rounds"] if told["digests"]["plan"] != "none"]
    _check_digests(job, findings)
    if not trained or len(trained) < len(planned) or not all(one.sound for one in trained):
        if planned:
            findings.skip("rounds are not added up where a plan of theirs was changed", job.key)
        else:
            findings.notes.append(f"{job.key} was left untrained in every round: {result['message']}")
        return None
    shares = [one.budget for one in trained if one.budget is not None]
    budget = whole_budget(scene.world(job), shares) if shares else None
    _check_sums(job, trained, budget, max(tolerance, ROUNDING), findings)
    # Later rounds of a twin are of its own policy: their weights are not those of its rule.
    first = tuple(row for row in job.stored.steps if row["round"] == 1)
    matched = replace(job, stored=replace(job.stored, steps=first))
    return Trained(matched, trained[0].plan, trained[0].trajectories, budget, sound=True)


def _as_run(scene: Scene, job: Job, told: Mapping[str, Any]) -> Job:
    """A round as if it were a run: its part of the result, and of the steps."""
    assert job.result is not None
    number, key = int(told["round"]), f"{job.key}, round {told['round']}"
    places = [place for place, of in enumerate(job.result.get("round_of_step", ())) if of == number]
    here = slice(places[0], places[-1] + 1) if places else slice(0, 0)
    tables = {
        name: {column: values[here] for column, values in job.result[name].items()}
        for name in ("allocated", "steps")
        if name in job.result
    }
    scene.damaged[key] = scene.damaged.get(job.key, frozenset())
    return replace(
        job,
        stored=replace(job.stored, key=key),
        payload={**job.payload, "round": number},
        result={**told, **tables},
    )


def _check_number(scene: Scene, job: Job) -> None:
    """All registered rounds are there, unless the run ended in the last one that is."""
    assert job.result is not None
    rounds, registered = job.result["rounds"], scene.world(job).suite.collection.rounds
    numbers = [told["round"] for told in rounds]
    native = job.payload["cell"]["arm"] == "native"
    last = rounds[-1]
    ended = last["end"] != "ok" or (last["digests"]["plan"] == "none" and not native)
    expected = list(range(1, (len(rounds) if ended else registered) + 1))
    scene.findings.hold("registered runs", job.key, "rounds", (expected, numbers))


def _check_collected(job: Job, trained: Trained, findings: Findings) -> None:
    told = (job.result or {}).get("collected")
    if told is not None:
        pair = (collected_of(trained.trajectories), told)
        findings.hold("digests", job.key, "trajectories collected, and their mean outcome", pair)


def _check_digests(job: Job, findings: Findings) -> None:
    result = job.result
    assert result is not None
    first, digests = result["rounds"][0], result["digests"]
    plans = digest_of([told["digests"]["plan"] for told in result["rounds"]])
    findings.hold("digests", job.key, "digest of the plans of all rounds", (plans, digests["plan"]))
    pair = (first["digests"]["trajectories"], digests["trajectories"])
    findings.hold("digests", job.key, "digest of the trajectories of the first round", pair)
    findings.hold("digests", job.key, "credit of the first round", (first["credit"], result["credit"]))


def _check_sums(
    job: Job, trained: Sequence[Trained], budget: Budget | None, rel: float, findings: Findings
) -> None:
    result = job.result
    assert result is not None
    joined = Joined([one.plan for one in trained], [levels_of(one.trajectories) for one in trained])
    planned = joined.dose()
    expected = {**planned.to_json(), "fill": joined.fill, "batch": joined.plans[0].batch}
    for name in sorted(expected.keys() | result["planned"].keys()):
        pair = (expected.get(name), result["planned"].get(name))
        findings.hold_again("allocated", job.key, f"planned {name} of all rounds", pair, rel=ROUNDING)
    steps = [number for one in trained for number in [one.job.payload["round"]] * one.plan.steps]
    findings.hold_again("allocated", job.key, "round of each step", (steps, result["round_of_step"]))
    doses = [told["dose"] for told in result["rounds"]]
    for name in _SUMS:
        pair = (sum(dose[name] for dose in doses), result["dose"][name])
        findings.hold("counted", job.key, f"{name}, which the rounds add up to", pair, rel=ROUNDING)
    cost = sum((Cost.from_json(told["cost"]) for told in result["rounds"]), Cost())
    pair = (cost.to_json(), result["cost"])
    findings.hold("counted", job.key, "cost, which the rounds add up to", pair, rel=ROUNDING)
    _check_breaches(job, planned, budget, rel, findings)


def _check_breaches(
    job: Job, planned: PlannedDose, budget: Budget | None, rel: float, findings: Findings
) -> None:
    """A run says every breach of its rounds, and of the whole."""
    result = job.result
    assert result is not None
    expected = [f"round {told['round']}: {words}" for told in result["rounds"] for words in told["breaches"]]
    if result["end"] == "ok":
        dose, ledger = Dose.from_json(result["dose"]), Ledger.from_steps(result["steps"])
        expected += breaches(planned, dose, budget=budget, ledger=ledger, tolerance=rel)
    findings.hold("counted", job.key, "breaches of its rounds and in all", (expected, result["breaches"]))
    if result["breaches"]:
        findings.notes.append(f"{job.key} did not receive its budget, and says so: {result['message']}")
