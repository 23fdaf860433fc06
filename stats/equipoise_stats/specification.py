"""The specification table: every contrast under every analysis, so that no verdict hangs on one of them unseen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from equipoise_stats.figures import figures
from equipoise_stats.gee import Gee
from equipoise_stats.glmm.sensitivity import LogitModel
from equipoise_stats.judging import Correlate, Key, judge_all
from equipoise_stats.records import Question
from equipoise_stats.results import CellLevel, Contrast, Estimate, Swap, Verdict
from equipoise_stats.sequential_evidence import evidence, level_of

FIXED, POPULATION = "fixed suite", "task population"
# A z test is a t test with so many degrees of freedom.
_NORMAL = 1e9

Models = Mapping[str, Mapping[Key, Estimate]]


@dataclass(frozen=True)
class SpecificationRow:
    """One contrast under one analysis.

    Attributes:
        model: ``M0`` exact stratum, ``M1`` mixed model of runs, ``M1h`` paired, ``M1r`` swap of rule and twin, ``M2``
            task scores, ``M3`` task scores with cell:task, ``M5`` logit model (marginal risk difference), ``M6``
            estimating equations.
        question: ``fixed suite`` or ``task population``.
        primary: whether this analysis carries the verdict.
        df: None for a z test and for the swap.
        p_adjusted: within the family, by the procedure of the primary analysis where the model has one error.
        verdict: what it would say; None where it has no figures.
        agrees: whether that is the verdict of the primary analysis; for the swap, whether it shows a difference
            where that does; None where nothing can be compared.
        note: why there is nothing to compare.
    """

    condition: str
    kind: str
    model: str
    question: str
    primary: bool
    estimate: float | None = None
    se: float | None = None
    df: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict | None = None
    agrees: bool | None = None
    note: str = ""


def collect(
    contrasts: Sequence[Contrast], levels: Sequence[CellLevel], logit: LogitModel, gee: Gee, alpha: float
) -> dict[str, dict[Key, Estimate]]:
    """The figures of every contrast by model; the reasons of refused models stand in their own records.

    Args:
        contrasts: with M0, M1 and M1h.
        levels: M2 and M3.
        logit: M5.
        gee: M6.
        alpha: two-sided level of intervals.
    """
    found: dict[str, dict[Key, Estimate]] = {"M0": {}, "M1": {}, "M1h": {}}
    for c in contrasts:
        for name, figure in (("M0", c.m0), ("M1", c.m1), ("M1h", c.m1h)):
            if figure is not None and c.estimable:
                found[name][c.condition, c.kind] = figure
    for level in levels:
        found[level.model] = {
            (c.condition, c.kind): figures(c.estimate, c.se, c.df, alpha) for c in level.contrasts
        }
    found["M5"] = {
        (c.condition, c.kind): figures(c.risk_difference.estimate, c.risk_difference.se, _NORMAL, alpha)
        for c in logit.contrasts
        if c.risk_difference.estimate is not None and c.risk_difference.se is not None
    }
    found["M6"] = {(c.condition, c.kind): c.figures for c in gee.contrasts}
    return found


def specify(
    contrasts: Sequence[Contrast],
    models: Models,
    correlates: Mapping[str, Correlate | None],
    question: Question,
    primary: str,
) -> tuple[SpecificationRow, ...]:
    """Judge every model like the primary one, and set them side by side.

    Args:
        contrasts: judged.
        models: figures by model.
        correlates: of the models that decide by the largest t.
        question: the registered question; at a look the models are judged as if this were the first they saw.
        primary: the model that carries the verdicts.
    """
    before = (None,) * max(0, len(question.looked) - 1)
    judged = {}
    for name, of_model in models.items():
        tested = {key: evidence((*before, figure), question) for key, figure in of_model.items()}
        judged[name] = judge_all(
            {key: e for key, e in tested.items() if e is not None}, question, correlates.get(name)
        )
    rows = []
    for c in contrasts:
        if not c.estimable:
            continue
        key = (c.condition, c.kind)
        for name, of_model in models.items():
            figure = of_model.get(key)
            if figure is None:
                continue
            if name == primary:
                rows.append(_row(c, name, figure, c.p_adjusted, c.verdict, primary=True))
                continue
            outcome = judged[name].adjusted.get(key)
            word = judged[name].verdict(key, level_of(question))
            rows.append(_row(c, name, figure, None if outcome is None else outcome.p, word, primary=False))
        if c.m1r is not None:
            rows.append(_swap(c, c.m1r, question.alpha))
    return tuple(rows)


def _row(
    c: Contrast, model: str, figure: Estimate, p: float | None, word: Verdict | None, *, primary: bool
) -> SpecificationRow:
    return SpecificationRow(
        c.condition,
        c.kind,
        model,
        POPULATION if model == "M3" else FIXED,
        primary,
        figure.estimate,
        figure.se,
        None if figure.df >= _NORMAL else figure.df,
        figure.p,
        p,
        word,
        None if word is None or primary else word is c.verdict,
    )


def _swap(c: Contrast, test: Swap, alpha: float) -> SpecificationRow:
    p = test.p if test.p_family is None else test.p_family
    note = f"cannot reject: the smallest possible p is {test.floor:.4g}" if test.floor > alpha else ""
    shown = {Verdict.SUPERIOR, Verdict.SUPERIOR_BY_MARGIN, Verdict.INFERIOR}
    agrees = None if note else (p <= alpha) == (c.verdict in shown)
    return SpecificationRow(
        c.condition,
        c.kind,
        "M1r",
        FIXED,
        primary=False,
        estimate=c.estimate,
        p=test.p,
        p_adjusted=p,
        agrees=agrees,
        note=note,
    )
