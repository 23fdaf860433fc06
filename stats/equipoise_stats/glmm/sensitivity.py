"""M5: the contrasts of the suite once more on the logit scale, from the successes of runs on tasks.

Model: cbind(successes, failures) ~ 0 + cell + (1 | block) + (1 | task) + (1 | run), Laplace. The marginal risk
difference answers the question of the primary analysis; the one at random effects of zero is larger, because
it speaks of a task of average difficulty, and is printed apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equipoise_stats.decomposition import cell_name, contrast
from equipoise_stats.errors import StatsError
from equipoise_stats.glmm import marginal, wald
from equipoise_stats.glmm.fit import Fit, fit
from equipoise_stats.glmm.model import Counts
from equipoise_stats.glmm.wald import Wald
from equipoise_stats.layout import Layout
from equipoise_stats.lmm.model import intercept
from equipoise_stats.records import Question, TaskScore
from equipoise_stats.results import Contrast

QUESTION = "success on tasks like these, in runs like these, on the log-odds scale"


@dataclass(frozen=True)
class LogitComponent:
    """The SD of one random intercept in log odds; ``boundary`` where it is 0 (and the term stays in)."""

    term: str
    levels: int
    sd: float
    boundary: bool


@dataclass(frozen=True)
class LogitContrast:
    """One contrast: log odds ratio, marginal risk difference, and the one at random effects of zero."""

    condition: str
    kind: str
    log_odds: Wald
    risk_difference: Wald
    conditional: Wald


@dataclass(frozen=True)
class LogitCertificate:
    """The figures by which the optimum was certified."""

    decrement: float
    min_eigenvalue: float
    gradient: float


@dataclass(frozen=True)
class LogitModel:
    """The logit mixed model of task scores, ``fitted`` or ``refused`` with the reason.

    Attributes:
        separated: one sentence for each cell whose log odds are infinite.
    """

    status: str
    reason: str
    question: str
    rows: int
    episodes: int
    loglik: float | None = None
    components: tuple[LogitComponent, ...] = ()
    contrasts: tuple[LogitContrast, ...] = ()
    separated: tuple[str, ...] = ()
    certificate: LogitCertificate | None = None


def logit_model(
    tasks: Sequence[TaskScore], layout: Layout, contrasts: Sequence[Contrast], question: Question
) -> LogitModel:
    """Fit the logit model on every task score of the layout's cells, incomplete blocks included.

    Args:
        tasks: checked task scores.
        layout: names the cells.
        contrasts: the contrasts of the primary analysis; those without figures there are left out.
        question: the registered question.
    """
    place = {cell: i for i, cell in enumerate(layout.cells)}
    rows = sorted(
        (t for t in tasks if (t.condition, t.arm) in place),
        key=lambda t: (place[t.condition, t.arm], t.block, t.twin, t.task),
    )
    episodes = sum(t.episodes for t in rows)
    blank = LogitModel("refused", "", QUESTION, len(rows), episodes)
    missing = [cell_name(c) for c in layout.cells if c not in {(t.condition, t.arm) for t in rows}]
    if missing or not rows:
        reason = f"no task scores of {', '.join(missing)}" if missing else "no cell to compare"
        return LogitModel("refused", reason, QUESTION, len(rows), episodes)
    try:
        fitted = fit(_counts(rows, layout))
    except StatsError as error:
        return LogitModel("refused", "; ".join(error.faults), QUESTION, blank.rows, blank.episodes)
    return _summary(fitted, layout, contrasts, question, episodes)


def _counts(rows: Sequence[TaskScore], layout: Layout) -> Counts:
    place = {cell: i for i, cell in enumerate(layout.cells)}
    cell = np.array([place[t.condition, t.arm] for t in rows])
    design = np.zeros((len(rows), len(place)))
    design[np.arange(len(rows)), cell] = 1.0
    runs = [f"{c:06d}.{t.block}.{t.twin}" for c, t in zip(cell.tolist(), rows, strict=True)]
    return Counts(
        np.array([float(t.successes) for t in rows]),
        np.array([float(t.episodes) for t in rows]),
        design,
        tuple(cell_name(c) for c in layout.cells),
        (
            intercept("block", [t.block for t in rows]),
            intercept("task", [t.task for t in rows]),
            intercept("run", runs),
        ),
    )


def _summary(
    fitted: Fit, layout: Layout, contrasts: Sequence[Contrast], question: Question, episodes: int
) -> LogitModel:
    asked = [c for c in contrasts if c.estimable]
    labels = [f"{c.kind}({c.condition})" for c in asked]
    vectors = np.array([layout.coefficients(contrast(c.condition, c.kind, question)) for c in asked]).reshape(
        len(asked), len(layout.cells)
    )
    level = 1.0 - question.alpha
    cells = np.eye(len(layout.cells))
    found = [marginal.rates(fitted, cells, fitted.names, marginal=which) for which in (True, False)]
    over, at_zero = (marginal.risk_differences(f, vectors, labels, level=level) for f in found)
    odds = wald.contrasts(fitted, vectors, labels, level=level)
    certificate = fitted.certificate
    return LogitModel(
        "fitted",
        "",
        QUESTION,
        fitted.rows,
        episodes,
        fitted.loglik,
        tuple(LogitComponent(c.term, c.levels, c.sd, c.boundary) for c in fitted.components),
        tuple(
            LogitContrast(c.condition, c.kind, *figures)
            for c, *figures in zip(asked, odds, over, at_zero, strict=True)
        ),
        tuple(s.sentence for s in fitted.separated),
        LogitCertificate(certificate.decrement, certificate.min_eigenvalue, certificate.gradient),
    )
