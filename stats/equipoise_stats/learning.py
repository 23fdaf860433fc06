"""Did training teach anything? The matched baseline against the policy it started from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from equipoise_stats import figures
from equipoise_stats.records import Question, RunScore
from equipoise_stats.results import Learning
from equipoise_stats.wording import interval, p_value, signed


def learning(runs: Sequence[RunScore], question: Question, base: Mapping[int, float]) -> Learning:
    """The paired t of matched baseline minus base policy over the blocks that have both.

    Args:
        runs: checked run scores.
        question: names the baseline.
        base: success rate of the untrained base policy by block.
    """
    trained = {r.block: r.y for r in runs if (r.condition, r.arm) == (question.baseline, "matched")}
    blocks = sorted(trained.keys() & base.keys())
    if len(blocks) < 2:
        said = f"Learning cannot be judged: {len(blocks)} blocks have both base policy and matched baseline."
        return Learning(len(blocks), None, said)
    figure = figures.of_differences(np.array([trained[b] - base[b] for b in blocks]), question.alpha)
    if figure.p is None:
        said = f"Training {question.baseline} changed success by {signed(figure.estimate)} in every block."
        return Learning(len(blocks), figure, said)
    word = (
        "taught something"
        if figure.p <= question.alpha and figure.estimate > 0
        else "is not shown to have taught"
    )
    said = (
        f"Training {question.baseline} {word}: {signed(figure.estimate)} {interval(figure.ci)} "
        f"over the base policy in {len(blocks)} blocks, {p_value(figure.p)}."
    )
    return Learning(len(blocks), figure, said)
