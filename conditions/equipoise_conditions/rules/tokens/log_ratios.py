"""Credit that a policy's own log-probabilities imply: against a reference, against a worse prompt, against siblings."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.groups import codes_within, discounted
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD, group_advantage
from equipoise_conditions.rules.tokens.base import outcome_advantage, token_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["R_TO_Q", "SPRO", "TREG", "r_to_q", "spro", "treg"]

_BETA = Parameter("beta", 0.1, "float", "strength of the reference: multiplies the log-ratio", minimum=0.0)


def r_to_q(trajectories: Trajectories, context: Context, *, beta: float = 0.1) -> Credit:
    """Return beta log(pi(token) / pi_ref(token)): a policy tuned on preferences read as its own advantage.

    Source: Rafailov et al. 2024 (arXiv 2404.12358): the log-ratio of a DPO policy is Q* − V* of the
    token-level problem, up to the reference's terms.

    Args:
        trajectories: the batch; forked trajectories are not examples.
        context: the log-ratio of each token; NaN leaves a token undefined.
        beta: the DPO coefficient.

    Raises:
        MissingNeed: when log-ratios were not measured.
        RuleError: when they are of another batch.
    """
    return token_credit(trajectories, beta * context.column(Need.LOG_RATIO, trajectories.n_tokens))


def treg(trajectories: Trajectories, context: Context, *, scale: float = 1.0) -> Credit:
    """Return scale (log pi(token | good prompt) − log pi(token | bad prompt)).

    Source: the description of Zhou et al. 2024 (arXiv 2412.02685), whose token rewards come from opposite
    prompts; reconstructed.

    Args:
        trajectories: the batch; forked trajectories are not examples.
        context: the contrast of each token; NaN leaves a token undefined.
        scale: factor of the contrast.

    Raises:
        MissingNeed: when contrasts were not measured.
        RuleError: when they are of another batch.
    """
    return token_credit(trajectories, scale * context.column(Need.CONTRAST, trajectories.n_tokens))


def spro(  # noqa: PLR0913 - the parameters of the rule
    trajectories: Trajectories,
    context: Context,
    *,
    beta: float = 0.1,
    step: str = "turn",
    cumulative: bool = True,
    outcome_weight: float = 0.0,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return each step's implicit process reward minus its mean among siblings at the same step index.

    The reward of a step is beta times the log-ratios of its tokens in the loss; siblings that ended earlier
    are masked out of the mean. Source: the description of Fei et al. 2025 (arXiv 2507.01551);
    reconstructed.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: the log-ratio of each token; NaN leaves a step (and with `cumulative` all later ones)
            undefined, and out of the mean.
        beta: strength of the reference.
        step: a "turn", or a "token" in the loss.
        cumulative: compare the sums of the rewards up to the step, not the steps alone.
        outcome_weight: GRPO's advantage times this is added.
        std: deviation of GRPO's part.
        eps: added to it.
        singleton: "zero", "raw" or "undefined" for a step that no sibling reached, and for a group of one.

    Raises:
        MissingNeed: when log-ratios were not measured.
        RuleError: when they are of another batch.
    """
    ratio = beta * context.column(Need.LOG_RATIO, trajectories.n_tokens)
    reward = np.where(trajectories.mask, ratio, 0.0)
    if step == "turn":
        reward = np.add.reduceat(reward, trajectories.token_offsets[:-1])
        offsets, owner = trajectories.turn_offsets, trajectories.trajectory_of_turn
        index = trajectories.turn_index
        counts = np.add.reduceat(trajectories.mask.astype(np.int64), trajectories.token_offsets[:-1]) > 0
    else:
        offsets, owner = trajectories.token_offsets_of_trajectory, trajectories.trajectory_of_token
        counts = trajectories.mask
        ranked = np.cumsum(counts)
        index = ranked - np.concatenate([[0], ranked])[offsets[:-1]][owner]
    reward = _running(reward, offsets) if cumulative else reward
    value, alone = _against_siblings(trajectories, reward, owner, index, counts, singleton=singleton)
    if step == "turn":
        value, alone = value[trajectories.turn_of_token], alone[trajectories.turn_of_token]
    score, _ = outcome_advantage(trajectories, std=std, eps=eps, singleton=singleton)
    value = value + outcome_weight * score[trajectories.trajectory_of_token]
    return token_credit(trajectories, value, alone=alone, singleton=singleton)


def _running(reward: FloatArray, offsets: IntArray) -> FloatArray:
    """Sums from each trajectory's start, summed inside it so that no other trajectory rounds them."""
    backwards = np.ascontiguousarray((offsets[-1] - offsets)[::-1])
    return np.ascontiguousarray(discounted(np.ascontiguousarray(reward[::-1]), backwards, 1.0)[::-1])


