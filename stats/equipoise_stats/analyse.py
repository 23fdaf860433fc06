"""The whole inference of one suite: from scores and the registered question to verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from equipoise_stats import mixed
from equipoise_stats.analysis import Analysis
from equipoise_stats.attained import detectable
from equipoise_stats.celllevel import describe
from equipoise_stats.checks import check
from equipoise_stats.contrasts import correlation_in, decompose, identity_gap, shares_of_volume
from equipoise_stats.crosscheck import cross_check
from equipoise_stats.digest import data_sha256
from equipoise_stats.dose_response import ESS, dose_response
from equipoise_stats.drafts import BOTH, MIXED, PAIRED, STRATUM, Engine, Table, choose_engine, tabulate
from equipoise_stats.failures import failures
from equipoise_stats.findings import check_controls, judge_hypotheses
from equipoise_stats.gee import of_runs, of_tasks
from equipoise_stats.glmm.sensitivity import logit_model
from equipoise_stats.judging import Correlate, correlation_of
from equipoise_stats.layout import Layout
from equipoise_stats.learning import learning
from equipoise_stats.mixed import CellMeans
from equipoise_stats.naive import naive
from equipoise_stats.records import Question, RunScore, TaskScore
from equipoise_stats.rejudging import primary_judges
from equipoise_stats.results import Contrast, ControlCheck
from equipoise_stats.sequential_evidence import summary
from equipoise_stats.specification import collect, specify
from equipoise_stats.tables import cell_means, stratum_table

VERSION = "eq1"
MODEL: Mapping[str, str] = {STRATUM: "M0", PAIRED: "M1h", BOTH: "M1h"}
"""The names of the primary analyses in the specification table."""


def analyse(
    runs: Sequence[RunScore],
    tasks: Sequence[TaskScore],
    question: Question,
    base: Mapping[int, float],
) -> Analysis:
    """Analyse a suite.

    Pure: the result depends on the records and the question, not on the order of records; renaming
    conditions changes names only.

    Args:
        runs: one score a run, diverged runs scored by intention to treat.
        tasks: successes by task, for the crossed model; may be empty.
        question: what was registered.
        base: success rate of the untrained base policy by block; may be empty.

    Raises:
        StatsError: if records or question cannot be analysed, with every fault.
    """
    check(runs, tasks, question, base)
    if question.look is not None:
        runs, tasks, base = _first(question.look, runs, tasks, base)
    tables = [tabulate(_first(n, runs, (), {})[0], question) for n in question.looked] or [
        tabulate(runs, question)
    ]
    layout, stratum = tables[-1].layout, tables[-1].stratum
    engine = choose_engine(tables[-1], question)
    contrasts = decompose(tables, question, engine)
    by_task = [mixed.by_task(tasks, layout.cells, population=population) for population in (False, True)]
    crossed = [
        describe(name, means, len(tasks), contrasts, question)
        for name, means in zip(("M2", "M3"), by_task, strict=True)
    ]
    logit = logit_model(tasks, layout, contrasts, question)
    gee = (
        of_tasks(tasks, layout, contrasts, question) if tasks else of_runs(runs, layout, contrasts, question)
    )
    models = collect(contrasts, crossed, logit, gee, question.alpha)
    correlates = _correlates(tables[-1], by_task) if engine.max_t else {}
    by_key = {(c.condition, c.kind): c for c in contrasts}
    controls = check_controls(by_key, question)
    return Analysis(
        version=VERSION,
        baseline=question.baseline,
        conditions=question.conditions,
        alpha=question.alpha,
        smallest_effect=question.smallest_effect,
        multiplicity="step-down-max-t" if engine.max_t else "holm",
        engine=engine.name,
        engine_sentence=engine.sentence,
        blocks=layout.blocks,
        left_out=layout.left_out,
        cells=cell_means(runs, layout, question),
        stratum=stratum_table(stratum, layout),
        contrasts=contrasts,
        shares=shares_of_volume(tables[-1], contrasts, question, engine),
        sequential=summary(question, _crossings(contrasts)),
        identity_gap=identity_gap(contrasts),
        hypotheses=judge_hypotheses(by_key, controls, question),
        controls=controls,
        void=any(c.passed is not True for c in controls),
        cross_check=cross_check(layout, stratum),
        run_level=describe("M1", tables[-1].mixed, len(runs), contrasts, question),
        cell_level=crossed[0],
        task_population=crossed[1],
        dose_response=dose_response(runs, layout, question),
        dose_response_ess=dose_response(runs, layout, question, ESS),
        logit=logit,
        gee=gee,
        specification=specify(contrasts, models, correlates, question, MODEL[engine.name]),
        failures=failures(runs, question, primary_judges(runs, layout, question, engine)),
        naive=naive(runs, question),
        mde=detectable(layout, stratum, contrasts, question, engine),
        learning=learning(runs, question, base),
        notes=_notes(runs, layout, controls, question, engine),
        data_sha256=data_sha256(runs, tasks, base),
    )


def _correlates(table: Table, by_task: Sequence[CellMeans | str]) -> dict[str, Correlate | None]:
    """How the estimates of each model with one error correlate."""
    found = {"M0": correlation_in(table, STRATUM), "M1": correlation_in(table, MIXED)}
    for name, means in zip(("M2", "M3"), by_task, strict=True):
        found[name] = None if isinstance(means, str) else correlation_of(means)
    return found


def _first(
    blocks: int, runs: Sequence[RunScore], tasks: Sequence[TaskScore], base: Mapping[int, float]
) -> tuple[list[RunScore], list[TaskScore], dict[int, float]]:
    """The records of the first blocks, by number; those of later ones are not looked at."""
    seen = set(sorted({run.block for run in runs})[:blocks])
    return (
        [run for run in runs if run.block in seen],
        [task for task in tasks if task.block in seen],
        {block: score for block, score in base.items() if block in seen},
    )


def _crossings(contrasts: Sequence[Contrast]) -> dict[str, int]:
    """The contrasts whose boundary is crossed, with the blocks of the look at which it was first."""
    found: dict[str, int] = {}
    for contrast in contrasts:
        for point in contrast.path:
            if point.crossed:
                found.setdefault(f"{contrast.kind}({contrast.condition})", point.blocks)
    return found


def _notes(
    runs: Sequence[RunScore],
    layout: Layout,
    controls: Sequence[ControlCheck],
    question: Question,
    engine: Engine,
) -> tuple[str, ...]:
    notes = [f"deviation: {sentence}" for sentence in question.deviations]
    notes += [c.sentence for c in controls if c.passed is not True]
    fate = "left out" if engine.name == STRATUM else "incomplete, its other cells are used"
    notes += [f"block {left.block} is {fate}: {left.reason}" for left in layout.left_out]
    notes += list(layout.barred.values())
    diverged = sum(run.diverged for run in runs)
    if diverged:
        notes.append(
            f"{diverged} of {len(runs)} runs diverged; they stay in with the score given (intention to treat)"
        )
    same = [c for c in question.conditions if c in question.identical]
    if same:
        notes.append(
            f"{', '.join(same)}: every turn of a trajectory has the same credit, so a twin moves nothing "
            "and content is 0 by construction"
        )
    return tuple(notes)
