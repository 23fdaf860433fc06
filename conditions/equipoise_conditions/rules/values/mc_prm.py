"""AgentPRM of Choudhury: the mean outcome of all visits of a history and an action, discounted."""

from itertools import pairwise

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, on_collected
from equipoise_conditions.groups import codes, codes_within
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, GAMMA, STD, WHITEN
from equipoise_conditions.rules.values.backups import Whitening, measured_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["MC_PRM", "history_codes", "mc_prm", "visit_counts"]


def mc_prm(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    gamma: float = 0.95,
    discount_from: str = "start",
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
) -> Credit:
    """Return q = (1 + mean over visits of gamma^t (2 R - 1)) / 2 for each history with its action.

    Visits are the turns of collected trajectories of one task with equal states and actions up to and with
    this one. Source: Choudhury 2025 (arXiv 2502.10325), the authors' code.

    Args:
        trajectories: the batch; forked trajectories are neither visits nor examples.
        context: not read.
        gamma: discount per turn.
        discount_from: "start" counts t from the first turn, as the authors' code does; "end" counts the
            turns that were left, as a discounted return does.
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
    """
    code, n_codes = history_codes(trajectories)
    index, trajectory = trajectories.turn_index, trajectories.trajectory_of_turn
    exponent = index if discount_from == "start" else trajectories.lengths[trajectory] - 1 - index
    target = gamma**exponent * (2.0 * trajectories.outcome[trajectory] - 1.0)
    use = trajectories.collected[trajectory]
    count = np.bincount(code[use], minlength=n_codes)
    total = np.bincount(code[use], target[use], n_codes)
    mean = np.divide(total, count, out=np.zeros(n_codes), where=count > 0)
    value: FloatArray = 0.5 * (mean[code] + 1.0)
    return measured_credit(
        trajectories,
        value,
        on_collected(trajectories),
        whitening=Whitening(whiten, std, eps, eps_inside),
    )


def history_codes(trajectories: Trajectories) -> tuple[IntArray, int]:
    """Return (T,) codes, equal where task, all states and all actions up to the turn are, and their number.

    One pass a depth: turns of a depth are told apart by the code of the turn before and their own move.
    """
    index = trajectories.turn_index
    state, _ = codes(trajectories.state)
    action, n_actions = codes(trajectories.action)
    move = state * n_actions + action
    order = np.argsort(index, kind="stable")
    depths = np.searchsorted(index[order], np.arange(int(index.max()) + 2)).tolist()
    result, used = np.zeros(trajectories.n_turns, dtype=np.int64), 0
    for begin, end in pairwise(depths):
        turns = order[begin:end]
        before = result[turns - 1] if begin else trajectories.task_of_turn[turns]
        code, n_codes = codes_within(move[turns], before)
        result[turns] = used + code
        used += n_codes
    return result, used


def visit_counts(trajectories: Trajectories) -> IntArray:
    """Return (T,) how many collected turns share each turn's history and action."""
    code, n_codes = history_codes(trajectories)
    use = trajectories.collected[trajectories.trajectory_of_turn]
    return np.bincount(code[use], minlength=n_codes)[code].astype(np.int64)


MC_PRM = Rule(
    name="mc_prm",
    assign=mc_prm,
    needs=frozenset(),
    parameters=(
        GAMMA,
        Parameter(
            "discount_from",
            "start",
            ("start", "end"),
            "count the discount from the first turn, as the authors' code does, or back from the last",
        ),
        WHITEN,
        STD,
        EPS,
        EPS_INSIDE,
    ),
    presets={"agent_prm": {"discount_from": "start", "whiten": "none"}},
    card=Card(
        name="mc_prm",
        title="Monte-Carlo process targets (AgentPRM, Choudhury)",
        formula="q(h, a) = ½(1 + mean over visits of γ^t (2R − 1)), t counted from the first turn",
        source="Choudhury 2025, arXiv 2502.10325",
        granularity="turn",
        cost="none beyond the collected trajectories; the authors train a process reward model on these targets",
        drops="nothing collected",
        zeroes="first moves that only ever led to outcome 0",
        reference_code="sanjibanc/agent_prm e4714717 scripts/dataproc/compute_prm_target.py",
        methodology="monte-carlo",
        evidence="code",
        edge=(
            "a history seen once gives its own discounted outcome. Outcomes outside 0 to 1 go through the same "
            "affine map. Whitening fewer than two turns is refused"
        ),
        caveats=(
            "with t from the start a late turn is discounted more than an early one, the reverse of a discounted "
            "return, and targets shrink towards ½ as t grows; at γ = 1 both are the plain mean. Targets run from "
            "0 to 1 and no baseline is subtracted: no credit is negative unless whitened. Not the AgentPRM of "
            "arXiv 2511.08325, which is rule agent_prm"
        ),
    ),
)
