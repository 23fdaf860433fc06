"""TOTAL = CONTENT + SHAPE + VOLUME for every rule: the short table, the forest, and the whole statistics."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers, tables
from equipoise_reports.figures import forest
from equipoise_reports.figures.svg import Drawing
from equipoise_reports.sections import verdicts
from equipoise_reports.study import Study
from equipoise_reports.tables import Cell, Column, Row, Table
from equipoise_stats import Analysis, Contrast

# CONTENT stands first among the parts because claims rest on it.
KINDS = ("content", "shape", "volume", "total")
# CONTENT + SHAPE, the comparison at equal slots and steps, is secondary.
ORDER = (*KINDS, "matched")


@dataclass(frozen=True)
class Decomposition:
    """What the section shows.

    Attributes:
        void: whether a failed control takes the verdicts away.
        smallest: the smallest effect that matters, in words.
        identity: whether the parts add up, in a sentence.
        shares: of the gains that are due to volume, a sentence each.
        short: estimate and interval of every part.
        figure: the forest.
        full: every statistic of every contrast.
    """

    void: bool
    smallest: str
    identity: str
    shares: tuple[str, ...]
    short: Table
    figure: Drawing
    full: Table


def view(study: Study) -> Decomposition | None:
    """Show the decomposition; None while planned runs are missing."""
    if study.interim or study.analysis is None:
        return None
    analysis = study.analysis
    return Decomposition(
        void=analysis.void,
        smallest=f"{100 * analysis.smallest_effect:g} percentage points",
        identity=_identity(analysis),
        shares=tuple(numbers.sentence(share.sentence) for share in analysis.shares),
        short=short(analysis),
        figure=_forest(analysis),
        full=full(analysis),
    )


def rules(analysis: Analysis) -> tuple[str, ...]:
    """The conditions that are compared with the baseline, in the suite's order."""
    return tuple(name for name in analysis.conditions if name != analysis.baseline)


def _identity(analysis: Analysis) -> str:
    if analysis.identity_gap is None:
        return "No rule has all four effects, so the sum cannot be shown."
    if analysis.identity_gap < 1e-9:
        return "For every rule the parts add up to TOTAL, exactly but for the last digits of the arithmetic."
    return f"The parts miss TOTAL by up to {numbers.decimal(100 * analysis.identity_gap, 4)} points."


def short(analysis: Analysis) -> Table:
    """Estimate and interval of every part, one row a rule."""
    columns = (
        Column("Condition", numeric=False),
        Column("TOTAL"),
        Column("= CONTENT"),
        Column("+ SHAPE"),
        Column("+ VOLUME"),
        Column("Verdict on CONTENT", numeric=False),
    )
    rows = []
    for name in rules(analysis):
        parts = {kind: verdicts.find(analysis, name, kind) for kind in KINDS}
        verdict = verdicts.cell(analysis, parts["content"])
        cells = tuple(verdicts.brief(parts[kind]) for kind in ("total", "content", "shape", "volume"))
        rows.append(Row(Cell(name), (*cells, verdict)))
    caption = (
        f"Percentage points against {analysis.baseline}, with {verdicts.level(analysis)} intervals "
        "(simultaneous over the rules of a family; each on its own for controls)."
    )
    return Table("decomposition-short", caption, columns, tuple(rows))


def _forest(analysis: Analysis) -> Drawing:
    effects = []
    for contrast in analysis.contrasts:
        if contrast.condition == analysis.baseline or contrast.kind not in KINDS:
            continue
        limits = verdicts.bounds(contrast)
        if contrast.estimate is None or contrast.verdict in verdicts.WORDLESS or limits is None:
            words = str(contrast.verdict)
            effects.append(forest.Effect(contrast.condition, contrast.kind.upper(), None, 0.0, 0.0, words))
        else:
            effects.append(
                forest.Effect(contrast.condition, contrast.kind.upper(), contrast.estimate, *limits)
            )
    caption = (
        f"Estimates with {verdicts.level(analysis)} intervals. The band is "
        f"±{100 * analysis.smallest_effect:g} points, "
        "the smallest effect that matters. A filled dot marks an interval that leaves out zero."
    )
    return forest.draw(effects, rules(analysis), analysis.smallest_effect, caption)


def full(analysis: Analysis) -> Table:
    """Every contrast with every statistic, by kind and then by condition."""
    columns = (
        Column("Effect", numeric=False),
        Column("Condition", numeric=False),
        Column("Verdict", numeric=False),
        Column("Estimate", "percentage points"),
        Column("SE", "standard error, percentage points"),
        Column("df"),
        Column("t"),
        Column("p"),
        Column("Adjusted p", "within the family of its kind"),
        Column("Interval", "for this contrast alone"),
        Column("Simultaneous", "for all contrasts of the family together"),
        Column("TOST p", "two one-sided tests against the smallest effect, adjusted within the family"),
    )
    place = {name: position for position, name in enumerate(analysis.conditions)}
    ordered = sorted(analysis.contrasts, key=lambda item: (ORDER.index(item.kind), place[item.condition]))
    rows, before = [], ""
    for item in ordered:
        rows.append(
            Row(
                Cell(item.kind.upper()),
                _statistics(analysis, item),
                first_of_group=before not in ("", item.kind),
            )
        )
        before = item.kind
    caption = (
        "Every contrast: estimates, standard errors and intervals in percentage points, "
        f"level {analysis.alpha:g}, {analysis.multiplicity} within each family. "
        "A rule wins only on CONTENT; the other families are secondary. MATCHED is CONTENT + SHAPE."
    )
    return Table("decomposition-full", caption, columns, tuple(rows), sortable=True)


def _statistics(analysis: Analysis, item: Contrast) -> tuple[Cell, ...]:
    name = (tables.word(item.condition), verdicts.cell(analysis, item))
    if item.estimate is None or item.verdict in verdicts.WORDLESS:
        empty = Cell("", sort="")
        return (*name, *[empty] * 9)
    df = item.df
    return (
        *name,
        tables.points(item.estimate),
        tables.number(None if item.se is None else 100 * item.se, 2),
        tables.number(df, 0 if df is not None and float(df).is_integer() else 1),
        tables.number(item.t),
        tables.p_value(item.p),
        tables.p_value(item.p_adjusted),
        Cell(numbers.interval(item.ci), sort=item.ci[0] if item.ci else ""),
        Cell(
            numbers.interval(item.ci_simultaneous),
            sort=item.ci_simultaneous[0] if item.ci_simultaneous else "",
        ),
        tables.p_value(item.tost_p_adjusted if item.tost_p_adjusted is not None else item.tost_p),
    )
