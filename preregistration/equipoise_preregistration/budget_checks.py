"""What must hold inside a budget, and between it and the rest of a suite, as far as it can be known beforehand."""

from collections.abc import Callable, Iterator, Mapping

from equipoise_preregistration.draft import Draft
from equipoise_preregistration.experiment import Arms, Condition
from equipoise_preregistration.faults import Problem

__all__ = ["BUDGET_CHECKS"]

_ALWAYS = ("examples", "optimizer_steps")
_GIVEN = ("effective_sample_size", "displacement")
"""Axes whose target has no default."""

_MOVING = ("position", "across")
"""Twins that move credit from one trajectory to another."""


def budget_is_whole(draft: Draft) -> Iterator[Problem]:
    """Every optimizer step gets the same number of examples."""
    budget = draft.budget
    if budget is None or budget.examples % budget.optimizer_steps == 0:
        return
    steps, batch = budget.optimizer_steps, budget.examples // budget.optimizer_steps
    near = [f"{batch * steps} (batch {batch})"] if batch else []
    near.append(f"{(batch + 1) * steps} (batch {batch + 1})")
    message = (
        f"expected a multiple of optimizer_steps ({steps}), got {budget.examples}, which leaves "
        f"{budget.examples % steps} over; the nearest are {' and '.join(near)}"
    )
    yield Problem(("budget", "examples"), message)


def budget_is_shared_by_rounds(draft: Draft) -> Iterator[Problem]:
    """Slots, steps and tokens are totals, of which every round gets the same whole share."""
    budget, collection = draft.budget, draft.collection
    if budget is None or collection is None:
        return
    rounds = collection.rounds
    totals: tuple[tuple[tuple[str, ...], int | None], ...] = (
        (("examples",), budget.examples),
        (("optimizer_steps",), budget.optimizer_steps),
        (("targets", "tokens"), budget.targets.tokens),
    )
    for name, total in totals:
        if total is not None and total % rounds:
            below = total - total % rounds
            near = " and ".join(str(value) for value in (below, below + rounds) if value)
            message = (
                f"expected a multiple of collection.rounds ({rounds}), for it is the total of all rounds, got {total}; "
                f"the nearest are {near}"
            )
            yield Problem(("budget", *name), message)


def rounds_fit_the_axes(draft: Draft) -> Iterator[Problem]:
    """Axes that are no sums over rounds cannot be shared out over them."""
    budget, collection = draft.budget, draft.collection
    if budget is None or collection is None or collection.rounds == 1:
        return
    if "displacement" in budget.match:
        message = (
            f"expected an axis that rounds can share, got displacement with {collection.rounds} rounds of collection: "
            "how far each moves the policy does not add up; match it with `rounds: 1`, or take it out"
        )
        yield Problem(("budget", "match", budget.match.index("displacement")), message)
    if "effective_sample_size" in budget.match and "weight_mass" not in budget.match:
        message = (
            "expected weight_mass beside it where there are several rounds, got effective_sample_size alone: the "
            "effective sample sizes of rounds add up only if their weight masses are equal; add weight_mass"
        )
        yield Problem(("budget", "match", budget.match.index("effective_sample_size")), message)


def budget_can_be_reached(draft: Draft) -> Iterator[Problem]:
    """No fill can show more slots than all distinct examples, each at its highest repetition; padding needs none."""
    budget, environment, collection = draft.budget, draft.environment, draft.collection
    if budget is None or environment is None or collection is None or budget.under == "pad":
        return
    refilled = budget.under == "refill"
    rollouts = collection.rollouts_per_task + (budget.refill.cap if refilled else 0)
    distinct = environment.tasks.pool * rollouts * environment.horizon * collection.rounds
    most = distinct if refilled else distinct * budget.max_repetition
    if budget.examples <= most:
        return
    often = (
        f"and refill, capped at {budget.refill.cap} rollouts a task, shows each once; lower examples, collect more, "
        "or raise budget.refill.cap"
        if refilled
        else f"and each may be shown {budget.max_repetition} times; lower examples, collect more, or raise "
        "budget.max_repetition"
    )
    message = (
        f"expected at most {most}, got {budget.examples}: {environment.tasks.pool} tasks x {rollouts} rollouts x "
        f"{environment.horizon} turns{_of(collection.rounds)} are at most {distinct} distinct examples, {often}"
    )
    yield Problem(("budget", "examples"), message)


def _of(rounds: int) -> str:
    return f" x {rounds} rounds" if rounds > 1 else ""


def axes_are_matched_once(draft: Draft) -> Iterator[Problem]:
    """Slots and steps are always matched, and no axis is named twice."""
    budget = draft.budget
    if budget is None:
        return
    missing = [axis for axis in _ALWAYS if axis not in budget.match]
    if missing:
        message = (
            f"expected examples and optimizer_steps among the axes, which are always exact, got "
            f"{list(budget.match)}; add {' and '.join(missing)}"
        )
        yield Problem(("budget", "match"), message, at_key=True)
    for index, axis in enumerate(budget.match):
        if axis in budget.match[:index]:
            message = f"expected each axis once, got {axis!r} again; take it out"
            yield Problem(("budget", "match", index), message)


