"""The points of a search that are drawn once, when a suite is registered, and are the same for every condition."""

import json
import math
from typing import TYPE_CHECKING

from equipoise_preregistration.sections import Value
from equipoise_preregistration.seeds import derive_seed, generator
from equipoise_preregistration.tuning import Dimension, Tuning

if TYPE_CHECKING:
    import numpy as np

__all__ = ["Point", "at", "draw_points", "label", "tuning_seeds"]

Point = dict[str, Value]
"""A value for every dimension of a space, by name."""

_DIGITS = 6


def draw_points(tuning: Tuning, seed: int) -> tuple[Point, ...]:
    """The frozen points of a search; with TPE the first half of its trials (rounded up), otherwise all.

    A Sobol sequence (Sobol 1967) scrambled as by Owen (1995) covers the space more evenly than random numbers
    do; its first 2^m points are the balanced ones, so that trials are best a power of two.

    Args:
        tuning: the registered search; one without trials has no points.
        seed: of the suite.
    """
    number = math.ceil(tuning.trials / 2) if tuning.sampler == "tpe" else tuning.trials
    if not number:
        return ()
    rng = generator(seed, "tuning", "points")
    unit = rng.random((number, len(tuning.names))) if tuning.sampler == "random" else _sobol(tuning, rng)
    return tuple(
        {name: at(tuning.space[name], float(u)) for name, u in zip(tuning.names, row, strict=True)}
        for row in unit[:number]
    )


def _sobol(tuning: Tuning, rng: "np.random.Generator") -> "np.ndarray":
    from scipy.stats import qmc

    return qmc.Sobol(len(tuning.names), scramble=True, rng=rng).random_base2(
        max(1, math.ceil(math.log2(tuning.trials)))
    )


def at(dimension: Dimension, u: float) -> Value:
    """The value at a share 0 <= u < 1 of a dimension; numbers are rounded to six digits, as people read them."""
    if dimension.type == "categorical":
        return dimension.choices[min(int(u * len(dimension.choices)), len(dimension.choices) - 1)]
    low, high = dimension.low, dimension.high
    assert low is not None
    assert high is not None
    if dimension.type == "int":
        # Every whole number has an interval of its own, so that the ends are as likely as the others.
        value = _between(low - 0.5, high + 0.5, u, log=dimension.log)
        return int(min(max(math.floor(value + 0.5), low), high))
    value = float(f"{_between(low, high, u, log=dimension.log):.{_DIGITS}g}")
    return min(max(value, low), high)


def _between(low: float, high: float, u: float, *, log: bool) -> float:
    return math.exp(math.log(low) + u * math.log(high / low)) if log else low + u * (high - low)


def tuning_seeds(tuning: Tuning, seed: int) -> dict[str, int]:
    """The seed of each tuning block by name; by their names they cannot be those of confirmatory blocks."""
    blocks = range(tuning.blocks if tuning.trials else 0)
    return {f"tuning/{block}": derive_seed(seed, "tuning", block) for block in blocks}


def label(value: Value) -> str:
    """A value as canonical text: the name of a choice, and part of the identity of what depends on it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
