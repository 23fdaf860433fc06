"""One Optuna study a condition, in a database beside the store: asked for trials, told their values, never a queue."""

import fcntl
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

__all__ = ["DATABASE_FILE", "Proposed", "Studies", "opened"]

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
    """The studies of a suite's conditions.

    Args:
        storage: Optuna's.
        identity: hash of the registration; studies of others lie in the same database.
        suite: as registered.
        points: drawn at registration.
    """

    def __init__(self, storage: RDBStorage, identity: str, suite: Suite, points: Sequence[Point]) -> None:
        self._suite, self._points = suite, points
        sampler = Proposals(points, suite.seed)
        self._studies = {
            condition.id: optuna.create_study(
                storage=storage,
                sampler=sampler,
                pruner=optuna.pruners.NopPruner(),
                study_name=f"{identity}/{condition.id}",
                direction="maximize",
                load_if_exists=True,
            )
            for condition in suite.conditions
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


@contextmanager
def opened(home: Path, identity: str, suite: Suite, points: Sequence[Point]) -> Iterator[Studies]:
    """The studies of a suite, for one process at a time; closed again, so that the process can fork.

    Args:
        home: the project folder.
        identity: hash of the registration.
        suite: as registered.
        points: drawn at registration.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with (home / "tuning.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        storage = RDBStorage(f"sqlite:///{home / DATABASE_FILE}")
        try:
            yield Studies(storage, identity, suite, points)
        finally:
            storage.remove_session()
            storage.engine.dispose()
