"""What a suite can show before anything is run: its registered plan worked out under assumed or piloted spreads."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from equipoise.suites.judge import rate
from equipoise.suites.piloting import Pilot
from equipoise.suites.planning import has_content
from equipoise_preregistration import Suite
from equipoise_stats import Question, RunScore, StatsError
from equipoise_stats.layout import lay_out
from equipoise_stats.simulate import Divergence, Outlook, Plan, World, look_ahead
from equipoise_stats.stratum import Stratum, fit_stratum

__all__ = ["Spreads", "assumed", "figures", "piloted", "power_in_plan", "power_of_suite", "registered_plan"]

_BOUND = 0.8
_RUN_SD, _BLOCK_SD = 0.03, 0.015
_SETS_IN_PLAN = 1_000


@dataclass(frozen=True)
class Spreads:
    """Standard deviations that a plan is worked out under, in success rate, and where they come from."""

    run: float
    block: float
    evaluation: float
    source: str


def assumed(
    suite: Suite, run: float | None = None, block: float | None = None, evaluation: float | None = None
) -> Spreads:
    """Stated spreads; judging is taken to be as noisy as independent episodes at a success rate of one half.

    Args:
        suite: says how many episodes judge a run.
        run: between runs of one cell and block; None is 0.03.
        block: between blocks; None is 0.015.
        evaluation: of judging; None is worked out.
    """
    judging = math.sqrt(0.25 / _episodes(suite)) if evaluation is None else evaluation
    return Spreads(
        _RUN_SD if run is None else run,
        _BLOCK_SD if block is None else block,
        judging,
        "as stated or assumed",
    )


def piloted(suite: Suite, pilot: Pilot) -> Spreads | None:
    """Upper bounds, each with 80 % confidence, from the runs of a pilot; None where it leaves no error to tell.

    Of several twins the first is taken, so that every cell holds one run. The noise of judging is known from the
    number of episodes, and is taken out of the spread of runs before it is put in again for this suite's number.
    """
    runs = _runs(pilot)
    conditions = tuple(c.id for c in pilot.suite.conditions)
    y = lay_out(runs, Question(pilot.suite.baseline.id, conditions)).y
    if min(y.shape) < 2:
        return None
    fit = fit_stratum(y)
    total = _upper(float(fit.ms_error), fit.df_error)
    noise = fmean(r.y * (1.0 - r.y) for r in runs)
    within = total - fmean(r.y * (1.0 - r.y) / r.episodes for r in runs)
    judging = math.sqrt(noise / _episodes(suite))
    source = f"upper {_BOUND:.0%} bounds from {y.shape[1]} blocks of {pilot.name}"
    return Spreads(math.sqrt(max(0.0, within)), _between(fit, total), judging, source)


def registered_plan(suite: Suite) -> Plan:
    """The plan of a suite, as its cards tell it before credit is measured.

    Raises:
        StatsError: if the design leaves no error, or its looks or families are of a kind that is not simulated.
    """
    analysis, arms = suite.analysis, suite.arms
    question = Question(
        baseline=suite.baseline.id,
        conditions=tuple(c.id for c in suite.conditions),
        alpha=analysis.alpha,
        smallest_effect=analysis.smallest_effect,
        multiplicity=analysis.multiplicity,
        controls={c.id: c.control for c in suite.conditions if c.control is not None},
        identical=frozenset(c.id for c in suite.conditions if not has_content(suite, c.id)),
        engine=analysis.engine,
        gatekeeping=analysis.gatekeeping,
        looks=analysis.looks,
        spending=analysis.spending,
    )
    run = [("native", arms.native), ("matched", arms.matched), ("twin", arms.twins)]
    return Plan(question, suite.blocks, arms.twins, tuple(arm for arm, runs in run if runs))


def power_of_suite(
    suite: Suite,
    spreads: Spreads,
    *,
    divergence: float = 0.0,
    sets: int = 4_000,
    control_effect: float | None = None,
) -> Outlook:
    """Work out the registered plan.

    Args:
        suite: checked.
        spreads: what is taken to be true.
        divergence: share of the runs of every condition that diverge, worse ones more often; scored by intention
            to treat.
        sets: simulated suites behind each rate.
        control_effect: content of positive controls; None is twice the smallest effect.

    Raises:
        StatsError: if the plan cannot be worked out.
    """
    conditions = tuple(c.id for c in suite.conditions)
    world = World(
        run_sd=spreads.run,
        evaluation_sd=spreads.evaluation,
        block_sd=spreads.block,
        divergence=Divergence(conditions, divergence) if divergence else None,
    )
    return look_ahead(registered_plan(suite), world, sets=sets, control_effect=control_effect)


def figures(outlook: Outlook, spreads: Spreads) -> dict[str, Any]:
    """An outlook as plain data, for JSON."""
    plain = asdict(outlook)
    world = plain.pop("world")
    plain["spreads"] = asdict(spreads)
    plain["divergence"] = world["divergence"]
    return plain


def _episodes(suite: Suite) -> int:
    tasks, evaluation = suite.environment.tasks, suite.evaluation
    if evaluation.primary == "held_out":
        return tasks.held_out * evaluation.held_out_episodes
    return tasks.pool * evaluation.episodes_per_task


def _runs(pilot: Pilot) -> Sequence[RunScore]:
    found = []
    for result in pilot.results.values():
        if result["kind"] != "cell" or result["cell"]["twin"]:
            continue
        score = rate(result["outcomes"], pilot.suite.evaluation.primary)
        if score is not None:
            cell = result["cell"]
            found.append(RunScore(cell["condition"], cell["arm"], 0, cell["block"], *score))
    return found


def _upper(mean_square: float, df: int) -> float:
    """The variance below which the true one lies with 80 % confidence: df MS / chi-square's lower fifth."""
    from scipy.special import chdtri

    return mean_square * df / float(chdtri(df, _BOUND))


def _between(fit: Stratum, error: float) -> float:
    return math.sqrt(max(0.0, (_upper(float(fit.ms_block), fit.df_block) - error) / fit.cells))


def power_in_plan(suite: Suite, sd: float) -> tuple[dict[str, Any] | None, str]:
    """What `plan` says of power: figures under one spread of runs, judging included, or why there are none.

    Args:
        suite: checked.
        sd: of a run's success rate within its block.

    Returns:
        The figures of `equipoise power` from fewer simulated suites, and an empty sentence; or None with the reason.
    """
    spreads = Spreads(sd, _BLOCK_SD, 0.0, "as stated or assumed")
    try:
        outlook = power_of_suite(suite, spreads, sets=_SETS_IN_PLAN)
    except StatsError as error:
        return None, f"power cannot be worked out: {'; '.join(error.faults)}"
    return figures(outlook, spreads), ""
