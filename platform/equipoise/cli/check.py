"""`equipoise check`: every fault of a suite at once, or what it would do on one screen."""

import typer

from equipoise.cli.errors import ExitCode
from equipoise.cli.options import Json, SuiteFile
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.suite_file import open_suite
from equipoise_preregistration import Suite, SuiteError

__all__ = ["check"]


def check(suite: SuiteFile, *, as_json: Json = False) -> None:
    """Report every fault of a suite with its line and column, or its summary."""
    try:
        loaded = open_suite(suite)
    except SuiteError as error:
        if not as_json:
            raise
        show_json({"valid": False, "faults": [vars(fault) for fault in error.faults]})
        raise typer.Exit(ExitCode.USAGE) from error
    facts = summary(loaded.suite)
    if as_json:
        show_json({"valid": True, **facts, "notes": notes(loaded.suite)})
        return
    show_table(f"{loaded.path}: no faults", ("", ""), facts.items())
    for note in notes(loaded.suite):
        say(f"note: {note}")


def summary(suite: Suite) -> dict[str, object]:
    """What a suite would do, in numbers."""
    regimes = suite.arms.native + suite.arms.matched + suite.arms.twins
    per_block = len(suite.conditions) * regimes
    budget, tasks, rollouts = suite.budget, suite.environment.tasks.pool, suite.collection.rollouts_per_task
    return {
        "name": suite.name,
        "question": suite.question,
        "conditions": ", ".join(condition.id for condition in suite.conditions),
        "baseline": suite.baseline.id,
        "cells": f"{len(suite.conditions)} conditions x {regimes} arms x {suite.blocks} blocks "
        f"= {per_block * suite.blocks}",
        "budget": f"{budget.examples} examples in {budget.optimizer_steps} optimizer steps of {budget.batch}",
        "trajectories": f"{tasks} tasks x {rollouts} rollouts a block{_later(suite)}",
        **({"tuning": _search(suite)} if suite.tuning.trials else {}),
        "looks": ", ".join(map(str, suite.looks)),
        "hypotheses": ", ".join(f"{item.id}: {item.contrast}" for item in suite.hypotheses) or "none",
    }


def _later(suite: Suite) -> str:
    later = suite.collection.rounds - 1
    return f", and again in {later} later round{'s' * (later > 1)} of each cell" if later else ""


def _search(suite: Suite) -> str:
    tuning, conditions = suite.tuning, len(suite.conditions)
    runs = tuning.trials * tuning.blocks
    return (
        f"{tuning.trials} trials ({tuning.sampler}) x {tuning.blocks} blocks of their own x {conditions} conditions "
        f"= {runs * conditions} runs, {runs * suite.budget.optimizer_steps} optimizer steps each condition"
    )


def notes(suite: Suite) -> list[str]:
    """What is allowed but weakens a study."""
    found = []
    controls = {condition.control for condition in suite.conditions}
    if "positive" not in controls:
        found.append("no positive control: nothing shows that a better rule would have been detected")
    if "negative" not in controls:
        found.append("no negative control: nothing shows that a worthless rule would not have been")
    if not suite.arms.twins:
        found.append("no twins: better credit cannot be told from a gentler dose, so no rule can win")
    if suite.budget.over == "keep_largest" and suite.budget.stratify == "task":
        found.append(
            "over: keep_largest takes the largest credit wherever it is: tasks keep no share of their own"
        )
    if suite.collection.rounds > 1 and suite.arms.twins:
        found.append(
            "several rounds: after the first, a rule and its twin see different trajectories: CONTENT compares whole "
            "courses of training"
        )
    if not suite.hypotheses:
        found.append("no hypotheses: the report will estimate and claim nothing")
    return [*found, *_notes_on_the_search(suite)]


def _notes_on_the_search(suite: Suite) -> list[str]:
    from equipoise.tuning.space import concerned

    having = {condition.id: concerned(suite, condition.id) for condition in suite.conditions}
    found = [
        f"tuning: {name} concerns {', '.join(owners)} only: the other rules have no such parameter"
        for name in suite.tuning.names
        if len(owners := [condition for condition, names in having.items() if name in names]) < len(having)
    ]
    if suite.tuning.trials:
        found += [
            f"tuning: {condition} has no dimension of the space, so that all its trials are the same"
            for condition, names in having.items()
            if not names
        ]
    return found
