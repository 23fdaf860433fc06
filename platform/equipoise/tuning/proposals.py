"""Where Optuna takes its points from: those of the registration, and after them TPE with a seed for each trial."""

import json
from collections.abc import Sequence
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, TPESampler
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial

from equipoise_preregistration import derive_seed
from equipoise_preregistration.points import Point, label
from equipoise_preregistration.sections import Value
from equipoise_preregistration.tuning import Dimension

__all__ = ["Proposals", "propose", "value_of"]


class Proposals(BaseSampler):
    """A sampler without memory: what it proposes depends on the trial's number and on the trials told before.

    Thus a search that was killed proposes the same again, however often it is asked.

    Args:
        points: of the registration; trial n takes point n.
        seed: of the suite. Every condition's trial n has the same seed.
    """

    def __init__(self, points: Sequence[Point], seed: int) -> None:
        self._points, self._seed = points, seed

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:  # noqa: ARG002
        """Nothing: every dimension is proposed by itself."""
        return {}

    def sample_relative(
        self,
        study: Study,  # noqa: ARG002
        trial: FrozenTrial,  # noqa: ARG002
        search_space: dict[str, BaseDistribution],  # noqa: ARG002
    ) -> dict[str, Any]:
        """Nothing."""
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """The registered point's value, or TPE's (Bergstra et al. 2011)."""
        if trial.number < len(self._points):
            value = self._points[trial.number][param_name]
            return label(value) if isinstance(param_distribution, CategoricalDistribution) else value
        seed = derive_seed(self._seed, "tuning", "sampler", trial.number, param_name) % 2**32
        # All points of the registration are there to start from; no trial runs beside this one.
        tpe = TPESampler(n_startup_trials=1, multivariate=False, constant_liar=False, seed=seed)
        return tpe.sample_independent(study, trial, param_name, param_distribution)


def propose(trial: Trial, name: str, dimension: Dimension) -> None:
    """Settle one dimension of a trial; one that is settled already keeps its value."""
    if dimension.type == "categorical":
        trial.suggest_categorical(name, [label(choice) for choice in dimension.choices])
        return
    low, high = dimension.low, dimension.high
    assert low is not None
    assert high is not None
    if dimension.type == "int":
        trial.suggest_int(name, int(low), int(high), log=dimension.log)
    else:
        trial.suggest_float(name, low, high, log=dimension.log)


def value_of(proposed: Any, distribution: BaseDistribution) -> Value:
    """A value as the suite writes it, from what Optuna keeps."""
    if isinstance(distribution, CategoricalDistribution):
        value: Value = json.loads(proposed)
        return value
    assert isinstance(distribution, IntDistribution | FloatDistribution)
    return int(proposed) if isinstance(distribution, IntDistribution) else float(proposed)
