"""SPO on one chain of segments: what the expected outcome gains between two cuts of an answer."""

import numpy as np

from equipoise_conditions.context import Context, Cuts, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.tokens.cuts import certain, segment_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["SPO_CHAIN", "SPO_FIXED", "spo_chain", "spo_fixed"]

_UNVALUED = Parameter(
    "unvalued",
    "undefined",
    ("undefined", "zero"),
    "a segment whose start was not valued (the first, unless the prompt was) has no credit, or 0",
)
_ROLLOUTS = Parameter("rollouts", 9, "int", "continuations from each cut", minimum=1)
_REPOSITORY = "AIFrameResearch/SPO b9fc6a26 src/treetune/episode_generators/"


def spo_chain(
    trajectories: Trajectories,
    context: Context,
    *,
    cut_below: float = 0.9,  # noqa: ARG001 - read by whoever cuts
    cutpoint_interval: int = 5,  # noqa: ARG001 - the same
    rollouts: int = 9,  # noqa: ARG001 - the same
    probability_mask: float = 0.9,
    keep_equal: bool = False,
    unvalued: str = "undefined",
) -> Credit:
    """Return V(end) − V(start) for the segments between cuts before uncertain tokens.

    V of a cut is the mean outcome of continuations from there, V after the last token the outcome. Tokens
    that were certain leave the loss. Where to cut is `cut_positions`. Source: Guo et al. 2025 (arXiv
    2505.23564) and its code; the code's mask of 0.9 is a parameter here.

    Args:
        trajectories: the batch; forked trajectories are not examples.
        context: the cuts and their values.
        cut_below: probability below which a token is a candidate for a cut.
        cutpoint_interval: of a trajectory's candidates every how many-th is cut.
        rollouts: continuations from each cut.
        probability_mask: probability from which a token is taken out of the loss; 1 takes none out.
        keep_equal: keep a token exactly at that probability.
        unvalued: "undefined" or "zero" for a segment whose start has no value.

    Raises:
        MissingNeed: when nothing was cut.
        RuleError: when the cuts are not of this batch.
    """
    cuts = context.need(Need.CUTS, Cuts)
    kept = ~certain(trajectories.logprob, probability_mask, equal=not keep_equal)
    loss_mask = None if probability_mask >= 1.0 else np.asarray(kept)
    return segment_credit(trajectories, cuts, unvalued=unvalued, loss_mask=loss_mask)


def spo_fixed(
    trajectories: Trajectories,
    context: Context,
    *,
    segments: int = 4,  # noqa: ARG001 - read by whoever cuts
    rollouts: int = 9,  # noqa: ARG001 - the same
    unvalued: str = "undefined",
) -> Credit:
    """Return V(end) − V(start) for segments of equal length; every token stays in the loss.

    Where to cut is `fixed_cut_positions`. Source: the comparison in the code of Guo et al. 2025 (arXiv
    2505.23564).

    Args:
        trajectories: the batch; forked trajectories are not examples.
        context: the cuts and their values.
        segments: parts of a trajectory.
        rollouts: continuations from each cut.
        unvalued: "undefined" or "zero" for a segment whose start has no value.

    Raises:
        MissingNeed: when nothing was cut.
        RuleError: when the cuts are not of this batch.
    """
    return segment_credit(trajectories, context.need(Need.CUTS, Cuts), unvalued=unvalued)


SPO_CHAIN = Rule(
    name="spo_chain",
    assign=spo_chain,
    needs=frozenset({Need.CUTS}),
    parameters=(
        Parameter("cut_below", 0.9, "float", "tokens less probable may be cut before", minimum=0, maximum=1),
        Parameter("cutpoint_interval", 5, "int", "every how many-th candidate is cut", minimum=1),
        _ROLLOUTS,
        Parameter(
            "probability_mask",
            0.9,
            "float",
            "tokens at least as probable leave the loss; 1 keeps all",
            minimum=1e-6,
            maximum=1,
        ),
        Parameter("keep_equal", False, "bool", "keep a token exactly at probability_mask"),  # noqa: FBT003
        _UNVALUED,
    ),
    presets={
        "spo": {"unvalued": "zero"},
        "spo_generator": {"unvalued": "zero", "keep_equal": True},
    },
    card=Card(
        name="spo_chain",
        title="Segment policy optimisation, chain (SPO-chain)",
        formula="A(segment) = V(its end) − V(its start); V(cut) = mean R of K continuations, V(end) = R_i",
        source="Guo et al. 2025, arXiv 2505.23564",
        granularity="segment",
        cost="K continuations from every cut",
        drops="certain tokens (from the loss); the first segment, and a trajectory without cuts, if unvalued",
        zeroes="segments over which the value does not change",
        reference_code=_REPOSITORY + "math_episode_generator_with_mc_advantages.py:347-477",
        methodology="monte-carlo",
        evidence="code",
        extra_rollouts="K · cuts (partial)",
        edge="a cut without a value joins its neighbours; a value at the very end replaces the outcome; a trajectory "
        "whose first token is certain has no value of its prompt; nothing is normalised, so a group of one is no case",
        caveats="the code gives 0 to an answer without uncertain tokens and to a first segment whose prompt was not "
        "valued (preset spo); its trainer masks p = 0.9, its generator does not (preset spo_generator), and "
        "there confident tokens are zeros; its trainer may whiten over the unmasked tokens, which is not done here",
    ),
)

SPO_FIXED = Rule(
    name="spo_fixed",
    assign=spo_fixed,
    needs=frozenset({Need.CUTS}),
    parameters=(
        Parameter("segments", 4, "int", "parts of equal length of a trajectory", minimum=1),
        _ROLLOUTS,
        _UNVALUED,
    ),
    presets={"spo": {"unvalued": "zero"}},
    card=Card(
        name="spo_fixed",
        title="Segment policy optimisation, segments of equal length",
        formula="A(segment) = V(its end) − V(its start), segments of K_i / k tokens",
        source="Guo et al. 2025, arXiv 2505.23564 (the comparison in its code)",
        granularity="segment",
        cost="K continuations from each of k − 1 cuts",
        drops="the first segment, unless the prompt was valued",
        zeroes="segments over which the value does not change",
        reference_code=_REPOSITORY + "math_episode_generator_with_mc_advantages_naive.py:347-477",
        methodology="monte-carlo",
        evidence="code",
        extra_rollouts="K · (k − 1) (partial)",
        edge="with fewer tokens than segments cuts repeat, the last value counts, and one valued at the very "
        "end replaces the outcome; one segment has no cut and so no credit",
        caveats="the code never values the prompt, so it gives its first segment 0 (preset spo); here it is undefined "
        "unless the cuts hold position 0",
    ),
)
