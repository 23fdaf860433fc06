"""One Optuna study a condition, in a database beside the store: asked for trials, told their values, never a queue."""

import fcntl
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from equipoise.errors import StoreError
from equipoise.tuning.proposals import Proposals, propose, value_of
from equipoise.tuning.space import concerned
from equipoise_preregistration import Suite
from equipoise_preregistration.points import Point

__all__ = ["DATABASE_FILE", "Proposed", "Studies"]

DATABASE_FILE = "tuning.db"
"""Optuna's database in the project folder."""


@dataclass(frozen=True)
class Proposed:
    """A trial that Optuna was asked for.

    Attributes:
        condition: whose trial it is.
        number: from 0.
        values: what is tried, by dimension.
        value: what it was told to be worth; None before.
    """

    condition: str
    number: int
    values: Point
    value: float | None = None


class Studies:
    """The studies of a suite's conditions; to be used while they are held.

    Args:
        home: the project folder.
        identity: hash of the registration; studies of others lie in the same database.
        suite: as registered.
        points: drawn at registration.
    """

    def __init__(self, home: Path, identity: str, suite: Suite, points: Sequence[Point]) -> None:
        self._home, self._identity = home, identity
        self._suite, self._points = suite, points
        self._storage: RDBStorage | None = None
        self._studies: dict[str, optuna.Study] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the database, one process at a time; its connections are closed again, so that one can fork."""
        with (self._home / "tuning.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            try:
                self._open()
                yield
            finally:
                if self._storage is not None:
                    self._storage.remove_session()
                    self._storage.engine.dispose()

    def _open(self) -> None:
        if self._storage is not None:
            return
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        path = self._home / DATABASE_FILE
        self._storage = RDBStorage(f"sqlite:///{path}", engine_kwargs={"creator": lambda: _connected(path)})
        sampler = Proposals(self._points, self._suite.seed)
        self._studies = {
            condition.id: optuna.create_study(
                storage=self._storage,
                sampler=sampler,
                pruner=optuna.pruners.NopPruner(),
                study_name=f"{self._identity}/{condition.id}",
                direction="maximize",
                load_if_exists=True,
            )
            for condition in self._suite.conditions
        }

    def propose(self, condition: str) -> list[Proposed]:
        """All trials of a condition up to those that can be proposed now, in their order.

        Points of the registration are there at once; TPE proposes when all trials before have their value. A trial
        whose proposal was cut short by a kill is completed.
        """
        study = self._studies[condition]
        names = concerned(self._suite, condition)
        trials = study.get_trials(deepcopy=False)
        for frozen in trials:
            if not frozen.state.is_finished() and set(frozen.params) != set(names):
                self._settle(optuna.trial.Trial(study, frozen._trial_id), names)  # noqa: SLF001 - the only way back
        while len(trials) < self._askable(trials):
            self._settle(study.ask(), names)
            trials = study.get_trials(deepcopy=False)
        return [_proposed(condition, trial) for trial in study.get_trials(deepcopy=False)]

    def tell(self, trial: Proposed, value: float) -> None:
        """Tell what a trial is worth; once told, it stands.

        Raises:
            StoreError: if it was told otherwise before.
        """
        study = self._studies[trial.condition]
        known = study.get_trials(deepcopy=False)[trial.number]
        if known.state == TrialState.COMPLETE:
            if known.value != value:
                message = (
                    f"{DATABASE_FILE}: trial {trial.number} of {trial.condition} was told to be worth "
                    f"{known.value}, its runs in the store say {value}; restore both files from one copy"
                )
                raise StoreError(message)
            return
        study.tell(trial.number, value)

    def _askable(self, trials: Sequence[FrozenTrial]) -> int:
        told = all(trial.state.is_finished() for trial in trials)
        after = len(trials) + 1 if told else len(trials)
        return min(self._suite.tuning.trials, max(len(self._points), after))

    def _settle(self, trial: optuna.trial.Trial, names: Sequence[str]) -> None:
        for name in names:
            propose(trial, name, self._suite.tuning.space[name])


def _proposed(condition: str, trial: FrozenTrial) -> Proposed:
    values = {name: value_of(trial.params[name], trial.distributions[name]) for name in sorted(trial.params)}
    return Proposed(condition, trial.number, values, trial.value)


def _connected(path: Path) -> sqlite3.Connection:
    """Spare a flush of every step of Optuna's: what a power cut takes is proposed and told again, and is the same."""
    connection = sqlite3.connect(path, timeout=30.0)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection
