"""What the plan of the inference must hold: looks that spend the level, families in an order that can be judged."""

from collections.abc import Callable, Iterator

from equipoise_preregistration.analysis import ARMS_OF, Kind
from equipoise_preregistration.draft import Draft
from equipoise_preregistration.experiment import Arms
from equipoise_preregistration.faults import Problem

__all__ = ["ANALYSIS_CHECKS", "arms_run"]


def looks_are_blocks(draft: Draft) -> Iterator[Problem]:
    """The data are looked at after increasing numbers of blocks, at last after all of them."""
    if draft.analysis is None or draft.blocks is None or not draft.analysis.looks:
        return
    looks, blocks = draft.analysis.looks, draft.blocks
    before = 0
    for index, look in enumerate(looks):
        if look > blocks:
            message = f"expected a look at or before the last block ({blocks}), got {look}"
            yield Problem(("analysis", "looks", index), message)
        elif look <= before:
            message = f"expected looks in increasing order, got {look} after {before}"
            yield Problem(("analysis", "looks", index), message)
        before = max(look, before)
    if max(looks) < blocks:
        message = f"expected the last look after the last block ({blocks}), got {max(looks)}; append {blocks}"
        yield Problem(("analysis", "looks"), message)


def looks_spend_the_level(draft: Draft) -> Iterator[Problem]:
    """Several looks share one level, and each of them has an error to test with."""
    if draft.analysis is None:
        return
    looks, spending = draft.analysis.looks, draft.analysis.spending
    if spending == "none":
        if len(looks) > 1:
            message = (
                f"expected obf, pocock or e-process with {len(looks)} looks, got 'none'; "
                "looks that do not share the level claim too much"
            )
            yield Problem(("analysis", "spending"), message)
        return
    if not looks:
        message = f"expected at least one look with `spending: {spending}`, got none; write them or `spending: none`"
        yield Problem(("analysis", "looks"), message)
    elif looks[0] < 2:
        message = f"expected the first look after 2 blocks or more, got {looks[0]}; one block has no error"
        yield Problem(("analysis", "looks", 0), message)
    engine = draft.analysis.engine
    if spending == "e-process" and engine in ("exact-stratum", "both"):
        message = (
            f"expected paired or auto with `spending: e-process`, got '{engine}'; its evidence is that of "
            "differences within blocks"
        )
        yield Problem(("analysis", "engine"), message)


def gates_can_open(draft: Draft) -> Iterator[Problem]:
    """The families stand in an order that begins with the primary one, each once, each about arms that run."""
    if draft.analysis is None or not draft.analysis.gatekeeping:
        return
    order, primary = draft.analysis.gatekeeping, draft.analysis.primary
    if order[0] != primary:
        message = f"expected the primary family ({primary}) first, got {order[0]!r}"
        yield Problem(("analysis", "gatekeeping", 0), message)
    for index, kind in enumerate(order):
        place = ("analysis", "gatekeeping", index)
        if kind in order[:index]:
            yield Problem(place, f"expected each family once, got {kind!r} again")
        elif draft.arms is not None:
            yield from arms_run(place, kind, draft.arms)


def arms_run(place: tuple[str | int, ...], kind: Kind, arms: Arms) -> Iterator[Problem]:
    """The arms of a contrast are switched on."""
    off = [name for name in ARMS_OF[kind] if not getattr(arms, name)]
    if off:
        message = f"expected the arms that {kind} is made of ({', '.join(ARMS_OF[kind])}) to run, got "
        yield Problem(place, f"{message}{' and '.join(off)} switched off; switch on arms.{off[0]}")


ANALYSIS_CHECKS: tuple[Callable[[Draft], Iterator[Problem]], ...] = (
    looks_are_blocks,
    looks_spend_the_level,
    gates_can_open,
)
"""Those of the section `analysis`, in the order of their messages."""
