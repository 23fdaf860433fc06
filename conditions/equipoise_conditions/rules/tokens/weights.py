"""GRPO's advantage weighted by how uncertain each token was: in proportion, or only the most uncertain."""

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD
from equipoise_conditions.rules.tokens.base import (
    SIGNAL,
    nth_smallest,
    outcome_advantage,
    signal_of,
    token_credit,
)
from equipoise_conditions.trajectories import Trajectories

__all__ = [
    "ENTROPY_MASK",
    "GTPO",
    "entropy_mask",
    "gtpo",
    "top_rho_thresholds",
    "uncertainty_weights",
]

# Of the published function: below the first, an answer's mean uncertainty is taken for none; the second is
# added to that mean before dividing.
_NO_UNCERTAINTY, _GUARD = 1e-7, 1e-8


def uncertainty_weights(
    uncertainty: FloatArray, row: IntArray, n_rows: int, *, beta: float, cap: float
) -> FloatArray:
    """Return (M,) weights max(0, 1 + beta (h / mean h − 1)), the mean taken over each row.

    The mean weight is 1 where neither the floor at 0 nor the cap acts. A row without uncertainty has
    weights 1. Source: teilomillet/retrain 19db12f9, apply_gtpo_weighting.

    Args:
        uncertainty: (M,) entropies or surprisals in nats.
        row: (M,) codes below `n_rows`.
        n_rows: the number of rows.
        beta: 0 leaves all weights 1.
        cap: greater values are cut to it first.
    """
    cut = np.minimum(uncertainty, cap)
    count = np.bincount(row, minlength=n_rows)
    mean = np.bincount(row, cut, n_rows) / np.maximum(count, 1)
    weight = np.maximum(0.0, 1.0 + beta * (cut / (mean[row] + _GUARD) - 1.0))
    return np.where((mean[row] < _NO_UNCERTAINTY) | (beta == 0.0), 1.0, weight)


def top_rho_thresholds(uncertainty: FloatArray, row: IntArray, n_rows: int, rho: float) -> FloatArray:
    """Return (R,) the value that a token needs to be among the `rho` most uncertain of its row.

    It is the value at place max(1, floor(rho n)) of the descending order, so ties keep more than `rho`,
    and one token is always kept; −infinity for rho 1, infinity for rho 0, and 0 for an empty row.
    Source: teilomillet/retrain 19db12f9, compute_entropy_mask_threshold.

    Args:
        uncertainty: (M,) entropies or surprisals in nats.
        row: (M,) codes below `n_rows`.
        n_rows: the number of rows.
        rho: share to keep.
    """
    if rho >= 1.0 or rho <= 0.0:
        return np.full(n_rows, -np.inf if rho >= 1.0 else np.inf)
    count = np.bincount(row, minlength=n_rows)
    place = count - np.maximum(1, np.floor(count * rho).astype(np.int64))
    return np.nan_to_num(nth_smallest(uncertainty, row, n_rows, place), nan=0.0)


