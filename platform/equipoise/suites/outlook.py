"""What each condition and arm would receive and cost, as far as it can be known before it is run."""

import math
from dataclasses import dataclass
from typing import Any

from equipoise.suites.piloting import Measured, Pilot
from equipoise_preregistration import Suite

__all__ = ["cells_outlook", "outlook_warnings"]

_REPETITION, _PADDING = 4.0, 0.5


def cells_outlook(suite: Suite, pilot: Pilot | None) -> list[dict[str, Any]]:
    """One row for each condition and arm: its budget, and, where a pilot measured it, what will fill it and cost it.

    What is not known is None. Numbers of the pilot are scaled by the rollouts collected in a round. Later rounds are
    taken to leave and cost what the first one does: what policies will have learnt by then is not known.

    Args:
        suite: checked.
        pilot: a run with the same conditions.
    """
    arms = [
        name
        for name, runs in (
            ("native", suite.arms.native),
            ("matched", suite.arms.matched),
            ("twin", suite.arms.twins),
        )
        if runs
    ]
    rows = []
    for condition in suite.conditions:
        known = _known(suite, pilot, condition.id)
        rows += [_row(suite, condition.id, arm, known) for arm in arms]
    return rows


def outlook_warnings(suite: Suite, rows: list[dict[str, Any]]) -> list[str]:
    """What in the rows should make a reader think again before registering."""
    found = []
    for row in rows:
        if row["arm"] == "twin":
            continue
        found += [f"{row['condition']}, {row['arm']}: {words}" for words in _doubts(suite, row)]
    return found


@dataclass(frozen=True)
class _Known:
    """A pilot's means, scaled to the suite.

    Attributes:
        measured: of the pilot.
        scale: rollouts collected in a round, over the pilot's.
    """

    measured: Measured
    scale: float

    @property
    def examples(self) -> int:
        return round(self.measured.examples * self.scale)


def _known(suite: Suite, pilot: Pilot | None, condition: str) -> _Known | None:
    measured = None if pilot is None else pilot.measured(condition)
    if pilot is None or measured is None:
        return None
    here, there = (s.environment.tasks.pool * s.collection.rollouts_per_task for s in (suite, pilot.suite))
    return _Known(measured, here / there)


def _row(suite: Suite, condition: str, arm: str, known: _Known | None) -> dict[str, Any]:
    budget, native, rounds = suite.budget, arm == "native", suite.collection.rounds
    prompts = None if known is None else _prompts(suite, known, limited=native or budget.doubly)
    left = None if known is None or prompts is None else _left(suite, known, prompts)
    slots = budget.examples if not native else None if left is None else left * rounds
    steps = None if slots is None else math.ceil(slots / rounds / budget.batch) * rounds
    shares = _shares(suite, arm, left)
    refused = not native and _is_refused(suite, left, shares)
    return {
        "condition": condition,
        "arm": arm,
        "slots": slots,
        "steps": steps,
        "native_examples": None if known is None else known.examples * rounds,
        "native_steps": None if known is None else math.ceil(known.examples / budget.batch) * rounds,
        "prompts": prompts,
        "of_prompts": suite.environment.tasks.pool,
        "fill": "refused" if refused else _fill(suite, arm, left),
        **shares,
        # A cell that is refused ends untrained, and is judged all the same.
        **_price(suite, known, 0 if refused else slots),
    }


def _prompts(suite: Suite, known: _Known, *, limited: bool) -> int:
    """Prompts whose mean cost fits the limits of generation."""
    pool = suite.environment.tasks.pool
    if not limited:
        return pool
    fits = [float(pool)]
    for name, limit in suite.budget.generation.limits.items():
        whole = float(getattr(known.measured.generation, name)) * known.scale
        if whole > limit:
            fits.append(pool * limit / whole)
    return math.floor(min(fits))


def _left(suite: Suite, known: _Known, prompts: int) -> int:
    return round(known.examples * prompts / suite.environment.tasks.pool)


def _most(suite: Suite) -> int:
    """Turns that a round can hold at all."""
    return suite.environment.tasks.pool * suite.collection.rollouts_per_task * suite.environment.horizon


