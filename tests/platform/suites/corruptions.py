"""What is changed in a copy of a finished suite, and what must be told of it."""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.platform.suites.tampering import Copy


@dataclass(frozen=True)
class Case:
    """A corruption, and what the fault that tells it must begin with, as a pattern."""

    name: str
    change: Callable[[Copy], object]
    told: str


def rows(statement: str, key: str) -> Callable[[Copy], object]:
    """Change rows of the database; `:job` is the job of this key."""
    return lambda copy: copy.execute(statement, key)


def copied(home: Path, folder: Path, *, reports: bool = False) -> Copy:
    """A copy to be changed, without what verification does not look at; drawing a report again takes seconds."""
    unread = ("mlflow*", "mlartifacts") if reports else ("mlflow*", "mlartifacts", "reports")
    shutil.copytree(home, folder / "runs", ignore=shutil.ignore_patterns(*unread))
    return Copy(folder / "runs")


def expect_told(copy: Copy, case: Case) -> None:
    """Change the copy, and find the fault that tells it."""
    case.change(copy)
    found = copy.faults()
    assert any(re.match(case.told, fault) for fault in found), "\n".join(found)
