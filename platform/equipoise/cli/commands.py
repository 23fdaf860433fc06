"""The table of commands: name, one line of help, and the panel it is listed in."""

from typing import NamedTuple

__all__ = ["COMMANDS", "Entry"]


class Entry(NamedTuple):
    """One command; it lives in `equipoise.cli.<name>`, as the function (or Typer) of that name."""

    help: str
    panel: str


_STUDY = "A study, in order"
_LOOK_UP = "Look up"
_UPKEEP = "Upkeep"

COMMANDS: dict[str, Entry] = {
    "demo": Entry("Run a small study from registration to report.", _STUDY),
    "check": Entry("Report every fault of a suite, or its summary.", _STUDY),
    "plan": Entry("Show cells, cost and the smallest effect that can be detected.", _STUDY),
    "power": Entry("Show what the plan of a suite can detect, and how often it would err.", _STUDY),
    "register": Entry("Freeze a suite and chain it to the registrations before it.", _STUDY),
    "tune": Entry("Search hyper-parameters alike for every condition, and freeze the choice.", _STUDY),
    "run": Entry("Run a registered suite; the same command again resumes it.", _STUDY),
    "status": Entry("Show how far a suite is.", _STUDY),
    "report": Entry("Write the report of a suite.", _STUDY),
    "suites": Entry("List, show or locate the suites that come with equipoise.", _LOOK_UP),
    "rules": Entry("Show the credit rules and their cards.", _LOOK_UP),
    "environments": Entry("Show the environments.", _LOOK_UP),
    "ui": Entry("Open MLflow on the results.", _UPKEEP),
    "sync": Entry("Bring MLflow up to date with the store.", _UPKEEP),
    "verify": Entry("Check registrations, files, plans and ledgers from what is stored.", _UPKEEP),
    "doctor": Entry("Look for what would keep a suite from running here.", _UPKEEP),
}
"""Every command, in the order of the help."""
