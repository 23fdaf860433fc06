"""TRL's on-policy trainer on recorded rows does what a plain loop in torch does, and counts it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests.platform.training.plain import plain_loop

from equipoise.policies.model import weights_digest
from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise_budget import Plan, breaches, counted_dose

LOSSES = ("grpo", "bnpo", "dr_grpo", "dapo")
PATHS = (None, *LOSSES)
Run = Callable[..., Any]


@pytest.fixture
def holed(make_plan: Callable[..., Plan], transcripts: Transcripts) -> Callable[..., Plan]:
    """Plans with a credit of either sign for every token, three in ten of which are not in the loss."""

    def make(**changes: Any) -> Plan:
        rng = np.random.default_rng(2)
        credit = rng.normal(size=int(transcripts.token_offsets[-1]))
        credit[rng.random(credit.size) < 0.3] = np.nan
        credit[transcripts.token_offsets[:-1]] = -1.0  # a slot has at least one token in the loss
        plan = make_plan(**changes).with_tokens(credit, transcripts.token_offsets)
        assert np.isnan(plan.token_weight).any()
        return plan

    return make


@pytest.fixture
def both(
    make_model: Callable[[], Any], transcripts: Transcripts, settings: TrainingSettings, train: Run
) -> Callable[..., tuple[Any, Any]]:
    """The trainer and the plain loop on the same slots, both in double precision."""

    def run(plan: Plan, **changes: Any) -> tuple[Any, Any]:
        ours = train(make_model().double(), plan, **changes)
        return ours, plain_loop(make_model().double(), transcripts, plan, replace(settings, **changes))

    return run


def _agree(ours: Any, plain: Any) -> None:
    steps = ours.result.counts.ledger.steps
    assert ours.result.diverged is None
    np.testing.assert_allclose(steps["loss"], plain.losses, atol=1e-8, rtol=0)
    np.testing.assert_allclose(steps["grad_norm"], plain.norms, atol=1e-8, rtol=0)
    for got, expected in ((ours.gradients, plain.gradients), (ours.weights, plain.weights)):
        for one, other in zip(got, expected, strict=True):
            torch.testing.assert_close(one, other, atol=1e-8, rtol=0)


@pytest.mark.parametrize("clip", [None, (0.2, 0.28)])
@pytest.mark.parametrize("loss", PATHS)
def test_one_step_is_that_of_a_plain_loop_with_signed_credit_and_holes_in_the_mask(
    loss: str | None, clip: tuple[float, float] | None, holed: Callable[..., Plan], both: Run
) -> None:
    plan = holed(slots=8, batch=8)
    ours, plain = both(plan, loss=loss, clip=clip, max_grad_norm=1e6)
    _agree(ours, plain)
    assert len(ours.weights) == 1
    assert plain.gradients[0].abs().max() > 1e-3


@pytest.mark.parametrize("normalisation", ["admissible", "vocabulary"])
@pytest.mark.parametrize("loss", LOSSES)
def test_many_steps_off_the_collecting_policy_and_a_ragged_last_one_are_those_of_a_plain_loop(
    loss: str, normalisation: str, holed: Callable[..., Plan], both: Run
) -> None:
    changes: dict[str, Any] = {"normalisation": normalisation, "temperature": 0.7, "learning_rate": 3e-2}
    ours, plain = both(holed(slots=22), loss=loss, clip=(0.1, 0.28), **changes)
    _agree(ours, plain)
    assert len(ours.weights) == 6


def test_dr_grpo_takes_the_steps_of_the_weighted_likelihood(
    holed: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    plan = holed(slots=22)
    ours, other = (train(make_model().double(), plan, loss=loss) for loss in ("dr_grpo", None))
    for one, two in zip(ours.weights, other.weights, strict=True):
        torch.testing.assert_close(one, two, atol=1e-12, rtol=0)
    one, two = (ran.result.counts.ledger.steps["grad_norm"] for ran in (ours, other))
    np.testing.assert_allclose(one, two, rtol=1e-10)


def test_losses_differ_by_what_they_divide_by(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], transcripts: Transcripts, train: Run
) -> None:
    plan = make_plan(slots=4, weight=np.ones(4))
    tokens = np.diff(transcripts.token_offsets)[plan.example]
    assert len(set(tokens)) > 1
    found = {
        loss: train(make_model(), plan, loss=loss).result.counts.ledger.steps["loss"][0] for loss in LOSSES
    }
    # At ratio 1 every token adds its credit, 1.
    by_hand = {"grpo": -1.0, "bnpo": -1.0, "dapo": -1.0, "dr_grpo": -tokens.sum() / 4}
    assert found == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_slots_tokens_steps_and_weights_are_counted_as_on_the_other_path(
    loss: str, holed: Callable[..., Plan], make_model: Callable[[], Any], transcripts: Transcripts, train: Run
) -> None:
    plan = holed(slots=10)
    counts, other = (train(make_model(), plan, loss=name).result.counts for name in (loss, None))
    assert counts.examples == plan.example.tolist()
    assert counts.weights == plan.weight.tolist()
    assert counts.lengths == other.lengths
    assert counts.tokens == int((~np.isnan(plan.token_weight)).sum())
    assert counts.micro_batches == len(counts.ledger) == 3
    ours, theirs = counts.ledger.steps, other.ledger.steps
    for name in ("slots", "tokens", "weight_abs", "weight_sq", "ess", "learning_rate"):
        assert ours[name] == theirs[name]
    dose = counted_dose(
        np.array(counts.examples),
        np.array(counts.weights),
        grad_norms=np.array(ours["grad_norm"]),
        micro_batches=counts.micro_batches,
        tokens_in_loss=counts.tokens,
        tokens_forward=sum(counts.lengths),
        displacement=(0.0, None),
    )
    inside = np.add.reduceat(~np.isnan(plan.token_weight), plan.token_offsets[:-1], dtype=np.int64)
    tokens = np.zeros(len(transcripts.trajectory), dtype=np.int64)
    tokens[plan.example] = inside
    planned = plan.dose(tokens, trajectory=transcripts.trajectory, task=transcripts.trajectory // 2)
    assert breaches(planned, dose, ledger=counts.ledger) == ()


@pytest.mark.parametrize("batch", [1, 3, 5])
def test_batches_need_not_be_whole_groups(
    batch: int, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    steps = train(make_model(), make_plan(slots=7, batch=batch), loss="dapo").result.counts.ledger.steps
    assert steps["slots"] == [min(batch, 7 - at) for at in range(0, 7, batch)]


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_weights_are_slots_that_move_nothing(
    loss: str, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    model = make_model()
    before = weights_digest(model)
    ran = train(model, make_plan(slots=8, weight=np.zeros(8)), loss=loss, weight_decay=0.0)
    assert weights_digest(model) == before
    assert ran.result.counts.ledger.steps["slots"] == [4, 4]


def test_an_absurd_learning_rate_ends_the_run_at_its_last_sound_weights(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    model = make_model()
    start = weights_digest(model)
    ran = train(model, make_plan(slots=16), loss="dapo", learning_rate=1e30)
    assert ran.result.diverged is not None
    assert "became nan at optimizer step 2" in ran.result.diverged
    assert weights_digest(model) == start
    assert len(ran.result.counts.ledger) == 1
    assert not model.training


def test_the_same_run_twice_gives_the_same_bits_whatever_the_trainers_seed(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    digests = set()
    for seed in (0, 0, 1234):
        torch.rand(seed % 7 + 1)
        model = make_model()
        counts = train(model, make_plan(slots=12), loss="dapo", seed=seed).result.counts
        digests.add((weights_digest(model), tuple(counts.examples)))
    assert len(digests) == 1
