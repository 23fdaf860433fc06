"""Whether the rows of a suite, of its jobs and of their attempts agree with each other and with the registration."""

from equipoise.store import STATES, StoredJob, StoredSuite
from equipoise.suites.freezing import Frozen
from equipoise.suites.verifying_findings import Findings

__all__ = ["UNCHECKED_ROWS", "check_row_of_suite", "check_rows_of_jobs"]

UNCHECKED_ROWS = (
    "equipoise.db: jobs.tries, token, lease_expires, message; attempts.ended_at, worker, host, pid, process_started, "
    "counted, message, seconds, maxrss; times and data of events; outbox"
)
"""Columns that nothing can be held to."""


def check_row_of_suite(stored: StoredSuite, frozen: Frozen, findings: Findings) -> None:
    """Hold the row of a suite to its registration, which must precede it and every attempt."""
    kept, where = frozen.registration, f"suites, {stored.hash}"
    findings.hold("rows", where, "name", (kept.name, stored.name))
    findings.hold("rows", where, "registered_at", (kept.registered_at.isoformat(), stored.registered_at))
    registered = kept.registered_at.timestamp()
    began = [attempt["started_at"] for job in stored.jobs for attempt in job.attempts]
    for what, at in (("created_at", stored.created_at), ("first attempt", min(began, default=registered))):
        findings.compared["rows"] += 1
        if at < registered:
            findings.fault(where, what, f"no earlier than the registration, {registered}", at)


def check_rows_of_jobs(stored: StoredSuite, findings: Findings) -> None:
    """Hold the state of every job to its result and its attempts, and these to the append-only record."""
    for job in stored.jobs:
        _check_state(job, findings)
        _check_attempts(job, findings)


def _check_state(job: StoredJob, findings: Findings) -> None:
    findings.compared["rows"] += 1
    last = job.attempts[-1]["end"] if job.attempts else "none"
    running = bool(job.attempts) and last is None
    if job.state not in STATES:
        findings.fault(job.key, "state", f"one of {', '.join(STATES)}", job.state)
    elif running != (job.state == "running"):
        findings.fault(job.key, "state", "running" if running else "not running: no attempt is", job.state)
    elif job.result is not None and job.state != "done" and "reopened" not in job.events:
        findings.fault(job.key, "state", "done, for there is a result", job.state)
    elif job.state == "cancelled" and "cancelled" not in job.events:
        findings.fault(job.key, "state", "one that the record knows of", "cancelled")
    elif job.state in ("failed", "exhausted") and last in ("none", "done"):
        findings.fault(job.key, "state", f"one after an attempt that ended so, got {last}", job.state)


def _check_attempts(job: StoredJob, findings: Findings) -> None:
    numbers = [attempt["number"] for attempt in job.attempts]
    findings.hold("rows", job.key, "numbers of its attempts", (list(range(1, len(numbers) + 1)), numbers))
    other = sum(attempt["end"] not in (None, "done") for attempt in job.attempts)
    for what, event, count in (
        ("attempts that ended with a result", "finished", job.done),
        ("attempts that ended otherwise", "attempt_ended", other),
    ):
        findings.hold("rows", job.key, what, (job.events.count(event), count))
    if job.result is not None and not job.done:
        findings.fault(job.key, "result", "an attempt that ended with it", "none")
