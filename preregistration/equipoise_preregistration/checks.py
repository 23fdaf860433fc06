"""What must hold between the sections of a suite; every check names the value to mend."""

from collections.abc import Callable, Iterator
from contextlib import suppress

from equipoise_preregistration.analysis import ARMS_OF
from equipoise_preregistration.analysis_checks import ANALYSIS_CHECKS, arms_run
from equipoise_preregistration.budget_checks import BUDGET_CHECKS
from equipoise_preregistration.draft import Draft
from equipoise_preregistration.experiment import Condition
from equipoise_preregistration.faults import Problem, nearest
from equipoise_preregistration.generation_checks import GENERATION_CHECKS
from equipoise_preregistration.sections import UnknownValue

__all__ = ["CHECKS", "problems"]


def baseline_is_one(draft: Draft) -> Iterator[Problem]:
    """Exactly one condition is what the others are compared with, and it is no control."""
    baselines = [i for i, condition in draft.conditions.items() if condition.baseline]
    if not baselines and draft.complete:
        message = "expected exactly one condition with `baseline: true`, got none; mark one"
        yield Problem(("conditions",), message, at_key=True)
    for index in baselines[1:]:
        first, here = draft.conditions[baselines[0]].id, draft.conditions[index].id
        message = f"expected exactly one baseline, got {here!r} besides {first!r}; unmark one"
        yield Problem(("conditions", index, "baseline"), message)
    for index in baselines:
        if draft.conditions[index].control is not None:
            message = "expected no control on the baseline, got one; make another condition the control"
            yield Problem(("conditions", index, "control"), message)


def something_is_compared(draft: Draft) -> Iterator[Problem]:
    """A comparison needs two."""
    if draft.complete and len(draft.conditions) == 1:
        message = "expected at least two conditions, got 1; add one to compare with the baseline"
        yield Problem(("conditions",), message, at_key=True)


def identifiers_are_unique(draft: Draft) -> Iterator[Problem]:
    """No two conditions, and no two hypotheses, have one id."""
    for key, items in (("conditions", draft.conditions), ("hypotheses", draft.hypotheses)):
        seen: dict[str, int] = {}
        for index, item in items.items():
            # Ids become file names; some disks do not tell capitals apart.
            folded = item.id.lower()
            if folded in seen:
                message = (
                    f"expected an id that no other has, got {item.id!r}, the id of {key}[{seen[folded]}]"
                )
                yield Problem((key, index, "id"), message)
            else:
                seen[folded] = index


def arms_make_sense(draft: Draft) -> Iterator[Problem]:
    """Twins are compared with matched cells; without any arm nothing runs."""
    arms = draft.arms
    if arms is None or arms.matched:
        return
    if arms.twins:
        message = f"expected 0 twins without the matched arm that they are twins of, got {arms.twins}"
        yield Problem(("arms", "twins"), f"{message}; set `matched: true` or `twins: 0`")
    elif not arms.native:
        yield Problem(("arms",), "expected at least one arm, got none; set `matched: true`", at_key=True)


def success_band_increases(draft: Draft) -> Iterator[Problem]:
    """The base policy needs room to fall into."""
    if draft.policy is None:
        return
    low, high = draft.policy.warm_start.success
    if low >= high:
        message = f"expected [lowest, highest] in increasing order, got [{low:g}, {high:g}]"
        yield Problem(("policy", "warm_start", "success"), message)


def loss_belongs_to_its_path(draft: Draft) -> Iterator[Problem]:
    """The section checks this itself, unless another of its values is faulty."""
    message = None if draft.training is None else draft.training.loss_fault
    if message is not None:
        yield Problem(("training",), message)


def primary_is_measured(draft: Draft) -> Iterator[Problem]:
    """What the claims rest on is evaluated."""
    evaluation = draft.evaluation
    if evaluation is None or evaluation.primary != "held_out":
        return
    if evaluation.held_out_episodes == 0:
        message = "expected at least 1 where `primary: held_out`, got 0"
        yield Problem(("evaluation", "held_out_episodes"), message)
    if draft.environment is not None and draft.environment.tasks.held_out == 0:
        message = "expected at least 1 where `evaluation.primary: held_out`, got 0"
        yield Problem(("environment", "tasks", "held_out"), message)


def hypotheses_can_be_judged(draft: Draft) -> Iterator[Problem]:
    """A hypothesis is about a condition of the suite, and about arms that run."""
    known = {condition.id: condition for condition in draft.conditions.values()}
    for index, hypothesis in draft.hypotheses.items():
        place = ("hypotheses", index, "contrast")
        try:
            about = hypothesis.about
        except ValueError as error:
            yield Problem(place, f"{error}{_nearest_contrast(hypothesis.contrast, known)}")
            continue
        if about.condition in known:
            yield from _about_a_comparison(place, known[about.condition])
        elif draft.named is not None and about.condition not in draft.named:
            message = f"expected one of the conditions {', '.join(draft.named)}, got {about.condition!r}"
            yield Problem(place, message + nearest(about.condition, draft.named))
        if draft.arms is not None:
            yield from arms_run(place, about.kind, draft.arms)


def _nearest_contrast(text: str, conditions: dict[str, Condition]) -> str:
    return nearest(text, (f"{kind}({name})" for kind in ARMS_OF for name in conditions))


def _about_a_comparison(place: tuple[str | int, ...], condition: Condition) -> Iterator[Problem]:
    if condition.baseline:
        message = (
            f"expected a condition that is compared with the baseline, got the baseline {condition.id!r}"
        )
        yield Problem(place, message)


CHECKS: tuple[Callable[[Draft], Iterator[Problem]], ...] = (
    *BUDGET_CHECKS,
    *GENERATION_CHECKS,
    baseline_is_one,
    something_is_compared,
    identifiers_are_unique,
    arms_make_sense,
    *ANALYSIS_CHECKS,
    success_band_increases,
    loss_belongs_to_its_path,
    primary_is_measured,
    hypotheses_can_be_judged,
)
"""All checks, in the order of their messages."""


def problems(draft: Draft) -> tuple[Problem, ...]:
    """Every problem that any check finds; a check ends where it asks for a value that the file has wrong."""
    found: list[Problem] = []
    for check in CHECKS:
        with suppress(UnknownValue):
            # One by one: what was found before the unknown value stays found.
            for problem in check(draft):
                found.append(problem)  # noqa: PERF402
    return tuple(found)