def _against_siblings(
    trajectories: Trajectories,
    reward: FloatArray,
    owner: IntArray,
    index: IntArray,
    counts: BoolArray,
    *,
    singleton: str,
) -> tuple[FloatArray, BoolArray]:
    """Return (U,) rewards minus the mean at the same index of the group, NaN where unknown, and who is alone."""
    use = trajectories.collected[owner] & counts & ~np.isnan(reward)
    place, _ = codes_within(index[use], trajectories.group[owner[use]])
    value, alone = np.full(reward.size, np.nan), np.zeros(reward.size, dtype=np.bool_)
    value[use], alone[use] = group_advantage(reward[use], place, std="none", eps=0.0, singleton=singleton)
    return value, alone


_RECONSTRUCTED = "reconstructed from descriptions, not from the paper; "

R_TO_Q = Rule(
    name="r_to_q",
    assign=r_to_q,
    needs=frozenset({Need.LOG_RATIO}),
    parameters=(_BETA,),
    card=Card(
        name="r_to_q",
        title="A tuned policy's log-ratio (from r to Q*)",
        formula="A_t = β log(π(y_t | s_t) / π_ref(y_t | s_t))",
        source="Rafailov et al. 2024, arXiv 2404.12358",
        granularity="token",
        cost="two teacher-forced passes over the collected tokens",
        drops="tokens without a log-ratio",
        zeroes="tokens that both policies find equally likely",
        reference_code="none used; worked numbers from the formula",
        methodology="implicit",
        evidence="background",
        extra_forward="2 · K tokens",
        edge="the outcome is not read and nothing is compared, so groups of one and equal rewards change nothing",
        caveats="an advantage only of a policy tuned on preferences to its optimum, and only up to the "
        "reference's terms; not centred; a token is credited for being likelier than before, whatever came "
        "of it",
    ),
)

TREG = Rule(
    name="treg",
    assign=treg,
    needs=frozenset({Need.CONTRAST}),
    parameters=(Parameter("scale", 1.0, "float", "factor of the contrast"),),
    card=Card(
        name="treg",
        title="Contrast of a good and a bad prompt (T-REG)",
        formula="A_t = c (log π(y_t | x⁺, y_<t) − log π(y_t | x⁻, y_<t))",
        source="Zhou et al. 2024, arXiv 2412.02685",
        granularity="token",
        cost="two teacher-forced passes over the collected tokens",
        drops="tokens without a contrast",
        zeroes="tokens that both prompts make equally likely",
        reference_code="none used (the paper names wzhouad/T-REG); reconstructed",
        methodology="implicit",
        evidence="reconstructed",
        extra_forward="2 · K tokens",
        edge="the outcome is not read and nothing is compared, so groups of one and equal rewards change nothing",
        caveats=_RECONSTRUCTED
        + "proportionality is all that is known of the formula; the paper uses the signal to regularise "
        "preference optimisation, not as an advantage by itself; it measures what a prompt makes the policy "
        "say, not what a token caused",
    ),
)

SPRO = Rule(
    name="spro",
    assign=spro,
    needs=frozenset({Need.LOG_RATIO}),
    parameters=(
        _BETA,
        Parameter("step", "turn", ("turn", "token"), "what is compared at equal index"),
        Parameter("cumulative", True, "bool", "compare sums up to the step"),  # noqa: FBT003
        Parameter("outcome_weight", 0.0, "float", "weight of GRPO's advantage beside it"),
        STD,
        EPS,
        SINGLETON,
    ),
    card=Card(
        name="spro",
        title="Implicit process reward against siblings at the same step (SPRO)",
        formula="A_{i,t} = r̃_{i,t} − mean over siblings j that reach step t of r̃_{j,t}; r̃ = β Σ "
        "log(π/π_ref), to the step",
        source="Fei et al. 2025, arXiv 2507.01551",
        granularity="token",
        cost="one teacher-forced pass of the reference policy over the collected tokens",
        drops="steps without a log-ratio; steps that no sibling reached only when singleton is undefined",
        zeroes="steps that no sibling reached, and steps at which all siblings have equal rewards",
        reference_code="none used; reconstructed",
        methodology="implicit",
        evidence="reconstructed",
        extra_forward="K tokens",
        edge="a group of one gets 0 everywhere; tokens outside the loss neither add to a step nor count as one; a step "
        "without tokens in the loss votes for nothing",
        caveats=_RECONSTRUCTED
        + "the abstract speaks of cumulative rewards (cumulative), others' descriptions add GRPO's "
        "advantage (outcome_weight 1); equal step index does not mean equal state: late steps are compared "
        "with whoever is still playing",
    ),
)
