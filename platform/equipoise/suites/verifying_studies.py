"""Whether Optuna's database holds the trials that were proposed, with the values that their runs came to."""

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from equipoise.errors import StoreError
from equipoise.store.snapshot import copy_database
from equipoise.suites.verifying_findings import Fault, Findings
from equipoise.suites.verifying_proposals import Again

__all__ = ["TUNING_FILE", "StoredStudies", "StoredTrial", "check_studies", "read_studies", "strange_studies"]

TUNING_FILE = "tuning.db"

_TRIALS = (
    "SELECT studies.study_name, trials.trial_id, trials.number, trials.state FROM trials "
    "JOIN studies ON studies.study_id = trials.study_id ORDER BY trials.study_id, trials.number"
)
_PARAMS = "SELECT trial_id, param_name, param_value, distribution_json FROM trial_params"
_VALUES = "SELECT trial_id, value, value_type FROM trial_values WHERE objective = 0"


@dataclass(frozen=True)
class StoredTrial:
    """A trial as Optuna's tables hold it.

    Attributes:
        number: from 0.
        state: RUNNING, COMPLETE, ...
        value: what it was told to be worth; None before, and the type of one that is not finite.
        params: the number of each dimension, which of a choice is its place.
        ranges: what each was drawn from, in JSON.
    """

    number: int
    state: str
    value: float | str | None
    params: Mapping[str, float]
    ranges: Mapping[str, str]


StoredStudies = Mapping[str, list[StoredTrial]]
"""Trials by the name of their study: hash of the registration, a slash, and the condition."""


def read_studies(home: Path) -> tuple[StoredStudies | None, list[Fault]]:
    """The trials in a project's database of studies; None where there is none or it cannot be read."""
    if not (home / TUNING_FILE).exists():
        return None, []
    try:
        with tempfile.TemporaryDirectory(prefix="equipoise-") as folder:
            copy_database(home / TUNING_FILE, Path(folder) / TUNING_FILE)
            with closing(sqlite3.connect(Path(folder) / TUNING_FILE)) as connection:
                return _studies(connection), []
    except (sqlite3.Error, StoreError) as error:
        return None, [Fault(TUNING_FILE, "database", "one that can be read", str(error))]


def _studies(connection: sqlite3.Connection) -> StoredStudies:
    params, ranges = dict[int, dict[str, float]](), dict[int, dict[str, str]]()
    for trial, name, value, kind in connection.execute(_PARAMS):
        params.setdefault(trial, {})[name] = value
        ranges.setdefault(trial, {})[name] = kind
    values = {
        trial: value if kind == "FINITE" else str(kind) for trial, value, kind in connection.execute(_VALUES)
    }
    found = {name: list[StoredTrial]() for (name,) in connection.execute("SELECT study_name FROM studies")}
    for study, trial, number, state in connection.execute(_TRIALS):
        own = params.get(trial, {}), ranges.get(trial, {})
        found[study].append(StoredTrial(number, state, values.get(trial), *own))
    return found


def strange_studies(studies: StoredStudies | None, known: Iterable[str]) -> list[Fault]:
    """Studies of suites that the store does not have."""
    hashes = set(known)
    names = sorted(name for name in studies or {} if name.rpartition("/")[0] not in hashes)
    return [Fault(TUNING_FILE, f"study {name}", "one of a suite in the database", "none") for name in names]


def check_studies(
    studies: StoredStudies | None, identity: str, again: Again, *, ended: bool, findings: Findings
) -> None:
    """Hold number, state, values and worth of every trial to those that are proposed again.

    Args:
        studies: in Optuna's database; None where there is none.
        identity: hash of the registration.
        again: the search as it must have been.
        ended: whether the search has ended, so that every trial must be there and told.
        findings: where to note.
    """
    if studies is None:
        findings.fault(TUNING_FILE, "database of the trials", "one, for trials were proposed", "none")
        return
    own = {
        name.removeprefix(f"{identity}/"): trials
        for name, trials in studies.items()
        if name.startswith(identity)
    }
    for condition in sorted(own.keys() | again.trials.keys()):
        expected, found = again.trials.get(condition), own.get(condition)
        where = f"{TUNING_FILE}, {condition}"
        if expected is None or found is None:
            words = ["none" if trials is None else "one" for trials in (expected, found)]
            findings.fault(where, "study", *words)
            continue
        told = {trial.number: trial for trial in found}
        numbers = range(len(expected)) if ended else range(max([*told, -1]) + 1)
        pair = (list(numbers), [trial.number for trial in found])
        findings.hold_again("trials", where, "numbers of its trials", pair)
        for trial in expected:
            if trial.number in told:
                kept = _values(told[trial.number])
                what = f"trial {trial.number}"
                findings.hold_again("trials", where, f"{what}, what is tried", (dict(trial.values), kept))
                _check_told(where, trial.value, told[trial.number], ended=ended, findings=findings)
                ranges = dict(told[trial.number].ranges)
                same = (
                    {
                        name: json.loads(again.ranges[condition][name])
                        for name in sorted(again.ranges[condition])
                    },
                    {name: _json(ranges[name]) for name in sorted(ranges)},
                )
                findings.hold_again("trials", where, f"{what}, what it is drawn from", same)


def _check_told(
    where: str, value: float | None, told: StoredTrial, *, ended: bool, findings: Findings
) -> None:
    """A trial is told once its runs have ended; in between it may be that it was not told yet."""
    what = f"trial {told.number}"
    if value is None or ended or told.state == "COMPLETE":
        state = "RUNNING" if value is None else "COMPLETE"
        findings.hold("trials", where, f"{what}, state", (state, told.state))
        findings.hold("trials", where, f"{what}, what its runs came to", (value, told.value))
    else:
        findings.hold("trials", where, f"{what}, state", ("RUNNING", told.state))
        findings.hold("trials", where, f"{what}, told before its end", (None, told.value))


def _values(trial: StoredTrial) -> dict[str, Any]:
    """What a trial tries, as the suite writes it."""
    return {name: _value(trial.params[name], _json(trial.ranges[name])) for name in sorted(trial.params)}


def _value(number: float, kind: Any) -> Any:
    attributes = kind.get("attributes", {}) if isinstance(kind, dict) else {}
    if "choices" in attributes:
        choices = attributes["choices"]
        place = int(number)
        return json.loads(choices[place]) if 0 <= place < len(choices) else f"choice {number}"
    whole = isinstance(kind, dict) and kind.get("name") == "IntDistribution"
    return int(number) if whole else number


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError):
        return str(text)
