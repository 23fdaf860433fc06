"""How many more trajectories a rule needs until it leaves as many examples as there are slots."""

from equipoise_budget.errors import BudgetError, BudgetRefused

__all__ = ["further_rollouts"]


def further_rollouts(examples: int, slots: int, rollouts: int, *, spent: int, cap: int) -> int:
    """Return how many more rollouts a task to collect before the rule is applied again; 0 when it leaves enough.

    The number is what the yield so far makes likely to suffice, so that few waves are needed: examples / rollouts is
    what one rollout of every task leaves. A rule that has left nothing gets as many again. Every task gets the same
    number, so that the mix of tasks stays what was registered.

    Args:
        examples: what the rule leaves of everything collected so far.
        slots: what it is to leave.
        rollouts: collected for each task so far, refills included.
        spent: of them, refills.
        cap: most refills a task.

    Raises:
        BudgetRefused: when there are too few examples and the cap is spent.
    """
    if min(examples, spent, cap) < 0 or slots < 1 or rollouts < 1:
        message = (
            f"refill: expected counts, slots and rollouts of at least 1, got {examples} examples, {slots} slots, "
            f"{rollouts} rollouts, {spent} spent of {cap}"
        )
        raise BudgetError(message)
    if examples >= slots:
        return 0
    if spent >= cap:
        message = (
            f"refill: expected {slots} examples, got {examples} from {rollouts} rollouts a task, {spent} of them "
            f"refills, which is all that the cap allows; raise budget.refill.cap, or lower budget.examples"
        )
        raise BudgetRefused(message)
    likely = -(-(slots - examples) * rollouts // examples) if examples else rollouts
    return min(likely, cap - spent)
