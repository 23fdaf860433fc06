"""Every finished job of a suite, checked by its kind, with the files of a block read once."""

from collections.abc import Callable, Mapping, Sequence

from equipoise.suites.verifying_findings import UNREADABLE, Findings
from equipoise.suites.verifying_ledgers import check_ledger, check_matches, check_rows
from equipoise.suites.verifying_records import Job
from equipoise.suites.verifying_rounds import check_rounds
from equipoise.suites.verifying_scene import Scene
from equipoise.suites.verifying_tables import check_cost, check_tables
from equipoise.suites.verifying_training import (
    Trained,
    check_base,
    check_cell,
    check_collection,
    check_credit,
)
from equipoise.suites.verifying_twins import twins_beside

__all__ = ["check_runs"]

_ORDER = ("base", "collect", "signals", "cell", "trial")


def check_runs(
    jobs: Sequence[Job],
    damaged: Mapping[str, frozenset[str]],
    findings: Findings,
    told: Callable[[int], None],
) -> None:
    """Check trajectories, credit, plans, weights and ledgers of all jobs that have a result.

    Args:
        jobs: of one suite.
        damaged: names of files that do not hold their sums, by job.
        findings: where to note.
        told: called with the number of jobs looked at.
    """
    scene = Scene(findings, {job.key: job for job in jobs}, dict(damaged))
    finished = sorted((job for job in jobs if job.result is not None), key=_place)
    before_ledgers = not any(_has_ledger(job) for job in finished)
    trained: list[Trained] = []
    block: object = None
    for number, job in enumerate(finished):
        told(number)
        if _block(job) != block:
            check_matches(trained, findings)
            scene.forget()
            trained, block = [], _block(job)
        if before_ledgers:
            findings.skip("runs that ended before ledgers were kept as rows have none", job.key)
        try:
            if not before_ledgers:
                check_rows(job, findings)
            cell = _check(scene, job)
            if cell is not None:
                trained.append(cell)
        except UNREADABLE as error:
            # What a result or payload lacks that was changed from outside, whose sum is told elsewhere.
            text = f"{type(error).__name__}: {error}"
            findings.fault(job.key, "result and payload", "the form that runs write", text)
    check_matches(trained, findings)
    twins_beside(findings)


def _check(scene: Scene, job: Job) -> Trained | None:
    kind = job.stored.kind.removeprefix("tuning_")
    if kind == "base":
        check_base(scene, job)
    elif kind == "collect":
        check_collection(scene, job)
    elif kind == "signals":
        check_credit(scene, job)
        check_cost(scene, job)
    elif kind in ("cell", "trial"):
        return _check_cell(scene, job)
    else:
        scene.findings.skip(f"jobs of kind {kind} are held to their sums only", job.key)
    return None


def _check_cell(scene: Scene, job: Job) -> Trained | None:
    tolerance = scene.world(job).suite.budget.tolerance
    check_tables(scene, job)
    if "rounds" in (job.result or {}):
        return check_rounds(scene, job, tolerance)
    cell = check_cell(scene, job)
    if cell is not None:
        check_ledger(cell, tolerance, scene.findings)
    return cell


def _has_ledger(job: Job) -> bool:
    return job.stored.ledger is not None or bool(job.stored.steps) or "allocated" in (job.result or {})


def _block(job: Job) -> tuple[object, object]:
    return job.payload.get("block"), job.payload.get("tuning_block")


def _place(job: Job) -> tuple[str, int, str]:
    kind = job.stored.kind.removeprefix("tuning_")
    return str(_block(job)), _ORDER.index(kind) if kind in _ORDER else len(_ORDER), job.key
