"""The trainer does, step by step, what a plain loop in torch does on the same slots."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.errors import ExecutionError
from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise.training.trainer import _gain
from equipoise_budget import Plan


@dataclass
class _Loop:
    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    weights: list[torch.Tensor] = field(default_factory=list)


def _log_probability(
    model: Any, transcripts: Transcripts, turn: int, settings: TrainingSettings
) -> torch.Tensor:
    """Log-probabilities of one turn's action tokens, read alone and token by token."""
    row = transcripts.row(turn)
    logits = model(input_ids=torch.tensor(row)[None], use_cache=False).logits[0] / settings.temperature
    found = []
    for k, place in enumerate(range(transcripts.start[turn], transcripts.end[turn])):
        at = transcripts.token_offsets[turn] + k
        allowed = transcripts.allowed[transcripts.allowed_offsets[at] : transcripts.allowed_offsets[at + 1]]
        against = (
            logits[place - 1][torch.tensor(allowed)]
            if settings.normalisation == "admissible"
            else (logits[place - 1])
        )
        found.append(logits[place - 1, row[place]] - torch.logsumexp(against, dim=0))
    return torch.stack(found)


def _weights(plan: Plan, slot: int, tokens: int) -> torch.Tensor:
    """One weight a token, NaN outside the loss."""
    if not plan.token_offsets.size:
        return torch.full((tokens,), float(plan.weight[slot]), dtype=torch.float64)
    begin, end = plan.token_offsets[slot : slot + 2]
    return torch.from_numpy(plan.token_weight[begin:end].copy())


def _plain_loop(model: Any, transcripts: Transcripts, plan: Plan, settings: TrainingSettings) -> _Loop:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    scales = [p for p in model.parameters() if p.ndim == 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": scales, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate)
    done = _Loop()
    with torch.no_grad():
        old = [_log_probability(model, transcripts, int(turn), settings) for turn in plan.example]
    for step in range(plan.steps):
        optimizer.zero_grad()
        total = torch.zeros((), dtype=next(model.parameters()).dtype)
        for slot in np.flatnonzero(plan.step == step):
            logp = _log_probability(model, transcripts, int(plan.example[slot]), settings)
            weight = _weights(plan, int(slot), len(logp))
            inside = ~torch.isnan(weight)
            weight, logp = weight[inside], logp[inside]
            if settings.clip is None:
                total = total + (weight * logp).sum()
            else:
                ratio = torch.exp(logp - old[slot][inside])
                below, above = settings.clip
                held = torch.clip(ratio, 1 - below, 1 + above)
                total = total + torch.minimum(weight * ratio, weight * held).sum()
        loss = -total / plan.batch
        torch.autograd.backward(loss)
        done.norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)))
        optimizer.step()
        done.losses.append(float(loss.detach()))
        done.weights.append(torch.cat([p.detach().reshape(-1).clone() for p in model.parameters()]))
    return done


@pytest.mark.parametrize(
    ("normalisation", "clip"),
    [("admissible", None), ("vocabulary", None), ("admissible", (0.2, 0.2)), ("vocabulary", (0.1, 0.28))],
)
def test_losses_norms_and_weights_of_every_step_are_those_of_a_plain_loop(
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
    plain = _plain_loop(make_model().double(), transcripts, plan, replace(settings, **changes))
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
    plain = _plain_loop(make_model().double(), transcripts, plan, replace(settings, **changes))
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
