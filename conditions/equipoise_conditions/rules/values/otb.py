"""Optimal token baseline: siblings' returns at a token, weighted by how far each has strayed until there."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, Reason, credit_where, on_tokens
from equipoise_conditions.groups import codes, codes_within
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import SINGLETON
from equipoise_conditions.rules.token_returns import cumulated, reward_to_go
from equipoise_conditions.trajectories import Trajectories

__all__ = ["OTB", "otb"]


def otb(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    place: str = "loss",
    zero_tail: bool = False,
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return A_k = G_k - B_k, B_k = sum G W / (sum W + eps) over the group's tokens at the same place.

    G is the reward in the loss from the token on. W sums 1 - 2 pi + sum pi^2 over the tokens in the loss
    until there: the squared length of the gradient of each token's log-probability in its logits.

    Source: Li et al. 2026 (arXiv 2602.07078); volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:
    `preset: verl` is its optimal token baseline (:758-873), `preset: verl-tir` the one for several turns
    (:876-1006).

    Args:
        trajectories: the batch, with `sum_pi_squared` recorded; forked trajectories are neither voters nor
            examples.
        context: not read.
        place: a token's place is counted among "all" tokens of its trajectory or among those in the "loss".
        zero_tail: no baseline beyond the second longest, for the only longest trajectory of a group.
        eps: added to the sum of the weights.
        singleton: "zero", "raw" or "undefined" for a group with one trajectory.

    Returns:
        (K,) token-level credit; NOT_MEASURED from the first token on whose `sum_pi_squared` is missing.
    """
    reason, owner = on_tokens(trajectories), trajectories.trajectory_of_token
    use = np.flatnonzero(reason == Reason.DEFINED).astype(np.int64)
    returns, energy = reward_to_go(trajectories)[use], _energy(trajectories)[use]
    at = _places(trajectories, place)[use]
    baseline = _baseline(returns, energy, at, trajectories.group[owner[use]], eps)
    alone, tail = _members(trajectories, owner[use], place)
    if zero_tail:
        baseline = np.where(at >= tail[owner[use]], 0.0, baseline)
    value, single = returns - baseline, alone[owner[use]]
    if singleton != "undefined":
        value = np.where(single, returns if singleton == "raw" else 0.0, value)
    credit, why = np.zeros(trajectories.n_tokens), reason.copy()
    credit[use] = value
    why[use] = np.where(np.isnan(energy), int(Reason.NOT_MEASURED), int(Reason.DEFINED))
    if singleton == "undefined":
        why[use[single]] = Reason.NO_GROUP
    return credit_where(credit, why, "token")


def _baseline(
    returns: FloatArray, energy: FloatArray, at: IntArray, group: IntArray, eps: float
) -> FloatArray:
    """Return (U,) mean return at each place of a group, weighted by energy; unknown energies do not vote."""
    cell, cells = codes_within(at, group)
    weight = np.where(np.isnan(energy), 0.0, energy)
    total, divisor = np.bincount(cell, returns * weight, cells), np.bincount(cell, weight, cells) + eps
    # Without any weight nobody could have acted otherwise: there is no baseline, whatever eps.
    mean: FloatArray = np.divide(total, divisor, out=np.zeros(cells), where=divisor != 0)
    return mean[cell]


def _energy(trajectories: Trajectories) -> FloatArray:
    """Return (K,) W, NaN from the first token in the loss on whose `sum_pi_squared` is missing."""
    step = 1.0 - 2.0 * np.exp(trajectories.logprob) + trajectories.sum_pi_squared
    return cumulated(np.where(trajectories.mask, step, 0.0), trajectories.token_offsets_of_trajectory)


