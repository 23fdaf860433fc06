"""What the search of a suite proposes, worked out again from its registration and from what its trials came to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from equipoise.suites.tuning_jobs import tuning_jobs
from equipoise.suites.verifying_findings import UNREADABLE
from equipoise.tuning.space import concerned
from equipoise.tuning.tally import Trial, trial_of
from equipoise_preregistration import Suite
from equipoise_preregistration.points import Point

if TYPE_CHECKING:
    from equipoise.store import JobSpec
    from equipoise.tuning.studies import Proposed

__all__ = ["Again", "proposed_again"]


@dataclass(frozen=True)
class Again:
    """The search as it must have been.

    Attributes:
        trials: of each condition, as far as they can be proposed: a trial of TPE needs the values of those before it.
        ranges: what each dimension of each condition was drawn from, in Optuna's JSON, by condition and name.
        jobs: that the trials are run by, by key.
    """

    trials: Mapping[str, tuple["Proposed", ...]] = field(default_factory=dict)
    ranges: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    jobs: Mapping[str, "JobSpec"] = field(default_factory=dict)


def proposed_again(suite: Suite, points: Sequence[Point], results: Mapping[str, Mapping[str, Any]]) -> Again:
    """Ask a sampler like the registered one for every trial, and tell it what the trial's runs say.

    Args:
        suite: as registered.
        points: of the registration.
        results: of the trials' runs, by key.
    """
    trials, ranges = {}, {}
    for condition in suite.conditions:
        trials[condition.id], ranges[condition.id] = _of_condition(suite, points, results, condition.id)
    together = [trial for found in trials.values() for trial in found]
    return Again(trials, ranges, {job.key: job for job in tuning_jobs(suite, together)})


def _of_condition(
    suite: Suite, points: Sequence[Point], results: Mapping[str, Mapping[str, Any]], condition: str
) -> tuple[tuple["Proposed", ...], dict[str, str]]:
    import optuna

    from equipoise.tuning.proposals import Proposals, propose, value_of
    from equipoise.tuning.studies import Proposed

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        sampler=Proposals(points, suite.seed), pruner=optuna.pruners.NopPruner(), direction="maximize"
    )
    found, ranges = list[Proposed](), dict[str, str]()
    for number in range(suite.tuning.trials):
        if number >= len(points) and any(trial.value is None for trial in found):
            break
        asked = study.ask()
        for name in concerned(suite, condition):
            propose(asked, name, suite.tuning.space[name])
        given = asked.distributions
        ranges |= {name: optuna.distributions.distribution_to_json(kind) for name, kind in given.items()}
        values: Point = {}
        # As the search writes them: the trial's own numbers, in the order of their names.
        for name, value in sorted(study.get_trials(deepcopy=False)[number].params.items()):
            kept = given[name]
            values[name] = value_of(value, kept)
        done = _trial(suite, results, condition, number)
        if done is not None:
            study.tell(number, done.value)
        found.append(Proposed(condition, number, values, None if done is None else done.value))
    return tuple(found), ranges


def _trial(
    suite: Suite, results: Mapping[str, Mapping[str, Any]], condition: str, number: int
) -> Trial | None:
    """What a trial came to; None also where a result of it cannot be read, which is told elsewhere."""
    try:
        return trial_of(suite, results, condition, number)
    except (*UNREADABLE, ZeroDivisionError):
        return None