def targets_belong_to_axes(draft: Draft) -> Iterator[Problem]:
    """A target is one of a matched axis, and an axis without a default has one."""
    budget = draft.budget
    if budget is None:
        return
    for axis, value in budget.targets:
        if value is not None and axis not in budget.match:
            message = f"expected no target of what is not matched, got {value:g}; add {axis} to budget.match"
            yield Problem(("budget", "targets", axis), message)
        if value is None and axis in budget.match and axis in _GIVEN:
            message = f"expected a target of {axis}, which has no default, got none; write `{axis}: ...`"
            yield Problem(("budget", "targets"), message, at_key=True)


def targets_can_be_reached(draft: Draft) -> Iterator[Problem]:
    """Targets that no plan of so many slots, or of so many trajectories, can meet."""
    budget, environment, collection = draft.budget, draft.environment, draft.collection
    if budget is None:
        return
    tokens, effective = budget.targets.tokens, budget.targets.effective_sample_size
    if tokens is not None and tokens < budget.examples:
        message = (
            f"expected at least {budget.examples}, one token for each slot, got {tokens}; raise it, or lower "
            "budget.examples"
        )
        yield Problem(("budget", "targets", "tokens"), message)
    if effective is None or environment is None or collection is None:
        return
    rollouts = collection.rollouts_per_task + (budget.refill.cap if budget.under == "refill" else 0)
    most = min(environment.tasks.pool * rollouts * collection.rounds, budget.examples)
    if effective < collection.rounds:
        message = (
            f"expected at least {collection.rounds}, one trajectory in each round (collection.rounds), got "
            f"{effective:g}; raise it"
        )
        yield Problem(("budget", "targets", "effective_sample_size"), message)
    if effective > most:
        message = (
            f"expected at most {most}, got {effective:g}: {environment.tasks.pool} tasks x {rollouts} rollouts"
            f"{_of(collection.rounds)} and {budget.examples} slots hold no more trajectories"
        )
        yield Problem(("budget", "targets", "effective_sample_size"), message)


def fills_fit_the_axes(draft: Draft) -> Iterator[Problem]:
    """A fill that leaves no choice of examples cannot meet an axis that needs one."""
    budget = draft.budget
    if budget is None:
        return
    if budget.under == "pad" and budget.max_repetition not in (
        1,
        type(budget).model_fields["max_repetition"].default,
    ):
        message = (
            f"expected none beside `under: pad`, which repeats nothing, got {budget.max_repetition}; take it out, or "
            "fill with resample or cycle"
        )
        yield Problem(("budget", "max_repetition"), message)
    if "tokens" not in budget.match:
        return
    if budget.under == "pad":
        message = "expected resample, cycle or refill where tokens are matched, got pad, which adds none to the signal"
        yield Problem(("budget", "under"), message)
    if budget.over == "keep_largest":
        message = (
            "expected thin where tokens are matched, got keep_largest, which leaves no choice of examples"
        )
        yield Problem(("budget", "over"), message)


def twins_keep_the_axes(draft: Draft) -> Iterator[Problem]:
    """A twin that moves credit between trajectories changes their effective sample size."""
    budget, arms = draft.budget, draft.arms
    if budget is None or "effective_sample_size" not in budget.match or arms is None or not arms.twins:
        return
    for path, kind in _kinds(arms, draft.conditions):
        if kind in _MOVING:
            message = (
                f"expected a twin that keeps each trajectory's weight where effective_sample_size is matched, got "
                f"{kind}; choose within, anywhere or sign"
            )
            yield Problem(path, message)


def _kinds(arms: Arms, conditions: Mapping[int, Condition]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if any(condition.twin is None for condition in conditions.values()):
        yield ("arms", "twin"), arms.twin
    for index, condition in conditions.items():
        if condition.twin is not None:
            yield ("conditions", index, "twin"), condition.twin


def generation_is_limited(draft: Draft) -> Iterator[Problem]:
    """Both sides can be matched only where both have a budget."""
    budget = draft.budget
    if budget is None or not budget.doubly:
        return
    if not budget.generation.limits:
        message = (
            "expected a limit in budget.generation where both sides are matched, got none; write "
            "`generation: {rollout_tokens: ...}`, or `doubly: false`"
        )
        yield Problem(("budget", "doubly"), message)


BUDGET_CHECKS: tuple[Callable[[Draft], Iterator[Problem]], ...] = (
    budget_is_whole,
    budget_is_shared_by_rounds,
    budget_can_be_reached,
    axes_are_matched_once,
    targets_belong_to_axes,
    targets_can_be_reached,
    fills_fit_the_axes,
    rounds_fit_the_axes,
    twins_keep_the_axes,
    generation_is_limited,
)
"""All checks of the budget, in the order of their messages."""