def _places(trajectories: Trajectories, place: str) -> IntArray:
    """Return (K,) place of each token in its trajectory, from 0; among tokens in the loss if asked for."""
    start = trajectories.token_offsets_of_trajectory[:-1][trajectories.trajectory_of_token]
    if place == "all":
        return np.arange(trajectories.n_tokens, dtype=np.int64) - start
    before = np.concatenate(([0], np.cumsum(trajectories.mask))).astype(np.int64)
    return before[:-1] - before[start]


def _members(trajectories: Trajectories, owner: IntArray, place: str) -> tuple[BoolArray, IntArray]:
    """Return (N,) which trajectories are alone in their group, and where the tail of each begins.

    Only the single longest member of a group has a tail: what lies beyond the second longest.

    Args:
        trajectories: the batch.
        owner: (U,) the trajectory of each token in the loss.
        place: with "all", trajectories without a token in the loss are members too.
    """
    length = np.bincount(owner, minlength=trajectories.n)
    alone = np.ones(trajectories.n, dtype=np.bool_)
    tail = np.full(trajectories.n, np.iinfo(np.int64).max)
    index = np.flatnonzero(trajectories.collected if place == "all" else length > 0)
    group, n_groups = codes(trajectories.group[index])
    alone[index] = np.bincount(group, minlength=n_groups)[group] == 1
    order = np.lexsort((length[index], group))
    last = np.flatnonzero(np.diff(group[order], append=-1) != 0)
    last = last[~alone[index[order[last]]]]
    longest, second = index[order[last]], length[index[order[last - 1]]]
    tail[longest] = np.where(length[longest] > second, second, tail[longest])
    return alone, tail


OTB = Rule(
    name="otb",
    assign=otb,
    needs=frozenset(),
    parameters=(
        Parameter(
            "place",
            "loss",
            ("all", "loss"),
            "tokens are compared at the same place among all tokens of a trajectory, or among those in the loss",
        ),
        Parameter(
            "zero_tail",
            default=False,
            kind="bool",
            doc="no baseline for the only longest trajectory of a group beyond the second longest",
        ),
        Parameter("eps", 1e-6, "float", "added to the sum of the weights", minimum=0.0),
        SINGLETON,
    ),
    presets={
        "verl": {"place": "all", "zero_tail": False, "eps": 1e-8, "singleton": "raw"},
        "verl-tir": {"place": "loss", "zero_tail": True, "eps": 1e-8, "singleton": "raw"},
    },
    card=Card(
        name="otb",
        title="Optimal token baseline",
        formula="A_k = G_k − Σ_i G W/(Σ_i W + ε) at the same place, W = Σ_{j≤k} (1 − 2π_j + Σ_v π_j(v)²)",
        source="Li et al. 2026, arXiv 2602.07078",
        granularity="token",
        methodology="outcome",
        evidence="code",
        cost="the sum of squared probabilities of every token's distribution, recorded while acting",
        extra_rollouts="0",
        extra_forward="0; one pass over the batch where sum_pi_squared was not recorded while acting",
        judge_calls="0",
        drops="tokens from the first on whose sum_pi_squared is missing; a group of one when undefined",
        zeroes="groups of one by default; tokens that no sibling reaches, but for ε, unless zero_tail",
        reference_code="volcengine/verl b178a3cd verl/trainer/ppo/core_algos.py:758-873 and 876-1006",
        edge=(
            "equal returns leave ε/(ΣW + ε) of the return instead of 0; where no token had an alternative (W = 0) "
            "there is no baseline; the baseline holds the trajectory's own return, so a token that only it "
            "reaches gets about 0, or its raw return with zero_tail; trajectories without a token in the loss "
            "are members of a group for `all` and not for `loss`, as in verl"
        ),
        caveats=(
            "with holes in the mask, place `all` compares tokens of different turns; zero_tail then begins at "
            "the number of tokens in the loss though places are counted among all, as in verl; a reward on a "
            "token outside the loss is not counted; verl can weight W by truncated importance ratios of "
            "another sampler, which is not offered; the baseline is not independent of the token's own action"
        ),
    ),
)
