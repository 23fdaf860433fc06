"""ArCHer: an utterance-level critic's Q minus its V."""

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, on_collected
from equipoise_conditions.rule import Card, Rule
from equipoise_conditions.rules.common import EPS, EPS_INSIDE, STD, WHITEN
from equipoise_conditions.rules.values.backups import Whitening, measured_credit
from equipoise_conditions.trajectories import Trajectories

__all__ = ["ARCHER", "archer"]


def archer(
    trajectories: Trajectories,
    context: Context,
    *,
    whiten: str = "none",
    std: str = "sample",
    eps: float = 1e-6,
    eps_inside: bool = False,
) -> Credit:
    """Return A_t = Q(s_t, a_t) - V(s_t). Source: Zhou et al. 2024 (arXiv 2402.19446) and the authors' code.

    Args:
        trajectories: the batch; forked trajectories get no credit and are not whitened with.
        context: holds Q as step scores and V as values.
        whiten: "none", "batch" or "group".
        std: divisor when whitening.
        eps: added to it.
        eps_inside: add `eps` to the variance instead.
    """
    quality = context.column(Need.STEP_SCORES, trajectories.n_turns)
    value = context.column(Need.VALUES, trajectories.n_turns)
    return measured_credit(
        trajectories,
        quality - value,
        on_collected(trajectories),
        whitening=Whitening(whiten, std, eps, eps_inside),
    )


ARCHER = Rule(
    name="archer",
    assign=archer,
    needs=frozenset({Need.STEP_SCORES, Need.VALUES}),
    parameters=(WHITEN, STD, EPS, EPS_INSIDE),
    card=Card(
        name="archer",
        title="Utterance-level critic (ArCHer)",
        formula="A_t = Q(s_t, a_t) − V(s_t), same for every token of the turn",
        source="Zhou et al. 2024, arXiv 2402.19446",
        granularity="turn",
        cost="two critics with target copies, trained off-policy from a replay buffer",
        drops="nothing collected; undefined where Q or V was not estimated",
        zeroes="turns whose Q equals V",
        reference_code="YifeiZhou02/ArCHer 1bcbf806 archer/algorithms/archer/trainer.py (read, not run)",
        methodology="temporal-difference",
        evidence="code",
        extra_forward="2·T critic passes, and the critics' training",
        edge="nothing is read of outcome or reward: a trajectory's own result counts only through the critic",
        caveats=(
            "the authors take the lesser of two Qs minus the lesser of two Vs: the scores and values given must "
            "already be that. They train the actor on actions drawn anew from the policy at the buffer's states; "
            "here credit goes to the actions of the batch. RAGEN's variant whitens it (whiten: batch)"
        ),
    ),
)
