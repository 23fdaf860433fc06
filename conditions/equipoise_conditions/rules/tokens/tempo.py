"""TEMPO: GRPO's advantage, corrected where the answers to a prompt part."""

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, SINGLETON, STD
from equipoise_conditions.rules.tokens.base import outcome_advantage, token_credit
from equipoise_conditions.rules.tokens.prefix_tree import branch_terms
from equipoise_conditions.trajectories import Trajectories

__all__ = ["TEMPO", "tempo"]


def tempo(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    over: str = "auto",
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return A_i + (V(s_{t+1}) − V(s_t)) at tokens where the group's answers part, and A_i elsewhere.

    V of a shared beginning is the mean outcome of the answers that share it (`branch_terms`).
    Source: Tran et al. 2025 (arXiv 2509.18314).

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        over: what beginnings are made of: "token" ids, "action" indices, or "auto": tokens where all ids of
            collected trajectories are known, else actions.
        std: see `group_advantage`.
        eps: see `group_advantage`.
        singleton: "zero", "raw" or "undefined" for a group of one.

    Raises:
        RuleError: when token ids are asked for and not all are known.
    """
    known = trajectories.token >= 0
    unknown = ~known & trajectories.collected[trajectories.trajectory_of_token]
    if over == "token" and unknown.any():
        message = (
            f"over: expected the id of every token, got none for {int(unknown.sum())} of them; "
            "record the batch's token ids or set over: action"
        )
        raise RuleError(message)
    score, alone = outcome_advantage(trajectories, std=std, eps=eps, singleton=singleton)
    owner = trajectories.trajectory_of_token
    made_of = ("action" if unknown.any() else "token") if over == "auto" else over
    value = score[owner] + branch_terms(trajectories, over=made_of)
    return token_credit(trajectories, value, alone=alone[owner], singleton=singleton)


TEMPO = Rule(
    name="tempo",
    assign=tempo,
    needs=frozenset(),
    parameters=(
        Parameter("over", "auto", ("auto", "token", "action"), "what shared beginnings are made of"),
        STD,
        EPS,
        SINGLETON,
    ),
    card=Card(
        name="tempo",
        title="Tree-estimated prefix values (TEMPO)",
        formula="A_t = A_i + 1[answers part at t] (V(s_{t+1}) − V(s_t)), A_i = GRPO's, V(s) = mean R of "
        "answers through s",
        source="Tran et al. 2025, arXiv 2509.18314",
        granularity="token",
        cost="none beyond the collected trajectories",
        drops="nothing; a group of one only when singleton is undefined",
        zeroes="every token of a group whose outcomes are all equal",
        reference_code="none used; worked numbers from the formula",
        methodology="temporal-difference",
        evidence="notes",
        edge="after its last shared token an answer has GRPO's advantage; ending where others go on is a "
        "branch, but has no token of its own; branches that lead to equal means get GRPO's advantage; a term "
        "outside the loss is lost",
        caveats="the term is in units of the outcome, GRPO's part in deviations, so their balance depends on "
        "std; sampled at temperature 1, long answers part within a few tokens and little but the first "
        "branch is corrected; with actions in place of token ids, and with states told apart where a turn "
        "begins, it is our extension to many turns",
    ),
)
