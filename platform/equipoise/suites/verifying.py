"""Verifying a project folder from what is stored in it, without changing any of it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from equipoise.errors import StoreError
from equipoise.store import DATABASE_FILE, StoredSuite
from equipoise.store.snapshot import orphans, snapshot
from equipoise.suites.freezing import Frozen
from equipoise.suites.verifying_files import check_files, check_strays
from equipoise.suites.verifying_findings import UNREADABLE, Fault, Findings
from equipoise.suites.verifying_records import Job, check_jobs, check_registration, check_result
from equipoise.suites.verifying_rows import UNCHECKED_ROWS, check_row_of_suite, check_rows_of_jobs
from equipoise.suites.verifying_search import check_search
from equipoise.suites.verifying_studies import StoredStudies, read_studies, strange_studies
from equipoise_preregistration import NotRegisteredError
from equipoise_preregistration.chain import ChainReport, verify_chain
from equipoise_preregistration.registration import Surroundings, surroundings, thaw

__all__ = ["OnProgress", "SuiteVerdict", "Verdict", "verify_home"]

OnProgress = Callable[[int, int], None]
"""Told how many jobs of how many were looked at."""

_NEVER = (
    (
        "training, evaluation and measurements are not repeated: outcomes, losses, gradient norms, displacement and "
        "costs are held to the sums that were stored when their runs ended, and so are wall times"
    ),
    f"{UNCHECKED_ROWS}: nothing is known that they could be held to",
    "log.txt, error.json and request.json of runs; locks",
    "mlflow.db and mlartifacts: MLflow shows the store, and is never read for a result",
    "lines cut off the end of registrations.jsonl that no run in the database asks for: keep the newest hash elsewhere",
)


@dataclass(frozen=True)
class SuiteVerdict:
    """What the verification of one suite came to.

    Attributes:
        name, hash: of the suite.
        jobs, done: how many there are, and how many have ended with a result.
        findings: faults, comparisons, and what could not be compared.
    """

    name: str
    hash: str
    jobs: int
    done: int
    findings: Findings


@dataclass(frozen=True)
class Verdict:
    """What the verification of a folder came to.

    Attributes:
        chain: of its registrations.
        faults: of the folder as a whole.
        suites: one each.
        unchecked: what no verification looks at.
    """

    chain: ChainReport
    faults: tuple[Fault, ...] = ()
    suites: tuple[SuiteVerdict, ...] = ()
    unchecked: tuple[str, ...] = _NEVER

    @property
    def whole(self) -> bool:
        """Whether nothing was found to be other than it must be."""
        return (
            self.chain.broken is None and not self.faults and not any(s.findings.faults for s in self.suites)
        )


def verify_home(
    home: Path,
    wanted: str | None = None,
    on_progress: OnProgress | None = None,
    *,
    around: Surroundings | None = None,
) -> Verdict:
    """Verify the chain of registrations, and every run of every suite in the store.

    Args:
        home: the project folder.
        wanted: only the suites of this name, or whose hash begins so (six digits or more).
        on_progress: told how far it is.
        around: code, libraries and processor that plans are made again with; by default what this process has.

    Raises:
        NotRegisteredError: if there is no suite such as is wanted.
    """
    chain, here = verify_chain(home), around or surroundings()
    stored, faults = _read(home)
    studies, broken = read_studies(home)
    faults += [*broken, *strange_studies(studies, (suite.hash for suite in stored))]
    stored = [suite for suite in stored if wanted is None or _is(suite, wanted)]
    if wanted is not None and not stored and not faults:
        message = (
            f"expected a suite that was run in {home}, got {wanted}; `equipoise status` lists those there are"
        )
        raise NotRegisteredError(message)
    total, before = sum(len(suite.jobs) for suite in stored), 0
    verdicts, kept = [], set[str]()
    for suite in stored:
        done = before

        def told(jobs: int, done: int = done) -> None:
            if on_progress is not None:
                on_progress(done + jobs, total)

        one = _Suite(suite, home, (chain, studies), here)
        verdicts.append(one.verify(told))
        kept |= one.kept
        before += len(suite.jobs)
    return Verdict(chain, tuple(faults), tuple(verdicts), (*_NEVER, *_other_caches(home, kept)))


def _read(home: Path) -> tuple[list[StoredSuite], list[Fault]]:
    """Everything in the store, and what is wrong with the folder as a whole."""
    folders = {path.name for path in (home / "work").glob("*") if path.is_dir()}
    if not (home / DATABASE_FILE).exists():
        found = (
            [Fault(DATABASE_FILE, "database", "one, for there are files of runs", "none")] if folders else []
        )
        return [], found
    try:
        with snapshot(home) as store:
            stored, loose = store.audit(), orphans(store)
    except StoreError as error:
        return [], [Fault(DATABASE_FILE, "database", "one that can be read", str(error))]
    except UNREADABLE as error:
        return [], [
            Fault(DATABASE_FILE, "database", "rows that can be read", f"{type(error).__name__}: {error}")
        ]
    faults = [_orphaned(table, parent, rows) for (table, parent), rows in sorted(loose.items())]
    strange = folders - {_digits(suite)[:8] for suite in stored}
    faults += [
        Fault(f"work/{name}", "folder of files", "that of a suite in the database", "one of none")
        for name in sorted(strange)
    ]
    return stored, faults


def _other_caches(home: Path, kept: set[str]) -> list[str]:
    """Base policies that no run which was looked at made."""
    names = sorted(path.name[:8] for path in (home / "cache" / "base").glob("*") if path.name not in kept)
    why = "base policies that no block looked at here has, or that other code made"
    return [f"cache/base: {why}: {', '.join(names)}"] if names else []


def _orphaned(table: str, parent: str, rows: int) -> Fault:
    return Fault(DATABASE_FILE, f"rows of {table}", f"each with its row of {parent}", f"{rows} without")


class _Suite:
    """The verification of one suite."""

    def __init__(
        self,
        stored: StoredSuite,
        home: Path,
        beside: tuple[ChainReport, StoredStudies | None],
        here: Surroundings,
    ) -> None:
        self._stored, self._home, self._here = stored, home, here
        self._chain, self._studies = beside
        self._findings = Findings()
        self.kept = frozenset[str]()

    def verify(self, told: Callable[[int], None]) -> SuiteVerdict:
        """Check everything that the suite has."""
        findings, jobs = self._findings, list[Job]()
        try:
            spec = json.loads(self._stored.spec)
            frozen = Frozen(thaw(spec, spec["previous"]), spec["raw"], bool(spec["exploratory"]))
            _ = frozen.registration.model
        except UNREADABLE as error:
            what = f"registration of {self._stored.name} in the database"
            findings.fault(DATABASE_FILE, what, "one that can be read", f"{type(error).__name__}: {error}")
        else:
            jobs = self._check(frozen, told)
        done = sum(job.result is not None for job in jobs)
        return SuiteVerdict(self._stored.name, self._stored.hash, len(self._stored.jobs), done, findings)

    def _check(self, frozen: Frozen, told: Callable[[int], None]) -> list[Job]:
        from equipoise.suites.verifying_caches import check_caches
        from equipoise.suites.verifying_reports import check_report
        from equipoise.suites.verifying_runs import check_runs

        findings, kept = self._findings, frozen.registration
        findings.hold("registrations", DATABASE_FILE, "hash of the suite", (self._stored.hash, kept.hash))
        around = Surroundings(kept.code, kept.lock, kept.python, kept.machine)
        findings.same_code = around == self._here
        if not findings.same_code:
            findings.notes.append(
                "registered under other code, libraries or another processor: where plans and credit come out "
                "otherwise here, that is listed as not compared"
            )
        chained = {item.hash: item for item in self._chain.registrations}.get(kept.hash)
        check_registration(frozen, frozen.raw, chained, self._chain.broken is None, findings)
        check_row_of_suite(self._stored, frozen, findings)
        check_rows_of_jobs(self._stored, findings)
        searched = check_search(self._stored, frozen, self._chain, self._studies, findings)
        jobs = check_jobs(self._stored, frozen, searched, self._home, findings)
        for job in jobs:
            check_result(self._stored, job, findings)
        damaged = {}
        for number, job in enumerate(jobs):
            damaged[job.key] = check_files(job, findings)
            told(number // 2)
        check_strays(self._home / "work" / _digits(self._stored)[:8], jobs, findings)
        check_runs(jobs, damaged, findings, lambda number: told((len(jobs) + number) // 2))
        self.kept = check_caches(self._home, jobs, kept, findings)
        check_report(self._home, self._stored, findings)
        return jobs


def _is(suite: StoredSuite, wanted: str) -> bool:
    digits = wanted.rpartition(":")[2]
    return suite.name == wanted or (len(digits) >= 6 and _digits(suite).startswith(digits))


def _digits(suite: StoredSuite) -> str:
    return suite.hash.rpartition(":")[2]
