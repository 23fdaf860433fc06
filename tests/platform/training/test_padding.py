"""Empty slots leave every loss what it is without them, whatever they show."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.policies.transcripts import Transcripts
from equipoise_budget import Plan, allocated_steps

PATHS = (None, "grpo", "bnpo", "dr_grpo", "dapo")
Run = Callable[..., Any]


def _padded(plan: Plan, shown: int) -> Plan:
    """Steps of four of which the first two are the plan's and the others are empty; they show one turn."""
    slots = 2 * plan.slots
    empty = np.arange(slots) % 4 >= 2
    example = np.full(slots, shown)
    example[~empty] = plan.example
    weight = np.zeros(slots)
    weight[~empty] = plan.weight
    presentation = np.full(slots, -1)
    presentation[~empty] = plan.presentation
    return Plan(example, presentation, weight, np.arange(slots) // 4, 4, "pad")


@pytest.mark.parametrize("fine", [False, True])
@pytest.mark.parametrize("loss", PATHS)
def test_a_padded_step_is_the_step_without_its_empty_slots(
    loss: str | None,
    fine: bool,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Transcripts,
    train: Run,
) -> None:
    bare = make_plan(slots=8, batch=2)
    lengths = np.diff(transcripts.token_offsets)
    plans = [bare, *(_padded(bare, int(turn)) for turn in (lengths.argmin(), lengths.argmax()))]
    if fine:
        credit = np.random.default_rng(2).normal(size=int(transcripts.token_offsets[-1]))
        plans = [plan.with_tokens(credit, transcripts.token_offsets) for plan in plans]
    # Half of each batch is there: half the gradient.
    alone, short, long = (train(make_model().double(), plan, loss=loss, max_grad_norm=1e9) for plan in plans)
    first = alone.gradients[0] / 2
    assert first.abs().max() > 1e-3
    for padded in (short, long):
        torch.testing.assert_close(padded.gradients[0], first, atol=1e-12, rtol=0)
        for one, other in zip(padded.weights, short.weights, strict=True):
            torch.testing.assert_close(one, other, atol=1e-12, rtol=0)
        counts = padded.result.counts
        assert (counts.examples.count(-1), len(counts.weights), len(counts.ledger)) == (8, 16, 4)
        # An empty slot's tokens are in no loss: they are counted apart, and both counts are the plan's.
        plan = plans[1 if padded is short else 2]
        assert counts.tokens == alone.result.counts.tokens == int(lengths[bare.example].sum())
        assert counts.padding_tokens == int(lengths[plan.example[plan.padding]].sum()) > 0
        place = np.arange(transcripts.start.size)
        dose = plan.dose(lengths, trajectory=place, task=place)
        assert (dose.tokens_in_loss, dose.padding_tokens) == (counts.tokens, counts.padding_tokens)
        assert [row.tokens for row in counts.ledger.rows] == allocated_steps(plan, lengths)["tokens"]


@pytest.mark.parametrize("loss", PATHS)
def test_a_step_of_nothing_but_empty_slots_moves_nothing(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    bare = make_plan(slots=4)
    empty = replace(bare, weight=np.zeros(4), presentation=np.full(4, -1), fill="pad")
    ran = train(make_model(), empty, loss=loss, weight_decay=0.0)
    assert ran.result.diverged is None
    assert ran.result.counts.ledger.steps["loss"] == [0.0]
    assert ran.gradients[0].abs().max() == 0


@pytest.mark.parametrize("loss", [None, "dapo"])
def test_the_share_that_the_clip_held_back_by_hand(
    loss: str | None,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Transcripts,
    train: Run,
) -> None:
    from equipoise.policies.scoring import score

    plan, low, high = make_plan(slots=8), 0.01, 0.02
    start, once = make_model(), make_model()
    steps = train(make_model(), plan, loss=loss, clip=(low, high)).result.counts.ledger.steps
    assert steps["clip_fraction"][0] == 0.0  # nothing has moved yet
    train(once, make_plan(slots=4, weight=plan.weight[:4]), loss=loss, clip=(low, high))
    ratio = np.exp(score(once, transcripts) - score(start, transcripts))
    held, tokens = 0, 0
    for turn, weight in zip(plan.example[4:], plan.weight[4:], strict=True):
        own = ratio[transcripts.token_offsets[turn] : transcripts.token_offsets[turn + 1]]
        held += int((own > 1 + high).sum() if weight > 0 else (own < 1 - low).sum())
        tokens += own.size
    assert held > 0
    assert steps["clip_fraction"][1] == held / tokens
    assert train(make_model(), plan, loss=loss).result.counts.ledger.steps["clip_fraction"] == [None, None]
