"""One optimizer through several plans."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.policies.model import weights_digest
from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise.training.trainer import train_on_plan
from equipoise_budget import Plan


def rest_of(plan: Plan, steps: int) -> Plan:
    """What is left of a plan after its first steps, as a plan of its own."""
    example, weight = plan.example[steps * plan.batch :], plan.weight[steps * plan.batch :]
    shown = np.array([np.count_nonzero(example[:k] == example[k]) for k in range(example.size)])
    return Plan(example, shown, weight, np.arange(example.size) // plan.batch, plan.batch, plan.fill)


@pytest.mark.parametrize("loss", [None, "dr_grpo"])
def test_two_plans_with_the_moments_carried_on_leave_the_weights_of_one_plan_of_both(
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    words: Any,
    transcripts: Transcripts,
    settings: TrainingSettings,
    tmp_path: Path,
    loss: str | None,
) -> None:
    chosen = replace(settings, loss=loss, clip=None, weight_decay=0.01)
    plan = make_plan(slots=24)
    whole, halves, fresh = make_model(), make_model(), make_model()

    def train(model: Any, part: Plan, moments: Any = None) -> Any:
        return train_on_plan(model, words, transcripts, part, chosen, tmp_path, moments)

    once = train(whole, plan)
    first = train(halves, plan.until(2))
    second = train(halves, rest_of(plan, 2), first.moments)
    assert weights_digest(halves) == weights_digest(whole)
    rows = [*first.counts.ledger.rows, *second.counts.ledger.rows]
    for name in ("slots", "loss", "grad_norm", "learning_rate"):
        assert [getattr(row, name) for row in rows] == once.counts.ledger.steps[name]

    # An optimizer that begins anew ends elsewhere: what is carried on matters.
    train(fresh, plan.until(2))
    train(fresh, rest_of(plan, 2))
    assert weights_digest(fresh) != weights_digest(whole)


def test_a_run_that_diverges_has_nothing_to_carry_on(
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    words: Any,
    transcripts: Transcripts,
    settings: TrainingSettings,
    tmp_path: Path,
) -> None:
    hot = replace(settings, learning_rate=1e30)
    ended = train_on_plan(make_model(), words, transcripts, make_plan(slots=24), hot, tmp_path)
    assert ended.diverged is not None
    assert ended.moments is None
