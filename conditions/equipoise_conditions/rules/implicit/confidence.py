"""What the policy itself thinks of a turn: its confidence, and the fluency of what it wrote."""

import numpy as np

from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.implicit.signals import CENTRE, centred_signal, turn_reasons, turn_totals
from equipoise_conditions.trajectories import Trajectories

__all__ = ["CONFIDENCE", "FLUENCY", "MEASURES", "confidence", "fluency", "turn_confidence"]

MEASURES = ("mean", "geometric", "min", "negative_entropy", "sum")
_DOC = (
    "mean token log-probability, its exponential, the least likely token's probability, minus the mean "
    "token entropy, or the log-probability of the whole turn"
)


def turn_confidence(trajectories: Trajectories, measure: str) -> FloatArray:
    """Return (T,) one number for each turn from its tokens in the loss; NaN where it has none.

    Args:
        trajectories: the batch.
        measure: "mean" (1/n sum log pi, nats), "geometric" (its exponential, the geometric mean of the token
            probabilities), "min" (least token probability), "negative_entropy" (minus the mean entropy,
            nats) or "sum" (sum log pi, nats: longer turns have less).
    """
    column = -trajectories.entropy if measure == "negative_entropy" else trajectories.logprob
    total, count = turn_totals(trajectories, column)
    none = count == 0
    if measure == "sum":
        value = total
    elif measure == "min":
        kept = np.where(trajectories.mask, trajectories.logprob, np.inf)
        lowest = np.minimum.reduceat(kept, trajectories.token_offsets[:-1])
        value = np.exp(np.where(none, 0.0, lowest))
    else:
        value = total / np.maximum(count, 1)
        value = np.exp(value) if measure == "geometric" else value
    return np.where(none, np.nan, value)


def confidence(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    measure: str = "mean",
    centre: str = "group",
) -> Credit:
    """Return the policy's confidence in each turn's action, centred.

    Source: the signal that the confidence-only router of Zhang 2026 (arXiv 2608.19760) reads; the paper's
    exact choice of measure is not known to us.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        measure: see `turn_confidence`.
        centre: "group", "trajectory", "batch" or "none".
    """
    return _signal(trajectories, measure, centre)


def fluency(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    measure: str = "sum",
    centre: str = "group",
) -> Credit:
    """Return how likely each turn's text is as a whole, centred.

    Source: the covariate that Zhang 2026 (arXiv 2608.19760) partials out. There it is normalised by length
    (`measure: mean`); here the whole turn is the default, because confidence and fluency by one measure are
    one number, and partialling out the one leaves nothing of the other.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        measure: see `turn_confidence`.
        centre: "group", "trajectory", "batch" or "none".
    """
    return _signal(trajectories, measure, centre)


def _signal(trajectories: Trajectories, measure: str, centre: str) -> Credit:
    value = turn_confidence(trajectories, measure)
    _, count = turn_totals(trajectories, trajectories.logprob)
    reason = turn_reasons(trajectories, np.where(count > 0, value, 0.0), count)
    return credit_where(centred_signal(trajectories, value, reason == Reason.DEFINED, centre), reason)


def _measure(default: str) -> Parameter:
    return Parameter("measure", default, MEASURES, _DOC)


CONFIDENCE = Rule(
    name="confidence",
    assign=confidence,
    needs=frozenset(),
    parameters=(_measure("mean"), CENTRE),
    card=Card(
        name="confidence",
        title="The policy's own confidence",
        formula="A_t = c_t − mean c, c_t = (1/n_t) Σ_j log π(y_j)",
        source="signal audited and routed by in Zhang 2026, arXiv 2608.19760",
        granularity="turn",
        methodology="implicit",
        evidence="reconstructed",
        cost="none: log-probabilities are kept while acting",
        drops="turns none of whose tokens is in the loss",
        zeroes="turns as confident as the mean they are compared with",
        reference_code="none released; worked numbers from the formula",
        edge="one turn to compare with itself gets 0; tokens outside the loss are not read",
        caveats=(
            "knows nothing of the outcome: training on it sharpens the policy on what it does already. The paper's "
            "measure (mean, its exponential, a margin, agreement over resamples ...) was not recovered; mean and "
            "geometric rank turns alike. With one token a turn all measures but negative_entropy rank alike"
        ),
    ),
)

FLUENCY = Rule(
    name="fluency",
    assign=fluency,
    needs=frozenset(),
    parameters=(_measure("sum"), CENTRE),
    card=Card(
        name="fluency",
        title="Fluency of the text (log-probability of the whole turn)",
        formula="A_t = f_t − mean f, f_t = Σ_j log π(y_j)",
        source="covariate of Zhang 2026, arXiv 2608.19760",
        granularity="turn",
        methodology="control",
        evidence="reconstructed",
        cost="none: log-probabilities are kept while acting",
        drops="turns none of whose tokens is in the loss",
        zeroes="turns as likely as the mean they are compared with",
        reference_code="none released; worked numbers from the formula",
        edge="one turn to compare with itself gets 0; tokens outside the loss are not read",
        caveats=(
            "differs from confidence by default on purpose: confidence is the mean over a turn's tokens, fluency "
            "their sum, so that it falls with length. The audit normalises fluency by length; measure: mean is that, "
            "and then equals the default of confidence. With one token a turn both are the same number"
        ),
    ),
)
