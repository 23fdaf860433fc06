"""Classical hindsight credit assignment: the action's probability in hindsight against the policy's."""

from dataclasses import dataclass

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import discounted
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import GAMMA
from equipoise_conditions.rules.counterfactual.hindsight_ratio import LIMIT, PROBABILITY, log_ratio
from equipoise_conditions.trajectories import Trajectories

__all__ = ["HCA", "HindsightUpdate", "hca", "return_hca_update", "return_weight", "state_hca_update"]


def return_weight(ratio: FloatArray) -> FloatArray:
    """Return 1 - pi/h, what return-conditional HCA multiplies a return by, from the ratio pi/h."""
    return 1.0 - ratio


@dataclass(frozen=True, eq=False)
class HindsightUpdate:
    """What one trajectory adds to tabular parameters.

    Attributes:
        dlogits: (S, A) to the policy's logits.
        dV: (S,) to the state values, which start at 0.
        dlogits_h: (A, S, X) to the logits of the hindsight distribution.
    """

    dlogits: FloatArray
    dV: FloatArray  # noqa: N815 - the paper's name
    dlogits_h: FloatArray


def state_hca_update(
    pi: FloatArray,
    h: FloatArray,
    states: IntArray,
    actions: IntArray,
    rewards: FloatArray,
    gamma: float,
) -> HindsightUpdate:
    """Return the update of state-conditional HCA, which credits every action of each state that was met.

    Action a of step i gets sum over j >= i of gamma^(j-i) r_j (h(a | x_i, x_j) - pi(a | x_i)); j = i is included.

    Source: Harutyunyan et al. 2019 (arXiv 1912.02503), as its authors' tabular code sums it.

    Args:
        pi: (S, A) policy.
        h: (A, S, S) probability of the action in the first state given that the second follows.
        states: (T,) states met.
        actions: (T,) actions taken.
        rewards: (T,) rewards received.
        gamma: discount per step.

    Raises:
        RuleError: when the steps do not agree in number.
    """
    returns, weight = _returns(states, actions, rewards, gamma)
    here, later = np.triu_indices(states.size)
    factor = h[:, states[here], states[later]].T - pi[states[here]]
    credit = np.zeros((states.size, pi.shape[1]))
    np.add.at(credit, here, weight[here, later, None] * factor)
    return HindsightUpdate(
        _on_logits(pi, states, credit),
        _on_values(pi, states, returns),
        _on_hindsight(h, actions[here], states[here], states[later]),
    )


