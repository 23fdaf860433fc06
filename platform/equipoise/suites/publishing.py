"""Writing what came of a suite: the report, and the same numbers as files."""

import json
from collections import Counter
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from equipoise.scheduler.files import RESULT_FILE
from equipoise.store import Store
from equipoise.suites.freezing import Frozen, recorded
from equipoise.suites.judge import Results
from equipoise.suites.looking import late
from equipoise.suites.search import unfrozen
from equipoise.suites.study import study_of
from equipoise_preregistration import ChainError, find_registration
from equipoise_preregistration.chain import FILE as CHAIN
from equipoise_preregistration.registry import amendments
from equipoise_reports import NothingToReport, Study, render

__all__ = ["Published", "drawn", "publish"]


@dataclass(frozen=True)
class Published:
    """A report that was written.

    Attributes:
        study: what it shows.
        folder: where it and its data lie.
    """

    study: Study
    folder: Path

    @property
    def page(self) -> Path:
        """The HTML file."""
        return self.folder / "report.html"


def publish(store: Store, home: Path, wanted: str | None = None) -> Published:
    """Write the report of a suite and its data into `reports/` of the project folder.

    An incomplete suite gets an interim report, which names what is missing and gives no verdict.

    Args:
        store: of the project.
        home: the project folder.
        wanted: see `recorded`.

    Raises:
        NotRegisteredError: if the store knows no such suite.
        ChainError: if the folder's registrations, the store's copy of this one, or a result were changed.
        ReportError: if none of its runs has ended.
    """
    study, files = drawn(store, home, wanted)
    folder = home / "reports" / f"{study.name}-{study.registration.hash8}"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        _replace(folder / name, text)
    return Published(study, folder)


def drawn(store: Store, home: Path, wanted: str | None = None) -> tuple[Study, dict[str, str]]:
    """The study that a report shows, and the files it consists of, by name; the same for the same results.

    For arguments and errors see `publish`.
    """
    from equipoise_reports.exports import (
        analysis_json,
        decomposition_latex,
        decomposition_markdown,
        runs_csv,
    )

    record, frozen = recorded(store, wanted)
    results = store.results_by_key(record.hash)
    if not any(result["kind"] == "cell" for result in results.values()):
        message = (
            f"expected runs of {record.name} to report on, found none that has ended; "
            f"run it first: `equipoise run {record.name}`"
        )
        raise NothingToReport(message)
    _expect_as_written(store, record.hash, results)
    study = study_of(
        frozen.registration,
        frozen.raw,
        results,
        exploratory=frozen.exploratory,
        deviations=(*_unchained(frozen, home), *unfrozen(store, frozen, home)),
        amended=_amended(store, frozen, home),
    )
    files = {"report.html": render, "runs.csv": runs_csv}
    if not study.interim:
        files |= {
            "analysis.json": analysis_json,
            "decomposition.md": decomposition_markdown,
            "decomposition.tex": decomposition_latex,
        }
    return study, {name: make(study) for name, make in files.items()}


def _amended(store: Store, frozen: Frozen, home: Path) -> tuple[str, ...]:
    """Amendments that came when a run of the comparison could have been seen."""
    if frozen.exploratory:
        return ()
    suite = frozen.registration.hash
    ended = [a.ended_at for a in store.attempts(suite) if a.kind == "cell" and a.ended_at is not None]
    return late(amendments(home, suite), min(ended, default=None))


def _expect_as_written(store: Store, suite: str, results: Results) -> None:
    """Hold every result to the sum that was stored with it when its run ended.

    A job that was run again for a damaged file keeps its first result beside the sum of the second, whose timings
    differ; its files were compared then.

    Raises:
        ChainError: if a result is not the one that its run wrote.
    """
    written = Counter(attempt.key for attempt in store.attempts(suite) if attempt.end == "done")
    changed = [
        key
        for key, result in results.items()
        if written[key] == 1
        and sha256(json.dumps(result, ensure_ascii=False).encode()).hexdigest()
        != store.artifacts(suite, key)[RESULT_FILE].sha256
    ]
    if changed:
        message = (
            f"{store.where}: expected every result as its run wrote it, got others for {', '.join(changed[:5])}"
            f"{' and more' if len(changed) > 5 else ''} ({len(changed)} of {len(results)}); "
            "restore the database from a copy"
        )
        raise ChainError(message)


def _unchained(frozen: Frozen, home: Path) -> tuple[str, ...]:
    """What a reader must know if the chain of registrations does not vouch for what was run."""
    if frozen.exploratory:
        return ()
    kept = find_registration(home, frozen.registration.hash)
    if kept is None:
        return (
            (
                f"{home / CHAIN} does not hold this registration any more: that it preceded the runs rests on the "
                "database alone."
            ),
        )
    if kept.as_json() != frozen.registration.as_json():
        message = (
            f"{home / CHAIN}: expected the registration {kept.hash8} that the database holds, got another one "
            "under its hash; restore both from a copy"
        )
        raise ChainError(message)
    return ()


def _replace(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
