"""From the results of a suite's runs to its analysis, by the plan that was registered."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from equipoise.tuning.tally import searches
from equipoise_preregistration import Suite
from equipoise_stats import Analysis, Hypothesis, Question, RunScore, TaskScore, analyse

__all__ = ["Results", "base_scores", "judge", "rate"]

Results = Mapping[str, Mapping[str, Any]]
"""Results by job key."""


def rate(outcomes: Sequence[Mapping[str, Any]], split: str) -> tuple[float, int] | None:
    """Success rate and number of episodes on a split; None if it was not evaluated."""
    chosen = [outcome for outcome in outcomes if outcome["split"] == split]
    episodes = sum(int(outcome["episodes"]) for outcome in chosen)
    if not episodes:
        return None
    return sum(int(outcome["successes"]) for outcome in chosen) / episodes, episodes


def judge(
    suite: Suite, results: Results, *, look: int | None = None, deviations: tuple[str, ...] = ()
) -> Analysis:
    """Analyse what has been run; incomplete blocks are left out and named.

    Args:
        suite: as registered.
        results: of the suite's jobs, by key.
        look: which registered look this is, by its number of blocks; only they enter. None is the last.
        deviations: amendments made after a run was seen, a sentence each.

    Raises:
        StatsError: if nothing can be analysed, or the look was not registered.
    """
    cells = [result for result in results.values() if result["kind"] == "cell"]
    primary = suite.evaluation.primary
    runs = [_run(cell, primary) for cell in cells]
    tasks = [task for cell in cells for task in _tasks(cell, primary)]
    base = {block: value for block, (value, _) in base_scores(results, primary).items()}
    return analyse(runs, tasks, _question(suite, results, look, deviations), base)


def base_scores(results: Results, split: str) -> dict[int, tuple[float, int]]:
    """Success rate and episodes of the untrained policy, by block."""
    found = {
        int(result["block"]): rate(result["outcomes"], split)
        for result in results.values()
        if result["kind"] == "base"
    }
    return {block: score for block, score in found.items() if score is not None}


def _run(result: Mapping[str, Any], split: str) -> RunScore:
    cell = result["cell"]
    score = rate(result["outcomes"], split)
    assert score is not None
    return RunScore(
        condition=cell["condition"],
        arm=cell["arm"],
        twin=cell["twin"],
        block=cell["block"],
        y=score[0],
        episodes=score[1],
        diverged=result["end"] != "ok",
        # a cell that was refused its training has no volume, which is not a volume of 0
        steps=result["planned"]["optimizer_steps"] or None,
        ess=result["planned"]["ess"] or None,
    )


def _tasks(result: Mapping[str, Any], split: str) -> list[TaskScore]:
    cell = result["cell"]
    return [
        TaskScore(
            condition=cell["condition"],
            arm=cell["arm"],
            twin=cell["twin"],
            block=cell["block"],
            task=outcome["task"],
            successes=outcome["successes"],
            episodes=outcome["episodes"],
        )
        for outcome in result["outcomes"]
        if outcome["split"] == split
    ]


def _question(suite: Suite, results: Results, look: int | None, deviations: tuple[str, ...]) -> Question:
    analysis = suite.analysis
    return Question(
        baseline=suite.baseline.id,
        conditions=tuple(condition.id for condition in suite.conditions),
        alpha=analysis.alpha,
        smallest_effect=analysis.smallest_effect,
        primary=analysis.primary,
        multiplicity=analysis.multiplicity,
        hypotheses=tuple(
            Hypothesis(h.id, h.says, h.about.kind, h.about.condition, h.direction) for h in suite.hypotheses
        ),
        controls={c.id: c.control for c in suite.conditions if c.control is not None},
        identical=_identical(results),
        barred=_barred(suite, results),
        engine=analysis.engine,
        gatekeeping=analysis.gatekeeping,
        looks=analysis.looks,
        spending=analysis.spending,
        look=look,
        deviations=deviations,
    )


def _barred(suite: Suite, results: Results) -> frozenset[tuple[str, str, int]]:
    """Cells that did not get their budget, and all cells of a condition that did not get its search."""
    unequal = {search.condition for search in searches(suite, results) or () if search.breaches}
    cells = [result["cell"] for result in results.values() if result["kind"] == "cell"]
    broken = [r["cell"] for r in results.values() if r["kind"] == "cell" and r["breaches"]]
    broken += [cell for cell in cells if cell["condition"] in unequal]
    return frozenset((cell["condition"], cell["arm"], cell["block"]) for cell in broken)


def _identical(results: Results) -> frozenset[str]:
    """Conditions that gave every turn of a trajectory the same credit in every block, as measured."""
    seen: dict[str, list[bool]] = defaultdict(list)
    for result in results.values():
        if result["kind"] == "signals":
            seen[result["condition"]].append(bool(result["credit"]["constant_within_trajectories"]))
    return frozenset(condition for condition, constant in seen.items() if all(constant))