def return_hca_update(
    pi: FloatArray,
    h: FloatArray,
    return_bins: FloatArray,
    states: IntArray,
    actions: IntArray,
    rewards: FloatArray,
    gamma: float,
) -> HindsightUpdate:
    """Return the update of return-conditional HCA, which credits the action taken with G (1 - pi/h).

    Source: as for `state_hca_update`. Where h is 0 the numbers are infinite or NaN, as in that code: the
    rule `hca` gives no credit there.

    Args:
        pi: (S, A) policy.
        h: (A, S, B) probability of the action given the state and the bin of the return.
        return_bins: (B,) returns that stand for the bins; the nearest wins, the first of two.
        states: (T,) states met.
        actions: (T,) actions taken.
        rewards: (T,) rewards received.
        gamma: discount per step.

    Raises:
        RuleError: when the steps do not agree in number.
    """
    returns, _ = _returns(states, actions, rewards, gamma)
    bins = np.abs(return_bins[None, :] - returns[:, None]).argmin(axis=1)
    credit = np.zeros((states.size, pi.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = pi[states, actions] / h[actions, states, bins]
        credit[np.arange(states.size), actions] = returns * return_weight(ratio)
        dlogits = _on_logits(pi, states, credit)
    return HindsightUpdate(dlogits, _on_values(pi, states, returns), _on_hindsight(h, actions, states, bins))


def hca(
    trajectories: Trajectories,
    context: Context,
    *,
    version: str = "return",
    gamma: float = 0.95,
    probability: str = "action",
    limit: float = 0.0,
) -> Credit:
    """Return (T,) A_t = G_t (1 - pi/h), or G_t (h/pi - 1) in the state version.

    Source: Harutyunyan et al. 2019 (arXiv 1912.02503), with h(a | s, outcome) of a language model that is
    told the outcome in words.

    Args:
        trajectories: the batch; forks are not examples.
        context: `outcome_scores` are read; where one is NaN or -inf (h = 0) the turn is NOT_MEASURED.
        version: "return" or "state".
        gamma: discount per turn of G_t, over the turn rewards.
        probability: whether pi and h are of the whole "action" or a "token"'s geometric mean.
        limit: greatest pi/h ("return") or h/pi ("state"); 0 for none.

    Raises:
        RuleError: when the scores are of another batch.
    """
    scores = context.column(Need.OUTCOME_SCORES, trajectories.n_turns)
    log = log_ratio(trajectories, scores, probability=probability)
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = np.exp(-log if version == "return" else log)
        if limit > 0.0:
            ratio = np.minimum(ratio, limit)
        weight = return_weight(ratio) if version == "return" else ratio - 1.0
        value = discounted(trajectories.reward, trajectories.turn_offsets, gamma) * weight
    reason = on_collected(trajectories)
    missing = (reason == Reason.DEFINED) & ~np.isfinite(value)
    return credit_where(value, np.where(missing, int(Reason.NOT_MEASURED), reason))


def _returns(
    states: IntArray, actions: IntArray, rewards: FloatArray, gamma: float
) -> tuple[FloatArray, FloatArray]:
    """Return (T,) discounted returns and the (T, T) discounted rewards gamma^(j-i) r_j that they sum."""
    if not states.size == actions.size == rewards.size:
        sizes = (states.size, actions.size, rewards.size)
        message = f"expected one state, action and reward a step, got {sizes}"
        raise RuleError(message)
    step = np.arange(states.size)
    ahead = np.maximum(step[None, :] - step[:, None], 0)
    weight = np.triu(gamma**ahead * rewards[None, :])
    return weight.sum(axis=1), weight


def _on_logits(pi: FloatArray, states: IntArray, credit: FloatArray) -> FloatArray:
    """Return (S, A) the sum over steps of the softmax gradient that carries credit of actions to logits."""
    dlogits = np.zeros_like(pi)
    np.add.at(dlogits, states, credit)
    np.subtract.at(dlogits, states, pi[states] * credit.sum(axis=1, keepdims=True))
    return dlogits


def _on_values(pi: FloatArray, states: IntArray, returns: FloatArray) -> FloatArray:
    value = np.zeros(pi.shape[0])
    np.add.at(value, states, returns)
    return value


def _on_hindsight(h: FloatArray, actions: IntArray, states: IntArray, known: IntArray) -> FloatArray:
    """Return (A, S, X) the sum over steps of the gradient of log h(action | state, what is known)."""
    dlogits = np.zeros_like(h)
    np.add.at(dlogits, (actions, states, known), 1.0)
    every = np.arange(h.shape[0])[:, None]
    np.subtract.at(dlogits, (every, states[None, :], known[None, :]), h[:, states, known])
    return dlogits


HCA = Rule(
    name="hca",
    assign=hca,
    needs=frozenset({Need.OUTCOME_SCORES}),
    parameters=(
        Parameter("version", "return", ("return", "state"), "condition on the return, or on a later state"),
        GAMMA,
        PROBABILITY,
        LIMIT,
    ),
    card=Card(
        name="hca",
        title="Hindsight credit assignment (HCA)",
        formula="A_t = G_t (1 − π(a_t)/h(a_t | outcome)); state version: A_t = G_t (h(a_t | outcome)/π(a_t) − 1)",
        source="Harutyunyan et al. 2019, arXiv 1912.02503",
        granularity="turn",
        methodology="counterfactual",
        evidence="code",
        cost="one scoring pass for each turn, its prompt enlarged by the outcome told in words",
        extra_forward="T",
        drops="turns without a score, or to whose action hindsight gives no probability (π/h would be infinite)",
        zeroes="turns whose return is 0, so every turn of a failure without rewards; actions as likely in hindsight "
        "as before",
        edge="one turn is no special case; a probability of 0 or a ratio beyond floating point is undefined "
        "credit, never a large number; tokens outside the loss do not enter π",
        caveats="The paper learns h; here the policy itself is asked, and is only as good an h as it understands "
        "the outcome. In the state version the outcome stands for the later states, and only the action taken is "
        "credited where the paper credits all: since the trajectory already speaks for that action, the "
        "expectation is not the advantage. Ratios of long actions have heavy tails: see limit and probability. "
        "Not HCAPO, whose ratio is within a trajectory and never divides by π.",
        reference_code="hca-neurips2019/hca 3a564ad6 hca_classes.py (tabular updates)",
    ),
)
