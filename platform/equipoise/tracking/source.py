"""The store as the writer needs it, and the files of a project folder that belong to a suite."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from equipoise.store import AttemptRecord, JobRecord, Store, SuiteRecord
from equipoise.tracking.facts import EndedJob, Notice, SuiteFacts
from equipoise.tracking.ledger import LEDGER_FILE, ledger_csv
from equipoise.tracking.notes import verdicts_note

__all__ = ["StoreSource", "suite_facts"]

ENDED = frozenset({"done", "failed", "exhausted", "cancelled"})
_TOLD = ("cell", "block", "condition", "values")
NOT_PARAMETERS = frozenset({"id", "rule", "baseline", "control"})


class StoreSource:
    """Reads the outbox and the results of a store; the project folder adds registration and report."""

    def __init__(self, store: Store, home: Path) -> None:
        self._store = store
        self._home = home

    def pending(self, limit: int) -> Sequence[Notice]:
        """Return at most `limit` unacknowledged notices, oldest first."""
        return [Notice(row.id, row.suite, row.key) for row in self._store.outbox_pending(limit)]

    def acknowledge(self, ids: Iterable[int]) -> None:
        """Mark notices as shown."""
        self._store.outbox_ack(list(ids))

    def rewind(self, suite: str) -> None:
        """Make every notice of a suite pending again."""
        self._store.outbox_rewind(suite)

    def suites(self) -> Sequence[str]:
        """Return the hashes of all suites, oldest first."""
        return [record.hash for record in self._store.suites()]

    def facts(self, suite: str) -> SuiteFacts:
        """Return the facts of a suite."""
        record = next(record for record in self._store.suites() if record.hash == suite)
        jobs, ledgers = self._store.jobs(suite), self._store.ledgers(suite)
        facts = suite_facts(record, jobs, self._home)
        if not any(ledger.kind == "cell" for ledger in ledgers):
            return facts
        return replace(facts, files={**facts.files, LEDGER_FILE: ledger_csv(ledgers, jobs)})

    def records(self, suite: str, keys: Iterable[str] | None = None) -> Mapping[str, EndedJob]:
        """Return the jobs of a suite that have ended, by key: all, or those among `keys`."""
        wanted = None if keys is None else frozenset(keys)
        results = self._store.results_by_key(suite)
        attempts: dict[str, list[AttemptRecord]] = {}
        for attempt in self._store.attempts(suite):
            attempts.setdefault(attempt.key, []).append(attempt)
        return {
            job.key: _ended(job, results.get(job.key), attempts[job.key])
            for job in self._store.jobs(suite)
            if (wanted is None or job.key in wanted)
            and job.key in attempts
            and (job.state in ENDED or job.key in results)
        }


def suite_facts(record: SuiteRecord, jobs: Iterable[JobRecord], home: Path) -> SuiteFacts:
    """Gather what is to be shown of a suite: from its specification, its jobs and the files beside them."""
    spec = _specification(record.spec)
    runs: dict[str, dict[int, set[str]]] = {"cell": {}, "base": {}}
    for job in jobs:
        if job.kind in runs and job.block is not None:
            runs[job.kind].setdefault(job.block, set()).add(job.key)
    facts = SuiteFacts(name=record.name, hash=record.hash)
    analysis, files = _files(record, spec, home, facts.hash8)
    return SuiteFacts(
        name=record.name,
        hash=record.hash,
        question=str(spec.get("question") or ""),
        hypotheses=[_hypothesis(claim) for claim in spec.get("hypotheses") or ()],
        rules={str(c["id"]): (str(c["rule"]), _parameters(c)) for c in spec.get("conditions") or ()},
        blocks={block: frozenset(keys) for block, keys in sorted(runs["cell"].items())},
        bases={block: frozenset(keys) for block, keys in sorted(runs["base"].items())},
        registered_at=int(datetime.fromisoformat(record.registered_at).timestamp() * 1000),
        files=files,
        note="\n\n".join(filter(None, (_marked(record.spec), verdicts_note(analysis)))),
    )


def _ended(job: JobRecord, result: Mapping[str, Any] | None, attempts: Sequence[AttemptRecord]) -> EndedJob:
    """Describe a job by the attempt that had the last word: the first that was done, else the latest."""
    done = [attempt for attempt in attempts if attempt.end == "done"]
    last = done[0] if done else attempts[-1]
    return EndedJob(
        key=job.key,
        kind=job.kind,
        state="done" if result is not None else job.state,
        payload={name: job.payload[name] for name in _TOLD if name in job.payload},
        result=result or {},
        attempt=last.number,
        started_at=round(last.started_at * 1000),
        finished_at=round((last.ended_at or last.started_at) * 1000),
        message="" if result is not None else (job.message or last.message or ""),
    )


def _specification(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the suite itself, which may lie in a registration as an object or as canonical JSON."""
    inner = spec.get("suite")
    if isinstance(inner, str):
        inner = json.loads(inner)
    return inner if isinstance(inner, Mapping) else spec


def _marked(spec: Mapping[str, Any]) -> str:
    return "**Exploratory:** nothing was registered before these runs." if spec.get("exploratory") else ""


def _hypothesis(claim: Mapping[str, Any]) -> tuple[str, str]:
    formal = f"`{claim['contrast']}` {claim.get('direction', 'greater')}"
    said = claim.get("says")
    return str(claim["id"]), f"{said} ({formal})" if said else formal


def _parameters(condition: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in condition.items() if name not in NOT_PARAMETERS}


def _files(
    record: SuiteRecord, spec: Mapping[str, Any], home: Path, hash8: str
) -> tuple[Mapping[str, Any], dict[str, Path | bytes]]:
    """Return the analysis, if there is one yet, and what the `suite` run carries."""
    raw = record.spec.get("raw")
    files: dict[str, Path | bytes] = {
        "suite.yaml": raw.encode() if isinstance(raw, str) else _as_yaml(spec),
        "registration.json": json.dumps(_registration(home, record), indent=2, ensure_ascii=False).encode(),
    }
    analysis: Mapping[str, Any] = {}
    for folder in sorted((home / "reports").glob(f"*{hash8}*")):
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.name == "analysis.json":
                analysis = json.loads(path.read_text(encoding="utf-8"))
                files["analysis.json"] = path
            elif path.is_file() and not path.name.startswith("."):
                within = path.relative_to(folder) if folder.is_dir() else Path(f"report{path.suffix}")
                files[f"report/{within.as_posix()}"] = path
    return analysis, files


def _registration(home: Path, record: SuiteRecord) -> Mapping[str, Any]:
    """Return the chain's line of a suite, or what the store knows where there is none (exploratory suites).

    A chain that is damaged is for `verify` to judge, not for us.
    """
    chain = home / "registrations.jsonl"
    lines = chain.read_text(encoding="utf-8").splitlines() if chain.is_file() else []
    for line in lines:
        if record.hash in line:
            found: Mapping[str, Any] = json.loads(line)
            return found
    return {name: value for name, value in record.spec.items() if name != "raw"}


def _as_yaml(spec: Mapping[str, Any]) -> bytes:
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt", pure=True)
    buffer = io.BytesIO()
    yaml.dump(dict(spec), buffer)
    return buffer.getvalue()
