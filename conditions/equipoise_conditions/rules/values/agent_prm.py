"""AgentPRM of Xi et al.: promise and progress by temporal differences of a turn's own value."""

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, on_collected
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, GAMMA, STD, WHITEN
from equipoise_conditions.rules.values.backups import LAM, Whitening, measured_credit
from equipoise_conditions.rules.values.gae import turn_returns
from equipoise_conditions.trajectories import Trajectories

__all__ = ["AGENT_PRM", "agent_prm"]


def agent_prm(  # noqa: PLR0913 - one keyword for each parameter of the rule
    trajectories: Trajectories,
    context: Context,
    *,
    gamma: float = 0.95,
    lam: float = 0.95,
    label: str = "progress",
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
) -> Credit:
    """Return progress A_t = sum_k (gamma lam)^k delta_{t+k}, or promise A_t + Q_t.

    delta_t = r_t + gamma Q_{t+1} - Q_t with Q of the actions taken. Source: Xi et al. 2025 (arXiv 2511.08325).

    Args:
        trajectories: the batch; forked trajectories get no credit and are not whitened with.
        context: `step_scores` is read as the promise Q(s_t, a_t).
        gamma: discount per turn.
        lam: decay of later differences.
        label: "progress" (the advantage) or "promise" (what the model's Q is trained towards).
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
    """
    promise = context.column(Need.STEP_SCORES, trajectories.n_turns)
    value = turn_returns(trajectories, promise, gamma=gamma, lam=lam)
    if label == "progress":
        value = value - promise
    return measured_credit(
        trajectories,
        value,
        on_collected(trajectories),
        whitening=Whitening(whiten, std, eps, eps_inside),
    )


AGENT_PRM = Rule(
    name="agent_prm",
    assign=agent_prm,
    needs=frozenset({Need.STEP_SCORES}),
    parameters=(
        GAMMA,
        LAM,
        Parameter(
            "label",
            "progress",
            ("progress", "promise"),
            "credit is the progress (advantage), or the promise (the target of Q)",
        ),
        WHITEN,
        STD,
        EPS,
        EPS_INSIDE,
    ),
    card=Card(
        name="agent_prm",
        title="Promise and progress (AgentPRM, Xi et al.)",
        formula="progress A_t = Σ_k (γλ)^k δ_{t+k}, δ_t = r_t + γ Q_{t+1} − Q_t; promise A_t + Q_t",
        source="Xi et al. 2025, arXiv 2511.08325",
        granularity="turn",
        cost="training a process reward model, then one scoring pass a turn; no rollouts",
        drops="nothing collected; undefined where a value that the sum reads was not estimated",
        zeroes="turns whose promise was borne out exactly",
        reference_code="none released; worked numbers from the formula",
        methodology="temporal-difference",
        evidence="notes",
        extra_forward="T scoring passes, and the scorer's training",
        edge="one turn: its reward minus its promise. Whitening fewer than two turns is refused",
        caveats=(
            "the number of a turn is its Q, with the action taken in it, where gae_turn reads V from before the "
            "action: the formula is the same, the estimate is not. Another AgentPRM (arXiv 2502.10325) labels by "
            "Monte Carlo: rule mc_prm. The authors' eightfold saving is that of labels, not of training"
        ),
    ),
)