def _share(suite: Suite) -> int:
    """Slots of a matched or twin run in one round."""
    return suite.budget.examples // suite.collection.rounds


def _fill(suite: Suite, arm: str, left: int | None) -> str | None:
    budget, slots = suite.budget, _share(suite)
    if arm == "native":
        return "native"
    if left is None:
        # However many turns a rule leaves, they are fewer than the slots.
        return budget.under if _most(suite) < slots else None
    if left == slots:
        return "exact"
    return budget.under if left < slots else budget.over


def _shares(suite: Suite, arm: str, left: int | None) -> dict[str, float | None]:
    """Mean showings of an example, share of slots that repeat one, share that is padding, and refills a task."""
    nothing: dict[str, float | None] = dict.fromkeys(
        ("repetition", "share_repeated", "share_padding", "refills"), 0.0
    )
    if left is None:
        return dict.fromkeys(nothing) if arm != "native" else {**nothing, "repetition": 1.0}
    slots, fill = _share(suite), _fill(suite, arm, left)
    if fill not in ("resample", "cycle", "pad", "refill"):
        return {**nothing, "repetition": 1.0}
    if not left:
        return dict.fromkeys(nothing)
    missing = 1 - left / slots
    if fill == "pad":
        return {**nothing, "repetition": 1.0, "share_padding": round(missing, 3)}
    if fill == "refill":
        rollouts = suite.collection.rollouts_per_task
        return {**nothing, "repetition": 1.0, "refills": math.ceil((slots - left) * rollouts / left)}
    # Of `slots` draws with replacement, left x (1 - (1 - 1 / left)^slots) different ones are expected.
    unique = left if fill == "cycle" else left * (1 - (1 - 1 / left) ** slots)
    return {**nothing, "repetition": round(slots / left, 2), "share_repeated": round(1 - unique / slots, 3)}


def _is_refused(suite: Suite, left: int | None, shares: dict[str, float | None]) -> bool:
    """Whether what is left is too little for the fill, as far as a pilot's means say."""
    if left is None:
        return False
    budget, repetition, refills = suite.budget, shares["repetition"], shares["refills"]
    often = repetition is not None and repetition > budget.max_repetition
    return left == 0 or often or (refills is not None and refills > budget.refill.cap)


def _price(suite: Suite, known: _Known | None, slots: int | None) -> dict[str, float | None]:
    """Operations of generation and training, and seconds of training and judging, of one run."""
    if known is None or slots is None:
        return {"flops": None, "seconds": None}
    measured, evaluation, tasks = known.measured, suite.evaluation, suite.environment.tasks
    episodes = tasks.pool * evaluation.episodes_per_task + tasks.held_out * evaluation.held_out_episodes
    generation = measured.generation.flops * known.scale * suite.collection.rounds
    flops = None if measured.flops_per_slot is None else generation + slots * measured.flops_per_slot
    seconds = None
    if measured.seconds_per_slot is not None and measured.seconds_per_episode is not None:
        seconds = round(slots * measured.seconds_per_slot + episodes * measured.seconds_per_episode, 2)
    return {"flops": flops, "seconds": seconds}


def _doubts(suite: Suite, row: dict[str, Any]) -> list[str]:
    found, budget = [], suite.budget
    repetition, padding, refills = row["repetition"], row["share_padding"], row["refills"]
    if row["native_examples"] == 0:
        found.append("no example in the pilot, so its cells will end untrained")
    if repetition is not None and repetition > _REPETITION:
        found.append(
            f"every example is shown {repetition:g} times on average, more than {_REPETITION:g}; fewer slots, or more "
            "rollouts, repeat less"
        )
    if repetition is not None and repetition > budget.max_repetition:
        found.append(f"that is beyond max_repetition ({budget.max_repetition}), so the cell will be refused")
    if padding is not None and padding > _PADDING:
        found.append(f"{padding:.0%} of the slots are padding, more than half; fewer slots pad less")
    if refills is not None and refills > budget.refill.cap:
        found.append(
            f"about {refills:g} further rollouts a task are needed, but the cap is {budget.refill.cap}, so the cell "
            "will be refused"
        )
    if row["prompts"] == 0:
        found.append("not one prompt fits budget.generation, so the cell will be refused")
    return found
