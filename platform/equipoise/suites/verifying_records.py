"""Whether the runs in the store are those that were registered, each with the result that it wrote."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from equipoise.scheduler.files import RESULT_FILE, read_outcome, work_folder
from equipoise.store import StoredJob, StoredSuite
from equipoise.suites.freezing import Frozen
from equipoise.suites.jobs import jobs_of
from equipoise.suites.verifying_findings import Findings
from equipoise.suites.verifying_search import COMPARISON, SEARCH, Searched
from equipoise_preregistration.canon import digest
from equipoise_preregistration.registration import Registration, Surroundings, freeze, identity_of

__all__ = ["Job", "check_jobs", "check_registration", "check_result", "leaves"]

_NAMED = 5


@dataclass(frozen=True)
class Job:
    """A job as the store holds it, its JSON read.

    Attributes:
        stored: the rows.
        payload: what it was told.
        result: what it came to; None before it is finished.
        folder: where its files lie.
    """

    stored: StoredJob
    payload: Mapping[str, Any]
    result: Mapping[str, Any] | None
    folder: Path

    @property
    def key(self) -> str:
        """Within its suite."""
        return self.stored.key


def check_registration(
    frozen: Frozen, raw: str, chained: Registration | None, whole: bool, findings: Findings
) -> None:
    """Hold the store's copy of a registration to its own hash and to the chain.

    Args:
        frozen: the suite in the store.
        raw: the text of its file in the store.
        chained: the registration of this hash in the chain, if there is one.
        whole: whether the chain holds to its end.
        findings: where to note.
    """
    kept = frozen.registration
    around = Surroundings(kept.code, kept.lock, kept.python, kept.machine)
    own = identity_of(kept.suite, around)
    own = digest({"exploratory": own}) if frozen.exploratory else own
    where = f"{kept.name} @ {kept.hash8} in the database"
    findings.hold("registrations", where, "hash of the suite beside it", (own, kept.hash))
    found = sha256(raw.encode()).hexdigest()
    findings.hold("registrations", where, "sum of the suite's file", (kept.raw_sha256, found))
    again = freeze(kept.model, around, kept.raw_sha256, kept.registered_at, kept.previous).as_json()
    for name in ("name", "seeds", "points"):
        pair = (again.get(name), kept.as_json().get(name))
        findings.hold_again("registrations", where, f"{name}, drawn again", pair)
    if frozen.exploratory:
        findings.notes.append("exploratory: nothing was registered before these runs")
    elif chained is not None:
        findings.hold("registrations", where, "registration", (chained.as_json(), kept.as_json()))
    elif whole:
        findings.fault(
            where, "registration", "a line of registrations.jsonl", "none: it was never registered"
        )
    else:
        findings.skip("the chain of registrations is broken before it", where)


def check_jobs(
    suite: StoredSuite, frozen: Frozen, searched: Searched, home: Path, findings: Findings
) -> list[Job]:
    """Hold the jobs to those that were registered: none missing and none added, each told and placed as it must be."""
    comparison = {spec.key: spec for spec in jobs_of(frozen.registration.model, searched.chosen)}
    expected = {**comparison, **searched.jobs}
    stored = {job.key for job in suite.jobs}
    demanded = set(searched.demanded)
    compared = any(key.startswith(COMPARISON) for key in (*stored, *suite.finished))
    if compared or (suite.begun and not frozen.registration.model.tuning.trials):
        demanded |= comparison.keys()
    for key in sorted(demanded - stored):
        findings.fault(key, "registered run", f"a row of the database{_when(suite, key)}", "none: it is gone")
    for key in sorted(suite.finished.keys() - stored - demanded):
        findings.fault(key, "run", f"a row of the database{_when(suite, key)}", "none: it is gone")
    jobs = [_job(suite, job, home, findings) for job in suite.jobs]
    for job in jobs:
        spec = expected.get(job.key)
        if spec is not None:
            _check_told(job, json.loads(json.dumps(spec.payload)), findings)
            row = {
                "kind": spec.kind,
                "block": spec.block,
                "position": spec.order,
                "needs": sorted(spec.needs),
            }
            _check_row(job, row, findings)
        elif job.key.startswith(searched.open) or (job.key.startswith(SEARCH) and not findings.same_code):
            findings.skip("what is proposed after a trial without a result is not worked out again", job.key)
        else:
            findings.fault(job.key, "run", "none that was not registered", f"one of kind {job.stored.kind}")
    return jobs


def _check_told(job: Job, written: Mapping[str, Any], findings: Findings) -> None:
    for name in sorted(written.keys() | job.payload.keys()):
        pair = (written.get(name), job.payload.get(name))
        if not findings.same_code or pair[0] == pair[1] or not isinstance(pair[0], dict):
            findings.hold_again("registered runs", job.key, f"what it was told of its {name}", pair)
            continue
        told = [dict(leaves(name, value)) for value in pair]
        for place in sorted(told[0].keys() | told[1].keys()):
            values = (told[0].get(place), told[1].get(place))
            if values[0] != values[1]:
                findings.hold("registered runs", job.key, f"what it was told of its {place}", values)


def _check_row(job: Job, expected: Mapping[str, object], findings: Findings) -> None:
    """Place and needs of a job's row."""
    stored = job.stored
    found = {
        "kind": stored.kind,
        "block": stored.block,
        "position": stored.position,
        "needs": sorted(stored.needs),
    }
    for name, value in expected.items():
        findings.hold_again("registered runs", job.key, name, (value, found[name]))


