"""The first screen: every verdict in a sentence, and whatever should shake a reader's trust in it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from equipoise_reports import numbers
from equipoise_reports.sections import budget, learning, robustness, verdicts
from equipoise_reports.study import Study
from equipoise_stats import Analysis, Contrast, ControlCheck, Finding, HypothesisResult, Verdict


@dataclass(frozen=True)
class Claim:
    """A registered hypothesis as the first screen shows it."""

    id: str
    says: str
    word: str
    mark: str
    sentence: str
    figures: str


@dataclass(frozen=True)
class Check:
    """A sentence with its style: ``good``, ``bad`` or nothing."""

    sentence: str
    mark: str = ""


@dataclass(frozen=True)
class Result:
    """What the first screen shows.

    Attributes:
        banners: a word in capitals and a sentence each.
        claims: the hypotheses; empty while planned runs are missing.
        controls: one check a control.
        budget: whether the budget held.
        learning: whether the baseline learned; None while outcomes are hidden.
        deviations: what a reader must know first.
        missing: the runs that are missing, block by block.
    """

    banners: tuple[tuple[str, str], ...]
    claims: tuple[Claim, ...]
    controls: tuple[Check, ...]
    budget: Check
    learning: str | None
    deviations: tuple[str, ...]
    missing: tuple[str, ...]


def view(study: Study) -> Result:
    """Say what came out, if all came out, and what did not go as registered."""
    spent, learned = budget.view(study), learning.view(study)
    final = None if study.interim else study.analysis
    deviations = list(study.deviations)
    if final is not None:
        deviations += [f"Block {out.block} is left out: {out.reason}." for out in final.left_out]
        deviations += filter(None, [robustness.disagreement(study)])
    return Result(
        banners=_banners(study, final),
        claims=tuple(_claim(final, item) for item in final.hypotheses) if final is not None else (),
        controls=_controls(final),
        budget=Check(spent.statement, "good" if spent.held else "bad"),
        learning=learned.statement if learned is not None else None,
        deviations=tuple(deviations),
        missing=_missing(study),
    )


def _banners(study: Study, final: Analysis | None) -> tuple[tuple[str, str], ...]:
    banners = []
    if study.exploratory:
        says = (
            "No registration precedes these runs. "
            "Read every number as a hint for a registered suite, not as evidence."
        )
        banners.append(("EXPLORATORY", says))
    if study.interim:
        done, all_blocks = len(study.complete_blocks), len(study.design.blocks)
        says = (
            f"{done} of {numbers.plural(all_blocks, 'block')} complete, "
            f"{numbers.plural(len(study.missing), 'run')} missing. "
            "No verdict is given before every planned run has ended."
        )
        banners.append(("INTERIM", says))
    if final is not None and final.sequential is not None:
        banners.append(("LOOK", numbers.sentence(final.sequential.sentence)))
    if final is not None and any(item.verdict is Finding.DEVIATED for item in final.hypotheses):
        says = "The registration was amended after a run had ended; read every figure as exploratory."
        banners.append(("DEVIATED", says))
    if final is not None and final.void:
        says = "A control did not behave as registered, so no hypothesis is judged."
        banners.append(("INADMISSIBLE", says))
    return tuple(banners)


def _claim(analysis: Analysis, item: HypothesisResult) -> Claim:
    word, mark = str(item.verdict), verdicts.finding_mark(item.verdict)
    contrast = verdicts.find(analysis, item.condition, item.kind)
    if item.estimate is None or contrast is None:
        return Claim(item.id, item.says, word, mark, numbers.sentence(item.sentence), "")
    joint = "simultaneous " if contrast.ci_simultaneous else ""
    figures = (
        f"{item.kind.upper()} of {item.condition}: {numbers.points(item.estimate)} points, "
        f"{joint}{verdicts.level(analysis)} interval "
        f"{numbers.interval(verdicts.bounds(contrast))}, adjusted {numbers.p_is(item.p_adjusted)}."
    )
    meaning = f"{_meaning(analysis, item, contrast)}{_beside(analysis, item)}"
    if contrast.flags and not analysis.void:
        meaning += f" But {'; '.join(contrast.flags)}."
    return Claim(item.id, item.says, word, mark, figures, meaning)


def _beside(analysis: Analysis, item: HypothesisResult) -> str:
    """Where the rule itself stands at the common budget: content is measured against its own placebo."""
    means = {(cell.condition, cell.arm): cell.mean for cell in analysis.cells}
    own, other = means.get((item.condition, "matched")), means.get((analysis.baseline, "matched"))
    if item.kind != "content" or own is None or other is None:
        return ""
    return (
        f" At equal slots and steps {item.condition} itself is {numbers.points(own - other)} points from "
        f"{analysis.baseline} (CONTENT + SHAPE)."
    )


def _meaning(analysis: Analysis, item: HypothesisResult, contrast: Contrast) -> str:
    margin = f"{100 * analysis.smallest_effect:g} points"
    if item.verdict is Finding.DEVIATED:
        return f"Exploratory: without the amendment it would be called {item.exploratory}."
    if item.verdict is Finding.CONFIRMED:
        large = contrast.verdict is Verdict.SUPERIOR_BY_MARGIN
        return f"As registered ({item.direction})" + (f", and by more than {margin}." if large else ".")
    if item.verdict is Finding.REFUTED:
        return f"The difference runs against what was registered ({item.direction})."
    if item.verdict is Finding.EQUIVALENT:
        return (
            f"The difference is smaller than {margin} either way (equivalence "
            f"{numbers.p_is(contrast.tost_p_adjusted)})."
        )
    blocks = contrast.blocks_to_settle
    more = (
        f" About {numbers.plural(blocks, 'block')} would detect {margin}; {len(analysis.blocks)} were run."
        if blocks
        else ""
    )
    return f"These runs neither show a difference nor rule one of {margin} out.{more}"


def _controls(final: Analysis | None) -> tuple[Check, ...]:
    return () if final is None else tuple(_control(item) for item in final.controls)


def _control(item: ControlCheck) -> Check:
    if item.passed is None or item.estimate is None:
        return Check(numbers.sentence(item.sentence))
    wanted = item.role == "positive"
    detected = item.passed if wanted else not item.passed
    said = (
        f"{item.condition}, the {item.role} control, was {'' if detected else 'not '}detected: "
        f"CONTENT {numbers.points(item.estimate)} points, {'one' if wanted else 'two'}-sided "
        f"{numbers.p_is(item.p)}."
    )
    return Check(
        said if item.passed else f"{said} It should {'' if wanted else 'not '}have been.",
        "good" if item.passed else "bad",
    )


def _missing(study: Study) -> tuple[str, ...]:
    by_block = Counter(block for block, _ in study.missing)
    whole = len(study.design.cells)
    lines = []
    for block, lacking in sorted(by_block.items()):
        if lacking == whole:
            lines.append(f"Block {block}: all {whole} runs")
            continue
        names = [
            f"{cell.condition} {cell.arm}" + (f" {cell.twin}" if cell.twin else "")
            for where, cell in study.missing
            if where == block
        ]
        shown = ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        lines.append(f"Block {block}: {numbers.plural(lacking, 'run')} of {whole} ({shown})")
    return tuple(lines)
