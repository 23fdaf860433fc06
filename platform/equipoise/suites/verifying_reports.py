"""Whether the report that lies in the folder is the one that the results give."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from equipoise.errors import EquipoiseError
from equipoise.store import StoredSuite
from equipoise.store.snapshot import snapshot
from equipoise.suites.publishing import drawn
from equipoise.suites.verifying_findings import UNREADABLE, Findings, agree
from equipoise.suites.verifying_records import leaves
from equipoise.suites.verifying_tables import differences
from equipoise_preregistration.errors import SuiteError
from equipoise_reports.errors import ReportError

__all__ = ["check_report"]

_NAMED = 5


def check_report(home: Path, stored: StoredSuite, findings: Findings) -> None:
    """Make a suite's report again and hold every file of it to that, where it is not older than the newest run."""
    digits = stored.hash.rpartition(":")[2]
    folder = home / "reports" / f"{stored.name}-{digits[:8]}"
    page = folder / "report.html"
    if not folder.is_dir():
        return
    where = f"reports/{folder.name}"
    if findings.faults:
        findings.skip("a report is not compared where what it is drawn from has faults", where)
    elif not findings.same_code:
        findings.skip("reports are made again under the code that was registered only", where)
    elif not page.is_file() or page.stat().st_mtime < max(stored.finished.values(), default=0.0):
        findings.skip(
            "reports older than the newest run of their suite are not compared: make them again", where
        )
    else:
        _check(home, folder, where, digits, findings)


def _check(home: Path, folder: Path, where: str, digits: str, findings: Findings) -> None:
    try:
        with snapshot(home) as store:
            _, files = drawn(store, home, digits)
    except (EquipoiseError, SuiteError, ReportError, *UNREADABLE) as error:
        findings.skip(f"the report could not be made again ({type(error).__name__}: {error})", where)
        return
    if "analysis.json" in files and not (folder / "analysis.json").exists():
        findings.skip(
            "interim reports of suites that are complete now are not compared: make them again", where
        )
        return
    for name, expected in files.items():
        text = findings.read(where, folder / name, lambda path: path.read_bytes().decode())
        if text is not None:
            findings.compared["reports"] += 1
            for place, *pair in list(_differences(name, expected, text))[:_NAMED]:
                findings.fault(f"{where}/{name}", place, *pair)
    for path in sorted(folder.iterdir()):
        if path.name not in files:
            findings.fault(where, path.name, "no file that is not part of the report", "one")


def _differences(name: str, expected: str, found: str) -> Iterator[tuple[str, object, object]]:
    if expected == found:
        return
    known = 0
    if name.endswith(".csv"):
        for place, *pair in differences(expected, found):
            known += 1
            yield place, pair[0], pair[1]
    if name.endswith(".json"):
        for difference in _leaves_that_differ(expected, found):
            known += 1
            yield difference
    if not known:
        lines = zip_longest(expected.splitlines(), found.splitlines())
        number, one, other = next(
            ((number, *pair) for number, pair in enumerate(lines, start=1) if pair[0] != pair[1]),
            (0, "these bytes", "others"),
        )
        yield f"line {number}", one, other


def _leaves_that_differ(expected: str, found: str) -> Iterator[tuple[str, object, object]]:
    try:
        rows = [dict(leaves("", json.loads(text))) for text in (expected, found)]
    except ValueError:
        return
    for name in rows[0] | rows[1]:
        one, other = rows[0].get(name), rows[1].get(name)
        if not agree(one, other):
            yield name, one, other