def check_result(suite: StoredSuite, job: Job, findings: Findings) -> None:
    """Hold a result to the sum that was stored when its run ended, and the rows of its outcomes to the result."""
    stored, key = job.stored, job.key
    if job.result is None:
        if key in suite.finished or stored.done or stored.state == "done":
            findings.fault(key, "result", f"the one it left{_when(suite, key)}", "none")
        return
    text = json.dumps(job.result, ensure_ascii=False)
    kept = stored.artifacts.get(RESULT_FILE)
    if kept is None:
        findings.fault(key, RESULT_FILE, "the sum stored with the attempt", "none")
    elif stored.done <= 1:
        pair = (kept.sha256, sha256(text.encode()).hexdigest())
        if not findings.hold("results", key, "sum of the result in the database", pair):
            _name_differences(job, kept.sha256, findings)
    else:
        # It was run again for a damaged file: the sum is that of the second result, whose timings differ.
        again = read_outcome(job.folder, RESULT_FILE) or {}
        first, second = ({**result, "seconds": None} for result in (again, job.result))
        findings.hold("results", key, "result in the database, timings aside", (first, second))
    _check_says(job, findings)
    _check_outcomes(job, findings)


def _check_says(job: Job, findings: Findings) -> None:
    """A result says which job it is of."""
    assert job.result is not None
    for name in ("cell", "condition", "values"):
        if name in job.payload and name in job.result:
            pair = (job.payload[name], job.result[name])
            findings.hold("results", job.key, f"{name} that the result says it is of", pair)
    if "job" in job.payload:
        pair = (job.payload["job"], job.result.get("kind"))
        findings.hold("results", job.key, "kind that the result says it is of", pair)


def _name_differences(job: Job, kept: str, findings: Findings) -> None:
    """Say which numbers of a result were changed, where the file beside it is still the one that was written."""
    path = job.folder / RESULT_FILE
    if path.is_file() and sha256(path.read_bytes()).hexdigest() == kept:
        written = dict(leaves("", read_outcome(job.folder, RESULT_FILE) or {}))
        found = dict(leaves("", job.result))
        changed = [name for name in (written | found) if written.get(name) != found.get(name)]
        for name in changed[:_NAMED]:
            findings.fault(job.key, f"result in the database, {name}", written.get(name), found.get(name))


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Every number and word in nested JSON, by the path that leads to it."""
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if inner is None:
        yield path, value
    else:
        for name, content in inner:
            yield from leaves(f"{path}.{name}" if path else str(name), content)


def _check_outcomes(job: Job, findings: Findings) -> None:
    assert job.result is not None
    told = job.result.get("outcomes", [])
    if not isinstance(told, list) or not all(isinstance(row, Mapping) for row in told):
        findings.fault(job.key, "outcomes of the result", "a list of counts", told)
        return
    expected = {(row.get("split"), row.get("task")): row for row in told}
    found = {(row["split"], row["task"]): row for row in job.stored.outcomes}
    for place in sorted(expected.keys() | found.keys(), key=str):
        split, task = place
        for name in ("successes", "episodes"):
            pair = tuple(rows.get(place, {}).get(name) for rows in (expected, found))
            findings.hold("outcomes", job.key, f"outcomes, {split} task {task}, {name}", pair)  # type: ignore[arg-type]


def _job(suite: StoredSuite, stored: StoredJob, home: Path, findings: Findings) -> Job:
    payload = _mapping(stored.key, "payload", stored.payload, findings)
    result = None if stored.result is None else _mapping(stored.key, "result", stored.result, findings)
    if not result:
        stored = replace(stored, result=None)
    return Job(stored, payload, result or None, work_folder(home, suite.hash, stored.key))


def _mapping(key: str, what: str, text: str, findings: Findings) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, TypeError):
        found = None
    if isinstance(found, dict):
        return found
    findings.fault(key, f"{what} in the database", "an object of JSON", str(text)[:80])
    return {}


def _when(suite: StoredSuite, key: str) -> str:
    if key not in suite.finished:
        return ""
    return f", as it was finished at {datetime.fromtimestamp(suite.finished[key], UTC):%Y-%m-%d %H:%M:%S}Z"
