"""Judge the suite's controls and its registered hypotheses on the contrasts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from equipoise_stats import student
from equipoise_stats.decomposition import CONTENT
from equipoise_stats.records import Hypothesis, Question
from equipoise_stats.results import Contrast, ControlCheck, Finding, HypothesisResult, Verdict
from equipoise_stats.wording import interval, p_value, signed

Contrasts = Mapping[tuple[str, str], Contrast]


def check_controls(contrasts: Contrasts, question: Question) -> tuple[ControlCheck, ...]:
    """Each control on its own: is the positive one detected, is the negative one silent?"""
    return tuple(
        _control(condition, question.controls[condition], contrasts[condition, CONTENT], question.alpha)
        for condition in question.conditions
        if condition in question.controls
    )


def _control(condition: str, role: str, content: Contrast, alpha: float) -> ControlCheck:
    name = f"{role} control {condition}"
    if content.estimate is None or content.t is None or content.df is None or content.p is None:
        return ControlCheck(condition, role, None, f"{name} could not be judged: {content.sentence}")
    shown = f"content {signed(content.estimate)}"
    if role == "positive":
        p = _upper(content)
        passed = p <= alpha
        said = f"{name} {'was' if passed else 'was NOT'} detected: {shown}, one-sided {p_value(p)}"
    else:
        p = content.p if content.p_adjusted is None else content.p_adjusted
        passed = p > alpha
        said = f"{name} {'is silent' if passed else 'is NOT silent'}: {shown}, two-sided {p_value(p)}"
    return ControlCheck(condition, role, passed, said, content.estimate, p)


def _upper(content: Contrast) -> float:
    """The one-sided p of a control, which stands outside the families; over the looks so far."""
    assert content.t is not None
    assert content.df is not None
    if not content.path or content.p_adjusted is None:
        return float(student.upper_p(content.t, content.df))
    return content.p_adjusted / 2 if content.t > 0 else 1 - content.p_adjusted / 2


def judge_hypotheses(
    contrasts: Contrasts, controls: Sequence[ControlCheck], question: Question
) -> tuple[HypothesisResult, ...]:
    """The finding of every registered hypothesis, in the order of registration.

    A control that failed, or could not be judged, makes all of them inadmissible, a broken budget those whose
    contrast needs the cell; then no figure is given. An amendment that came after a run was seen makes the rest
    DEVIATED: their figures are exploratory. A direction is confirmed or refuted by the two-sided
    p value adjusted in the contrast's family, so that no hypothesis can say more than its contrast's verdict.
    """
    failed = [control.sentence for control in controls if control.passed is not True]
    results = []
    for h in question.hypotheses:
        contrast = contrasts.get((h.condition, h.contrast))
        if contrast is None:
            said = f"{h.contrast}({h.condition}) is 0 by construction: every turn has the same credit"
            result = _blank(h, Finding.EQUIVALENT, said)
        else:
            result = _judge(h, contrast, failed, question.alpha)
        results.append(_deviated(result, question.deviations))
    return tuple(results)


def _deviated(result: HypothesisResult, deviations: Sequence[str]) -> HypothesisResult:
    if not deviations or result.verdict is Finding.INADMISSIBLE:
        return result
    said = f"{Finding.DEVIATED}: {'; '.join(deviations)}. Exploratory: {result.sentence}"
    return replace(result, verdict=Finding.DEVIATED, sentence=said, exploratory=result.verdict)


def _blank(hypothesis: Hypothesis, finding: Finding, sentence: str) -> HypothesisResult:
    h = hypothesis
    return HypothesisResult(h.id, h.says, h.condition, h.contrast, h.direction, finding, sentence)


def _judge(
    hypothesis: Hypothesis, contrast: Contrast, failed: Sequence[str], alpha: float
) -> HypothesisResult:
    if failed:
        return _blank(hypothesis, Finding.INADMISSIBLE, f"inadmissible: {'; '.join(failed)}")
    if contrast.verdict is Verdict.INADMISSIBLE:
        return _blank(hypothesis, Finding.INADMISSIBLE, f"inadmissible: {'; '.join(contrast.reasons)}")
    if contrast.verdict is Verdict.BY_CONSTRUCTION:
        return _blank(hypothesis, Finding.EQUIVALENT, contrast.sentence)
    if contrast.estimate is None or contrast.p_adjusted is None or contrast.t is None:
        return _blank(hypothesis, Finding.INCONCLUSIVE, contrast.sentence)
    finding = _finding(
        hypothesis.direction, contrast.estimate, contrast.p_adjusted <= alpha, contrast.verdict
    )
    ends = f" {interval(contrast.ci)}" if contrast.ci is not None else ""
    said = (
        f"{finding}: {contrast.kind}({contrast.condition}) is {signed(contrast.estimate)}{ends}, "
        f"adjusted {p_value(contrast.p_adjusted)}, expected {hypothesis.direction}"
    )
    if contrast.flags:
        said += f" (but {'; '.join(contrast.flags)})"
    return replace(
        _blank(hypothesis, finding, said),
        estimate=contrast.estimate,
        ci=contrast.ci,
        p=contrast.p,
        p_one_sided=_one_sided(hypothesis.direction, contrast.t, contrast.df or 1.0),
        p_adjusted=contrast.p_adjusted,
    )


def _finding(direction: str, estimate: float, shown: bool, verdict: Verdict) -> Finding:
    if shown:
        as_expected = direction == "two-sided" or (estimate > 0) == (direction == "greater")
        return Finding.CONFIRMED if as_expected else Finding.REFUTED
    return Finding.EQUIVALENT if verdict is Verdict.EQUIVALENT else Finding.INCONCLUSIVE


def _one_sided(direction: str, t: float, df: float) -> float | None:
    if direction == "two-sided":
        return None
    return float(student.upper_p(t if direction == "greater" else -t, df))