def gtpo(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    beta: float = 0.1,
    cap: float = 50.0,
    signal: str = "entropy",
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return GRPO's advantage times `uncertainty_weights` of the tokens in the loss.

    Source: retrain's function under this name; the idea is that of Tan et al. 2025 (arXiv 2508.04349).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        beta: how much uncertainty weighs.
        cap: greatest uncertainty in nats.
        signal: "entropy" or "surprisal".
        std: see `group_advantage`.
        eps: see `group_advantage`.
        singleton: "zero", "raw" or "undefined" for a group of one.
    """
    score, alone = outcome_advantage(trajectories, std=std, eps=eps, singleton=singleton)
    owner, inside = trajectories.trajectory_of_token, trajectories.mask
    weight = np.zeros(trajectories.n_tokens)
    weight[inside] = uncertainty_weights(
        signal_of(trajectories, signal)[inside], owner[inside], trajectories.n, beta=beta, cap=cap
    )
    return token_credit(trajectories, score[owner] * weight, alone=alone[owner], singleton=singleton)


def entropy_mask(  # noqa: PLR0913 - the parameters of the rule
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    rho: float = 0.2,
    scope: str = "batch",
    below: str = "masked",
    signal: str = "entropy",
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return GRPO's advantage on the most uncertain tokens alone.

    Source: Wang et al. 2025 (arXiv 2506.01939) train on the 20 % of tokens with the highest entropy; the
    threshold is that of retrain's replication (`top_rho_thresholds`).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        rho: share of tokens to keep.
        scope: threshold over the "batch" or each "trajectory".
        below: other tokens are "masked" (leave the loss) or get "zero" (stay in its denominator).
        signal: "entropy" or "surprisal".
        std: see `group_advantage`.
        eps: see `group_advantage`.
        singleton: "zero", "raw" or "undefined" for a group of one.
    """
    score, alone = outcome_advantage(trajectories, std=std, eps=eps, singleton=singleton)
    owner = trajectories.trajectory_of_token
    row = owner if scope == "trajectory" else np.zeros_like(owner)
    n_rows = trajectories.n if scope == "trajectory" else 1
    pool = trajectories.mask & trajectories.collected[owner]
    uncertainty = signal_of(trajectories, signal)
    kept = uncertainty >= top_rho_thresholds(uncertainty[pool], row[pool], n_rows, rho)[row]
    value = score[owner] if below == "masked" else np.where(kept, score[owner], 0.0)
    mask = np.asarray(kept) if below == "masked" else None
    return token_credit(trajectories, value, alone=alone[owner], singleton=singleton, loss_mask=mask)


GTPO = Rule(
    name="gtpo",
    assign=gtpo,
    needs=frozenset(),
    parameters=(
        Parameter("beta", 0.1, "float", "how much uncertainty weighs; 0 is GRPO"),
        Parameter("cap", 50.0, "float", "greatest uncertainty of a token, in nats", minimum=0.0),
        SIGNAL,
        STD,
        EPS,
        SINGLETON,
    ),
    presets={"retrain": {"signal": "surprisal", "beta": 0.1, "cap": 50.0}},
    card=Card(
        name="gtpo",
        title="Advantage weighted by uncertainty (GTPO)",
        formula="A_t = A_i · max(0, 1 + β (h_t / mean_i h − 1)), A_i = GRPO's, h = entropy or surprisal",
        source="Tan et al. 2025, arXiv 2508.04349 (the idea); the formula is retrain's",
        granularity="token",
        cost="none beyond the collected trajectories",
        drops="nothing; a group of one only when singleton is undefined",
        zeroes="every token of a group whose outcomes are all equal; with β above 1, tokens that were certain",
        reference_code="teilomillet/retrain 19db12f9 retrain/advantages/credit.py:13-33 (third party)",
        methodology="information-theoretic",
        evidence="notes",
        edge="an answer without uncertainty (mean below 1e-7) gets GRPO's advantage; the mean is over tokens "
        "in the loss; floor and cap change the mean weight, which is 1 otherwise (up to the code's 1e-8 in "
        "the divisor)",
        caveats="third-party code with surprisal in place of the paper's entropy (preset retrain); a second "
        "paper carries the same name (arXiv 2508.03772); uncertain is not the same as pivotal: aliased "
        "actions are uncertain too",
    ),
)

ENTROPY_MASK = Rule(
    name="entropy_mask",
    assign=entropy_mask,
    needs=frozenset(),
    parameters=(
        Parameter("rho", 0.2, "float", "share of tokens kept", minimum=0.0, maximum=1.0),
        Parameter("scope", "batch", ("batch", "trajectory"), "tokens that the share is taken of"),
        Parameter("below", "masked", ("masked", "zero"), "other tokens leave the loss, or get 0"),
        SIGNAL,
        STD,
        EPS,
        SINGLETON,
    ),
    presets={"retrain": {"signal": "surprisal", "scope": "batch", "below": "zero"}},
    card=Card(
        name="entropy_mask",
        title="Only the most uncertain tokens (entropy mask, top ρ)",
        formula="A_t = A_i · 1[h_t ≥ h_(ρ)], A_i = GRPO's, h_(ρ) = value at place max(1, ⌊ρn⌋) from the top",
        source="Wang et al. 2025, arXiv 2506.01939; threshold of a third-party replication",
        granularity="token",
        cost="none beyond the collected trajectories",
        drops="tokens below the threshold (from the loss)",
        zeroes="every token of a group whose outcomes are all equal; with below zero, tokens below the threshold",
        reference_code="teilomillet/retrain 19db12f9 retrain/advantages/credit.py:60-75 (third party)",
        methodology="information-theoretic",
        evidence="notes",
        edge="ties keep more than ρ; at least one token is kept unless ρ is 0, which keeps none; an empty "
        "pool has threshold 0",
        caveats="masking and zeroing are different doses: zeros stay in the loss's denominator (preset "
        "retrain zeroes, on surprisal); a threshold over the batch depends on what else is in the batch",
    ),
)
