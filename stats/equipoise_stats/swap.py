"""The exact test of content: within a block, any of the rule and its twins could have been the rule.

Under the null of no content the K + 1 runs of a block are exchangeable. The statistic is the sum over
blocks of (chosen run - mean of the others); its null is every choice in every block. Rules are swapped
independently, so that the largest standardised statistic of a family has a product null.
(Fisher's randomisation test; Westfall & Young 1993 for the largest statistic.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.results import Swap

FloatArray = npt.NDArray[np.float64]

MOST_EXACT = 2**20
DRAWS = 100_000
_SEED = 20_240_611
# Equal sums differ by rounding only; ties must count against the rule.
_TIE = 1e-9


@dataclass(frozen=True)
class SwapNull:
    """The observed standardised statistic and its sorted null of absolute values."""

    observed: float
    null: FloatArray
    exact: bool
    floor: float

    def p_at(self, statistic: float) -> float:
        """P(|statistic of this rule| >= statistic), ties counted."""
        reached = self.null.size - int(np.searchsorted(self.null, statistic - _TIE, side="left"))
        return reached / self.null.size if self.exact else (1 + reached) / (1 + self.null.size)


def swap_null(rule: FloatArray, twins: FloatArray) -> SwapNull:
    """The null of one rule.

    Args:
        rule: (S,) scores of the rule's matched runs.
        twins: (S, K) scores of its twins in the same blocks.
    """
    blocks, several = twins.shape
    scores = np.concatenate([rule[:, None], twins], axis=1)
    total = scores.sum(axis=1, keepdims=True)
    contrasts = scores - (total - scores) / several
    spread = float(np.sqrt(np.square(contrasts).mean(axis=1).sum()))
    contrasts = contrasts / spread if spread > _TIE else np.zeros_like(contrasts)
    exact = (several + 1) ** blocks <= MOST_EXACT
    sums = _every_choice(contrasts) if exact else _drawn_choices(contrasts)
    least = (2 if several == 1 else 1) / (several + 1) ** blocks
    floor = least if exact else 1 / (1 + DRAWS)
    return SwapNull(abs(float(contrasts[:, 0].sum())), np.sort(np.abs(sums)), exact, floor)


def _every_choice(contrasts: FloatArray) -> FloatArray:
    sums = np.zeros(1)
    for block in contrasts:
        sums = (sums[:, None] + block).ravel()
    return sums


def _drawn_choices(contrasts: FloatArray) -> FloatArray:
    choices = np.random.default_rng(_SEED).integers(contrasts.shape[1], size=(contrasts.shape[0], DRAWS))
    return np.asarray(np.take_along_axis(contrasts, choices, axis=1).sum(axis=0), dtype=np.float64)


def swap_tests(nulls: Mapping[str, SwapNull], members: tuple[str, ...], alpha: float) -> dict[str, Swap]:
    """The test of every rule, adjusted over the members of the content family.

    Args:
        nulls: by condition.
        members: the conditions of the family; the others are tested alone.
        alpha: level, only to say where the floor lies above it.
    """
    together = _step_down([(c, nulls[c]) for c in members if c in nulls])
    tests = {}
    for condition, null in nulls.items():
        p = null.p_at(null.observed)
        tests[condition] = Swap(
            p,
            together.get(condition),
            null.floor,
            int(null.null.size),
            null.exact,
            _sentence(null, p, alpha),
        )
    return tests


def _step_down(family: Sequence[tuple[str, SwapNull]]) -> dict[str, float]:
    """Adjusted p values by the largest statistic among the rules not yet decided (Westfall & Young 1993, 2.6).

    The swaps of different rules are independent, so the largest of them has a product null.
    """
    order = sorted(family, key=lambda item: -item[1].observed)
    adjusted: dict[str, float] = {}
    reached = 0.0
    for place, (condition, null) in enumerate(order):
        silent = float(np.prod([1.0 - other.p_at(null.observed) for _, other in order[place:]]))
        reached = max(reached, null.p_at(null.observed), 1.0 - silent)
        adjusted[condition] = min(1.0, reached)
    return adjusted


def _sentence(null: SwapNull, p: float, alpha: float) -> str:
    how = f"all {null.null.size} swaps" if null.exact else f"{null.null.size} random swaps"
    limit = f"; this design cannot reject at {alpha:g}" if null.floor > alpha else ""
    return (
        f"p = {p:.4g} over {how} of rule and twin within blocks; "
        f"the smallest possible p is {null.floor:.4g}{limit}"
    )
