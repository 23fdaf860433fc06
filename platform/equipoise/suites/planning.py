"""What a suite would run, and what it could see, worked out from its numbers alone."""

from collections import Counter
from typing import Any

from equipoise.execution.conditions import condition_of, twin_of
from equipoise.suites.jobs import cells_of, jobs_of
from equipoise.suites.outlook import cells_outlook, outlook_warnings
from equipoise.suites.piloting import Pilot
from equipoise_conditions.twins import Twin
from equipoise_preregistration import Suite
from equipoise_stats import planned_mde

__all__ = ["has_content", "outline"]


def outline(suite: Suite, sd: float, pilot: Pilot | None = None) -> dict[str, Any]:
    """Numbers of the design.

    Args:
        suite: checked.
        sd: assumed standard deviation of a run's success rate within its block.
        pilot: a run of the same conditions, which says what their rules leave and cost.

    Returns:
        Counts by name, the minimal detectable CONTENT at the registered level and 80 % power (None if the design
        cannot estimate it), and a row for each condition and arm (None for what no pilot has measured).
    """
    cells, rows = cells_of(suite), cells_outlook(suite, pilot)
    kinds = Counter(job.kind for job in jobs_of(suite))
    tasks, evaluation = suite.environment.tasks, suite.evaluation
    judged = tasks.pool * evaluation.episodes_per_task + tasks.held_out * evaluation.held_out_episodes
    family = [
        c.id for c in suite.conditions if not c.baseline and c.control is None and has_content(suite, c.id)
    ]
    told_apart = any(has_content(suite, c.id) for c in suite.conditions)
    collected = tasks.pool * suite.collection.rollouts_per_task
    content = told_apart and suite.arms.matched and suite.arms.twins > 0 and suite.blocks > 1
    return {
        "cells": len(cells),
        "jobs": sum(kinds.values()),
        "jobs_by_kind": dict(kinds),
        # The first round's are a block's, those of later ones each cell's own.
        "episodes_collected": collected * (suite.blocks + len(cells) * (suite.collection.rounds - 1)),
        "episodes_judged": (len(cells) + suite.blocks) * judged,
        "slots_of_a_matched_run": suite.budget.examples,
        "optimizer_steps_of_a_matched_run": suite.budget.optimizer_steps,
        **_search(suite),
        "content_family": len(family),
        "minimal_detectable_content": (
            round(
                planned_mde(
                    sd,
                    suite.blocks,
                    max(1, len(family)),
                    suite.analysis.alpha,
                    cells=_cells_of_the_error(suite),
                ),
                4,
            )
            if content
            else None
        ),
        "assumed_sd": sd,
        "pilot": None if pilot is None else pilot.name,
        "cells_by_arm": rows,
        "warnings": [*_warnings(suite), *outlook_warnings(suite, rows), *_of_the_pilot(suite, pilot)],
    }


def _of_the_pilot(suite: Suite, pilot: Pilot | None) -> list[str]:
    if pilot is None:
        return []
    found = [
        f"{pilot.name} was run with another {name}: what its rules leave and cost may be far from this suite's"
        for name in pilot.differs(suite)
    ]
    if pilot.suite == suite:
        found.append(
            f"{pilot.name} is this suite itself, whose blocks have been looked at: its numbers say what was run; plan "
            "another suite from a pilot under another `seed`"
        )
    return found


def _search(suite: Suite) -> dict[str, Any]:
    """What every condition is granted before the comparison; nothing without a search."""
    tuning = suite.tuning
    if not tuning.trials:
        return {}
    runs = tuning.trials * tuning.blocks
    granted = {"trials": tuning.trials, "runs": runs, "steps": runs * suite.budget.optimizer_steps}
    return {"search_of_each_condition": granted}


def has_content(suite: Suite, condition: str) -> bool:
    """Whether a twin can differ from its rule; by the rule's card, before anything is measured."""
    rule, _ = condition_of(suite, condition)
    if rule.card.granularity == "episode":
        return twin_of(suite, condition) not in (Twin.WITHIN, Twin.ANYWHERE)
    return True


def _warnings(suite: Suite) -> list[str]:
    """What a reader of the plan should know before anything is run."""
    if not suite.arms.twins:
        return []
    silent = [c.id for c in suite.conditions if not has_content(suite, c.id)]
    return [
        f"{name}: one credit a trajectory, so a twin `{twin_of(suite, name)}` repeats its rule "
        "(shuffle_active_share 0) and CONTENT is 0 by construction; `twin: across` cuts the tie to the outcome"
        for name in silent
    ]


def _cells_of_the_error(suite: Suite) -> int:
    """Cells that share one error: all of the layout with one twin a block, else the two of a paired contrast."""
    if suite.arms.twins != 1:
        return 2
    told_apart = [c for c in suite.conditions if has_content(suite, c.id)]
    return len(suite.conditions) * (suite.arms.native + suite.arms.matched) + len(told_apart)
