"""Whether the ledgers add up: rows against results, allocated against counted, cells of a block against each other."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from equipoise.store import BadResult
from equipoise.store.ledgers import ledger_rows
from equipoise.suites.verifying_findings import Findings
from equipoise.suites.verifying_records import Job
from equipoise.suites.verifying_training import Trained
from equipoise.suites.verifying_twins import check_twin
from equipoise_budget import Dose, Ledger, PlannedDose, allocated_steps, breaches
from equipoise_budget.allocation import ALLOCATED

__all__ = ["check_ledger", "check_matches", "check_rows"]

_ROUNDING = 1e-9
"""Sums of weights in double precision differ by the order of summation only."""

_AXES = {
    "tokens": "tokens_in_loss",
    "weight_mass": "weight_mass",
    "effective_sample_size": "ess_trajectories",
    "displacement": "kl_from_start",
}


def check_rows(job: Job, findings: Findings) -> None:
    """Hold the rows of a finished job's ledger to what its run reported."""
    assert job.result is not None
    try:
        expected = ledger_rows(job.key, job.result)
    except BadResult as error:
        findings.fault(job.key, "ledger of the result", "numbers", str(error))
        return
    run, steps = job.stored.ledger, {row["step"]: row for row in job.stored.steps}
    for row in expected.run:
        if run is None:
            findings.fault(job.key, "row of run_ledgers", "one", "none: it is gone")
        else:
            _compare(job, "run_ledgers", row, run, findings)
    if run is not None and not expected.run:
        findings.fault(job.key, "row of run_ledgers", "none: the run has no ledger", "one")
    for row in expected.steps:
        number = row["step"]
        if number not in steps:
            findings.fault(job.key, f"row of run_steps, step {number}", "one", "none: it is gone")
        else:
            _compare(job, f"run_steps, step {number}", row, steps.pop(number), findings)
    for number in sorted(steps, key=str):
        findings.fault(job.key, f"row of run_steps, step {number}", "none: no such step was planned", "one")


def _compare(
    job: Job, table: str, expected: Mapping[str, Any], found: Mapping[str, Any], findings: Findings
) -> None:
    for name, value in expected.items():
        findings.hold("ledger numbers", job.key, f"{table}, {name}", (value, found[name]))


def check_ledger(trained: Trained, tolerance: float, findings: Findings) -> None:
    """Hold what was allocated to the plan, and what was counted to what was allocated.

    Args:
        trained: the cell.
        tolerance: registered relative difference between planned and counted sums.
        findings: where to note.
    """
    job, plan, trajectories = trained.job, trained.plan, trained.trajectories
    result = job.result
    assert result is not None
    if not trained.sound:
        findings.skip("ledgers are not held to plans that were changed", job.key)
        return
    counted = result["steps"]
    taken = len(counted["slots"])
    stopped = plan.stop is not None and result["end"] == "ok" and 0 < taken < plan.steps
    planned = (plan.until(taken) if stopped else plan).dose(
        trajectories.tokens_of_turn,
        trajectory=trajectories.trajectory_of_turn,
        task=trajectories.task_of_turn,
    )
    expected = {**planned.to_json(), "fill": plan.fill, "batch": plan.batch}
    for name in sorted(expected.keys() | result["planned"].keys()):
        pair = (expected.get(name), result["planned"].get(name))
        findings.hold_again("allocated", job.key, f"planned {name}", pair, rel=_ROUNDING)
    if "allocated" in result:
        _check_steps(
            job, allocated_steps(plan, trajectories.tokens_of_turn), max(tolerance, _ROUNDING), findings
        )
    if result["end"] == "ok":
        _check_breaches(trained, planned, max(tolerance, _ROUNDING), findings)


def _check_steps(job: Job, expected: Mapping[str, Sequence[float]], rel: float, findings: Findings) -> None:
    assert job.result is not None
    allocated, counted = job.result["allocated"], job.result["steps"]
    owed = not job.result["breaches"]
    for name in ALLOCATED:
        for step, value in enumerate(expected[name]):
            what = f"step {step + 1}, {name}"
            pair = (value, _at(allocated.get(name, ()), step))
            findings.hold_again("allocated", job.key, f"{what} allocated", pair, rel=_ROUNDING)
            received = _at(counted.get(name, ()), step)
            if received is not None and owed:
                findings.hold("counted", job.key, f"{what} counted", (value, received), rel=rel)


def _check_breaches(trained: Trained, planned: PlannedDose, rel: float, findings: Findings) -> None:
    result = trained.job.result
    assert result is not None
    dose = Dose.from_json(result["dose"])
    found = breaches(
        planned, dose, budget=trained.budget, ledger=Ledger.from_steps(result["steps"]), tolerance=rel
    )
    told = tuple(result["breaches"])
    if found == told:
        findings.compared["counted"] += 1
        if told:
            findings.notes.append(
                f"{trained.job.key} did not receive its budget, and says so: {'; '.join(told)}"
            )
        return
    for sentence in found:
        if sentence not in told:
            findings.fault(trained.job.key, "dose", "what was planned, or a breach that says so", sentence)
    for sentence in told:
        if sentence not in found:
            findings.fault(trained.job.key, "breach", "one that can be counted again", sentence)


def check_matches(trained: Iterable[Trained], findings: Findings) -> None:
    """Hold the ledgers of all matched and twin cells of each block to one budget, and twins to their rules' weights.

    Cells that diverged, and those that say themselves that they did not
    receive their budget, are left out: the report bars them.
    """
    cells = [
        cell
        for cell in trained
        if cell.budget is not None and cell.job.result is not None and cell.job.stored.ledger is not None
    ]
    matched: dict[tuple[object, ...], Trained] = {}
    for cell in cells:
        if cell.job.payload["cell"]["arm"] == "matched":
            matched[_group(cell)] = cell
    for cell in cells:
        if cell.job.result is not None and cell.job.result["end"] == "ok" and not cell.job.result["breaches"]:
            _check_budget(cell, findings)
        rule = matched.get(_group(cell))
        if rule is not None and cell.job.payload["cell"]["arm"] == "twin":
            check_twin(rule, cell, findings)


def _check_budget(cell: Trained, findings: Findings) -> None:
    row, budget = cell.job.stored.ledger, cell.budget
    assert row is not None
    assert budget is not None
    if "displacement" not in budget.targets:
        for name, promised in (("slots", budget.examples), ("optimizer_steps", budget.optimizer_steps)):
            findings.hold(
                "matches", cell.job.key, f"counted {name}, equal in its block", (promised, row[name])
            )
    for axis, target in budget.targets.items():
        reached = row[_AXES[axis]]
        if axis != "displacement" and "displacement" in budget.targets:
            continue
        findings.compared["matches"] += 1
        if not isinstance(reached, int | float) or not budget.holds(axis, reached):
            expected = f"{target:g} within {budget.tolerances[axis]:g}"
            findings.fault(cell.job.key, f"counted {_AXES[axis]}, equal in its block", expected, reached)


def _group(cell: Trained) -> tuple[object, ...]:
    payload = cell.job.payload
    return payload.get("block"), payload.get("tuning_block"), payload["cell"]["condition"]


def _at(column: Sequence[Any], place: int) -> Any:
    return column[place] if place < len(column) else None
