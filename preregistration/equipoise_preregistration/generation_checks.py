"""Limits of generation that not even one prompt, or not the common budget, can keep to: refused before a run."""

from collections.abc import Callable, Iterator

from equipoise_preregistration.draft import Draft
from equipoise_preregistration.faults import Problem

__all__ = ["GENERATION_CHECKS", "SHORTEST", "too_little"]

SHORTEST = 4
"""Tokens of the shortest rollout there is: its beginning, the mark of an action, one word, the end of the action."""


def too_little(name: str, limit: float, least: float, why: str) -> Problem:
    """The fault of a limit that is passed by whatever is generated.

    Args:
        name: of `budget.generation`.
        limit: as written.
        least: what one prompt costs at the least.
        why: where that number comes from.
    """
    message = (
        f"expected at least {least:.15g}, got {limit:.15g}: {why}; raise it, lower collection.rollouts_per_task, or "
        "write null for no limit"
    )
    return Problem(("budget", "generation", name), message)


def a_prompt_is_affordable(draft: Draft) -> Iterator[Problem]:
    """All rollouts of one prompt are played or none is: each takes one step, and a few tokens, at the least."""
    if draft.budget is None or draft.collection is None:
        return
    generation, rollouts = draft.budget.generation, draft.collection.rollouts_per_task
    steps, tokens = generation.environment_steps, generation.rollout_tokens
    group = f"one prompt is played {rollouts} times (collection.rollouts_per_task)"
    if steps is not None and steps < rollouts:
        why = f"{group}, and each takes at least one environment step"
        yield too_little("environment_steps", steps, rollouts, why)
    if tokens is not None and tokens < SHORTEST * rollouts:
        why = f"{group}, and each has at least {SHORTEST} tokens"
        yield too_little("rollout_tokens", tokens, SHORTEST * rollouts, why)


def limits_hold_somewhere(draft: Draft) -> Iterator[Problem]:
    """A limit that no cell keeps to would be registered and mean nothing."""
    budget, arms = draft.budget, draft.arms
    if budget is None or arms is None or budget.doubly or arms.native:
        return
    if budget.generation.limits:
        message = (
            "expected an arm that keeps to the limits, got none: matched and twin cells keep to them with "
            "`doubly: true`, and native cells, which always do, are switched off; set one of the two, or take the "
            "limits out"
        )
        yield Problem(("budget", "generation"), message, at_key=True)


def both_sides_can_be_met(draft: Draft) -> Iterator[Problem]:
    """An example is a turn that was played: a limit of steps is one of examples, and so of slots."""
    budget, collection = draft.budget, draft.collection
    if budget is None or collection is None or not budget.doubly or budget.under == "pad":
        return
    steps = budget.generation.environment_steps
    if steps is None or steps < collection.rollouts_per_task:
        return
    shown = 1 if budget.under == "refill" else budget.max_repetition
    slots = budget.examples // collection.rounds
    if slots <= steps * shown:
        return
    often = f"each shown {shown} times at most" if shown > 1 else "each shown once"
    of = "a round's share of examples" if collection.rounds > 1 else "examples"
    message = (
        f"expected at least {-(-slots // shown)} where `doubly: true`, got {steps}: {steps} steps are at most {steps} "
        f"different examples, {often}, and {of} is {slots}; raise it, or lower examples"
    )
    yield Problem(("budget", "generation", "environment_steps"), message)


GENERATION_CHECKS: tuple[Callable[[Draft], Iterator[Problem]], ...] = (
    a_prompt_is_affordable,
    limits_hold_somewhere,
    both_sides_can_be_met,
)
"""All checks of the generation side, in the order of their messages."""
