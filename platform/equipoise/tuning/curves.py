"""What a search would have found with fewer trials."""

import math
from collections.abc import Sequence

__all__ = ["best_so_far", "expected_best"]


def expected_best(values: Sequence[float]) -> tuple[float, ...]:
    """Expected best of n of the N trials, drawn without replacement, for n = 1 ... N.

    ``sum_i v_(i) C(i - 1, n - 1) / C(N, n)`` over the values in increasing order: the unbiased form (Tang et al.,
    arXiv 2004.13705) of the curve of Dodge et al. (arXiv 1909.03004), whose draws with replacement fall short of
    the best value even at n = N. It takes trials for exchangeable, as points drawn beforehand are.
    """
    ordered, total = sorted(values), len(values)
    return tuple(
        math.fsum(
            value * (math.comb(below, n - 1) / math.comb(total, n)) for below, value in enumerate(ordered)
        )
        for n in range(1, total + 1)
    )


def best_so_far(values: Sequence[float]) -> tuple[float, ...]:
    """Best of the first n trials, for n = 1 ... N: all that can be said where a trial depends on those before."""
    return tuple(max(values[: n + 1]) for n in range(len(values)))
