"""Refuse records and questions that cannot be analysed, naming every fault at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from equipoise_stats.decomposition import KINDS
from equipoise_stats.errors import StatsError
from equipoise_stats.records import (
    ARMS,
    DIRECTIONS,
    ENGINES,
    MULTIPLICITIES,
    ROLES,
    SPENDING,
    Hypothesis,
    Question,
    RunScore,
    TaskScore,
)


def check(
    runs: Sequence[RunScore], tasks: Sequence[TaskScore], question: Question, base: Mapping[int, float]
) -> None:
    """Refuse what cannot be analysed.

    Raises:
        StatsError: with one sentence for each fault of the question, the runs, the tasks and the base.
    """
    faults = [*_question_faults(question), *_run_faults(runs, question), *_task_faults(tasks, runs)]
    faults += [
        f"base policy of block {block}: expected a success rate in [0, 1], got {score}"
        for block, score in sorted(base.items())
        if not _is_rate(score)
    ]
    if faults:
        raise StatsError(faults)


def _is_rate(value: float) -> bool:
    return math.isfinite(value) and 0.0 <= value <= 1.0


def _choice(what: str, value: str, allowed: Sequence[str]) -> Iterator[str]:
    if value not in allowed:
        yield f"{what}: expected one of {', '.join(allowed)}, got '{value}'"


def _open_unit(what: str, value: float) -> Iterator[str]:
    if not (math.isfinite(value) and 0.0 < value < 1.0):
        yield f"{what}: expected a number between 0 and 1, both excluded, got {value}"


def _known(what: str, conditions: Sequence[str], question: Question) -> Iterator[str]:
    for condition in conditions:
        if condition not in question.conditions:
            known = ", ".join(question.conditions)
            yield f"{what} '{condition}' is not a condition; the conditions are {known}"


def _question_faults(question: Question) -> Iterator[str]:
    for condition, times in Counter(question.conditions).items():
        if times > 1:
            yield f"condition '{condition}' is named {times} times; name it once"
    yield from _known("baseline", (question.baseline,), question)
    yield from _known("control", tuple(question.controls), question)
    yield from _known("identical condition", sorted(question.identical), question)
    yield from _known("barred condition", sorted({c for c, _, _ in question.barred}), question)
    for condition, role in question.controls.items():
        yield from _choice(f"control '{condition}'", role, ROLES)
    if question.baseline in question.controls:
        yield f"baseline '{question.baseline}' cannot be a control; name another condition as the control"
    yield from _choice("primary", question.primary, ("content",))
    yield from _choice("multiplicity", question.multiplicity, MULTIPLICITIES)
    yield from _choice("engine", question.engine, ENGINES)
    yield from _looks_faults(question)
    yield from _gate_faults(question)
    for name in ("alpha", "smallest_effect", "power"):
        yield from _open_unit(name, getattr(question, name))
    for identifier, times in Counter(h.id for h in question.hypotheses).items():
        if times > 1:
            yield f"hypothesis '{identifier}' is registered {times} times; give each its own id"
    for hypothesis in question.hypotheses:
        yield from _hypothesis_faults(hypothesis, question)


def _gate_faults(question: Question) -> Iterator[str]:
    for kind, times in Counter(question.gatekeeping).items():
        yield from _choice("gatekeeping", kind, KINDS)
        if times > 1:
            yield f"gatekeeping names '{kind}' {times} times; name it once"


def _looks_faults(question: Question) -> Iterator[str]:
    looks, spending = question.looks, question.spending
    yield from _choice("spending", spending, SPENDING)
    if list(looks) != sorted(set(looks)):
        yield f"looks: expected numbers of blocks in increasing order, got {list(looks)}"
    if spending != "none" and (not looks or min(looks) < 2):
        wanted = f"with spending '{spending}' at least one look, each after 2 blocks or more"
        yield f"looks: expected {wanted}, got {list(looks)}"
    if spending == "none" and len(looks) > 1:
        yield f"spending: expected obf, pocock or e-process with {len(looks)} looks, got 'none'"
    if spending == "e-process" and question.engine in ("exact-stratum", "both"):
        yield f"engine: expected paired (or auto) with spending 'e-process', got '{question.engine}'"
    if question.look is not None and question.look not in looks:
        registered = ", ".join(map(str, looks)) or "none"
        yield f"look: expected a registered number of blocks ({registered}), got {question.look}"


def _hypothesis_faults(hypothesis: Hypothesis, question: Question) -> Iterator[str]:
    name = f"hypothesis '{hypothesis.id}'"
    yield from _choice(f"{name}: contrast", hypothesis.contrast, KINDS)
    yield from _choice(f"{name}: direction", hypothesis.direction, DIRECTIONS)
    yield from _known(f"{name}:", (hypothesis.condition,), question)
    if hypothesis.condition == question.baseline and hypothesis.contrast != "content":
        yield f"{name}: {hypothesis.contrast} compares a rule with the baseline; name a rule"


def _run_faults(runs: Sequence[RunScore], question: Question) -> Iterator[str]:
    yield from _known("run's condition", sorted({r.condition for r in runs}), question)
    blocks = len({r.block for r in runs})
    if question.looked and blocks < question.looked[-1]:
        yield (
            f"look: expected runs of {question.looked[-1]} blocks, got {blocks}; "
            "wait for them, or analyse at an earlier registered look"
        )
    if not any(r.condition == question.baseline for r in runs):
        yield f"no run of the baseline '{question.baseline}' among {len(runs)} runs"
    times = Counter((r.condition, r.arm, r.twin, r.block) for r in runs)
    for key in sorted(k for k, n in times.items() if n > 1):
        yield f"run {_key(*key)} is given {times[key]} times; give it once"
    for r in sorted(runs, key=lambda r: (r.condition, r.arm, r.twin, r.block)):
        name = f"run {_key(r.condition, r.arm, r.twin, r.block)}"
        yield from _choice(f"{name}: arm", r.arm, ARMS)
        if not _is_rate(r.y):
            yield (
                f"{name}: expected a success rate in [0, 1], got {r.y}; "
                "score a diverged run with the policy it started from"
            )
        for what, dose in (("steps", r.steps), ("effective sample size", r.ess)):
            if dose is not None and not (math.isfinite(dose) and dose > 0):
                yield f"{name}: expected assigned {what} above 0, or none, got {dose}"
        if r.episodes < 1:
            yield f"{name}: expected at least 1 episode, got {r.episodes}"
        if r.twin < 0 or (r.twin > 0 and r.arm != "twin"):
            yield f"{name}: expected twin 0 outside the twin arm and none below 0, got {r.twin}"


def _task_faults(tasks: Sequence[TaskScore], runs: Sequence[RunScore]) -> Iterator[str]:
    known = {(r.condition, r.arm, r.twin, r.block) for r in runs}
    times = Counter((t.condition, t.arm, t.twin, t.block, t.task) for t in tasks)
    for *key, task in sorted(k for k, n in times.items() if n > 1):
        yield f"task {task} of run {_key(*key)} is given more than once; give it once"
    strangers = {(t.condition, t.arm, t.twin, t.block) for t in tasks} - known
    for stranger in sorted(strangers):
        yield f"tasks of run {_key(*stranger)} are given, but not the run itself"
    for t in tasks:
        if not (t.episodes >= 1 and 0 <= t.successes <= t.episodes):
            yield (
                f"task {t.task} of run {_key(t.condition, t.arm, t.twin, t.block)}: "
                f"expected successes from 0 to at least 1 episode, got {t.successes} of {t.episodes}"
            )


def _key(condition: object, arm: object, twin: object, block: object) -> str:
    return f"{condition}.{arm}.{twin} of block {block}"
