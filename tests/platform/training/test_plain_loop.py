"""The trainer does, step by step, what a plain loop in torch does on the same slots."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.platform.training.plain import plain_loop

from equipoise.errors import ExecutionError
from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise.training.trainer import _gain
from equipoise_budget import Plan


@pytest.mark.parametrize(
    ("normalisation", "clip"),
    [("admissible", None), ("vocabulary", None), ("admissible", (0.2, 0.2)), ("vocabulary", (0.1, 0.28))],
)
def test_losses_norms_and_weights_of_every_step_are_those_of_aplain_loop(
    normalisation: str,
    clip: tuple[float, float] | None,
    settings: TrainingSettings,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Transcripts,
    train: Callable[..., Any],
) -> None:
    plan = make_plan(slots=22)
    changes: dict[str, Any] = {"normalisation": normalisation, "clip": clip, "temperature": 0.7}
    changes["learning_rate"] = 3e-2
    ours = train(make_model().double(), plan, **changes)
    plain = plain_loop(make_model().double(), transcripts, plan, replace(settings, **changes))
    steps = ours.result.counts.ledger.steps
    assert len(ours.weights) == len(plain.weights) == 6
    np.testing.assert_allclose(steps["loss"], plain.losses, atol=1e-8)
    np.testing.assert_allclose(steps["grad_norm"], plain.norms, atol=1e-8)
    for one, other in zip(ours.weights, plain.weights, strict=True):
        torch.testing.assert_close(one, other, atol=1e-8, rtol=0)


@pytest.mark.parametrize("clip", [None, (0.2, 0.2)])
def test_a_weight_for_every_token_is_what_a_plain_loop_makes_of_it(
    clip: tuple[float, float] | None,
    settings: TrainingSettings,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Transcripts,
    train: Callable[..., Any],
) -> None:
    rng = np.random.default_rng(2)
    credit = rng.normal(size=int(transcripts.token_offsets[-1]))
    credit[rng.random(credit.size) < 0.3] = np.nan
    credit[transcripts.token_offsets[:-1]] = 1.0  # a slot has at least one token in the loss
    plan = make_plan(slots=22).with_tokens(credit, transcripts.token_offsets)
    assert np.isnan(plan.token_weight).any()
    changes: dict[str, Any] = {"clip": clip, "learning_rate": 3e-2}
    ours = train(make_model().double(), plan, **changes)
    plain = plain_loop(make_model().double(), transcripts, plan, replace(settings, **changes))
    np.testing.assert_allclose(ours.result.counts.ledger.steps["loss"], plain.losses, atol=1e-8)
    assert ours.result.counts.tokens == int((~np.isnan(plan.token_weight)).sum())
    for one, other in zip(ours.weights, plain.weights, strict=True):
        torch.testing.assert_close(one, other, atol=1e-8, rtol=0)


def test_weights_for_the_tokens_of_another_batch_are_refused(
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Transcripts,
    train: Callable[..., Any],
) -> None:
    longer = transcripts.token_offsets + np.arange(transcripts.token_offsets.size)
    plan = make_plan(slots=8).with_tokens(np.ones(int(longer[-1])), longer)
    with pytest.raises(ExecutionError, match="is the plan of another batch"):
        train(make_model(), plan)


def test_the_clip_by_hand() -> None:
    weight = torch.tensor([1.0, 1.0, -1.0, -1.0, 2.0, 0.0])
    ratio = torch.tensor([1.5, 0.5, 1.5, 0.5, 1.0, 9.0])
    gain = _gain(ratio.log(), torch.zeros(6), weight, (0.2, 0.3))
    torch.testing.assert_close(gain, torch.tensor([1.3, 0.5, -1.5, -0.8, 2.0, 0.0]))


def test_the_first_step_is_the_same_with_and_without_a_clip(
    settings: TrainingSettings,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    train: Callable[..., Any],
) -> None:
    plan = make_plan(slots=12)
    free = train(make_model().double(), plan, learning_rate=3e-2)
    held = train(make_model().double(), plan, learning_rate=3e-2, clip=(0.05, 0.05))
    torch.testing.assert_close(free.weights[0], held.weights[0], atol=1e-8, rtol=0)
    assert (free.weights[-1] - held.weights[-1]).abs().max() > 1e-4
