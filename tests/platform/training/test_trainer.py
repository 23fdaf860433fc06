"""What the trainer presents, counts and refuses, and what it leaves alone."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.errors import ExecutionError
from equipoise.policies.model import weights_digest
from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise.training.trainer import CreditTrainer
from equipoise_budget import BudgetError, Plan, breaches, counted_dose

Run = Callable[..., Any]


def _dose(counts: Any, displacement: float = 0.0) -> Any:
    return counted_dose(
        np.array(counts.examples),
        np.array(counts.weights),
        grad_norms=np.array(counts.ledger.steps["grad_norm"]),
        micro_batches=counts.micro_batches,
        tokens_in_loss=counts.tokens,
        tokens_forward=sum(counts.lengths),
        displacement=(displacement, None),
    )


def _planned(plan: Plan, transcripts: Transcripts) -> Any:
    tokens = np.diff(transcripts.token_offsets)
    return plan.dose(tokens, trajectory=transcripts.trajectory, task=transcripts.trajectory // 2)


def test_slots_are_presented_in_the_plans_order_and_counted_where_they_are(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], transcripts: Transcripts, train: Run
) -> None:
    plan = make_plan(slots=8)
    counts = train(make_model(), plan).result.counts
    assert counts.examples == plan.example.tolist()
    assert counts.weights == plan.weight.tolist()
    assert counts.lengths == [len(transcripts.row(turn)) for turn in plan.example]
    assert counts.micro_batches == 2
    tokens = np.diff(transcripts.token_offsets)[plan.example]
    steps = counts.ledger.steps
    assert steps["slots"] == [4, 4]
    assert steps["tokens"] == [tokens[:4].sum(), tokens[4:].sum()]
    assert steps["learning_rate"] == [3e-3, 3e-3]
    for name, power in (("weight_abs", 1), ("weight_sq", 2)):
        by_hand = (np.abs(plan.weight) ** power).reshape(2, 4).sum(axis=1)
        np.testing.assert_allclose(steps[name], by_hand, rtol=1e-12)
    assert breaches(_planned(plan, transcripts), _dose(counts), ledger=counts.ledger) == ()


@pytest.mark.parametrize(("slots", "steps"), [(10, [4, 4, 2]), (3, [3]), (1, [1])])
def test_a_ragged_last_step_is_taken_and_its_denominator_stays(
    slots: int,
    steps: list[int],
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Transcripts,
    train: Run,
) -> None:
    plan = make_plan(slots=slots)
    ran = train(make_model(), plan)
    ledger = ran.result.counts.ledger
    assert ledger.steps["slots"] == steps
    assert len(ran.weights) == len(steps) == math.ceil(slots / 4)
    assert breaches(_planned(plan, transcripts), _dose(ran.result.counts), ledger=ledger) == ()


def test_an_empty_slot_does_not_make_the_others_heavier(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    alone = train(make_model(), make_plan(slots=2, weight=[1.0, -0.5]))
    padded = train(make_model(), make_plan(slots=4, weight=[1.0, -0.5, 0.0, 0.0]))
    for name in ("loss", "grad_norm"):
        one, other = (ran.result.counts.ledger.steps[name][0] for ran in (alone, padded))
        assert one == pytest.approx(other, abs=1e-6)


def test_weights_of_one_are_plain_likelihood(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], transcripts: Transcripts, train: Run
) -> None:
    from equipoise.policies.scoring import score

    plan = make_plan(slots=4, weight=np.ones(4))
    model = make_model()
    likelihood = np.add.reduceat(score(model, transcripts), transcripts.token_offsets[:-1])[plan.example]
    loss = train(model, plan).result.counts.ledger.steps["loss"][0]
    assert loss == pytest.approx(-likelihood.sum() / 4, abs=1e-6)
    after = np.add.reduceat(score(model, transcripts), transcripts.token_offsets[:-1])[plan.example]
    assert after.sum() > likelihood.sum()


def test_negative_weights_make_actions_less_likely(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], transcripts: Transcripts, train: Run
) -> None:
    from equipoise.policies.scoring import score

    plan = make_plan(slots=4, weight=-np.ones(4))
    model = make_model()
    before = np.add.reduceat(score(model, transcripts), transcripts.token_offsets[:-1])[plan.example]
    train(model, plan)
    after = np.add.reduceat(score(model, transcripts), transcripts.token_offsets[:-1])[plan.example]
    assert after.sum() < before.sum()


def test_zero_weights_are_slots_that_move_nothing(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], transcripts: Transcripts, train: Run
) -> None:
    model, plan = make_model(), make_plan(slots=8, weight=np.zeros(8))
    before = weights_digest(model)
    counts = train(model, plan, weight_decay=0.0).result.counts
    assert weights_digest(model) == before
    dose = _dose(counts)
    assert (dose.slots, dose.optimizer_steps, dose.zero_weight_slots, dose.ess) == (8, 2, 8, 0.0)
    assert breaches(_planned(plan, transcripts), dose, ledger=counts.ledger) == ()


def test_the_norm_is_recorded_before_it_is_clipped(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    plan = make_plan(slots=4)
    norms = [
        train(make_model(), plan, max_grad_norm=limit).result.counts.ledger.steps["grad_norm"][0]
        for limit in (1e-3, 1e3)
    ]
    assert norms[0] == norms[1] > 1e-3


def test_a_plan_that_was_changed_afterwards_is_a_breach(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], transcripts: Transcripts, train: Run
) -> None:
    counts = train(make_model(), make_plan(slots=8)).result.counts
    longer, heavier = make_plan(slots=9), make_plan(slots=8, weight=np.full(8, 0.3))
    (first, *_) = breaches(_planned(longer, transcripts), _dose(counts))
    assert first == "expected 9 slots, counted 8"
    assert any(
        "sum of |w| of 2.4" in found for found in breaches(_planned(heavier, transcripts), _dose(counts))
    )
    counts.examples[0] = counts.examples[1]
    found = breaches(_planned(make_plan(slots=8), transcripts), _dose(counts), ledger=counts.ledger)
    assert "expected 8 different examples, counted 7" in found
    counts.micro_batches += 1
    counts.tokens -= 1
    found = breaches(_planned(make_plan(slots=8), transcripts), _dose(counts), ledger=counts.ledger)
    assert any(sentence.startswith("the ledger's tokens add up to") for sentence in found)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_credit_that_is_not_finite_does_not_get_as_far_as_a_trainer(
    bad: float, make_plan: Callable[..., Plan]
) -> None:
    with pytest.raises(BudgetError, match="slot 2: expected a finite weight"):
        make_plan(slots=4, weight=[1.0, 0.0, bad, 1.0])


def test_the_same_run_twice_gives_the_same_bits_whatever_the_trainers_seed(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    digests, seen = set(), set()
    for seed in (0, 0, 1234):
        torch.rand(seed % 7 + 1)
        np.random.random_sample(seed % 5 + 1)  # noqa: NPY002 - what badly behaved credit code would do
        model = make_model()
        counts = train(model, make_plan(slots=12), seed=seed).result.counts
        digests.add(weights_digest(model))
        seen.add(tuple(counts.examples))
    assert len(digests) == len(seen) == 1


def test_random_numbers_drawn_while_training_change_nothing(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    quiet, noisy = make_model(), make_model()
    train(quiet, make_plan(slots=12))
    noisy.model.register_forward_pre_hook(lambda *_: (torch.rand(3), np.random.random_sample())[:0] or None)  # noqa: NPY002
    train(noisy, make_plan(slots=12))
    assert weights_digest(noisy) == weights_digest(quiet)


def test_nothing_is_written_logged_or_reported_and_the_model_plays_on_in_single_precision(
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    settings: TrainingSettings,
    words: Any,
    transcripts: Transcripts,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    model = make_model()
    trainer = CreditTrainer(model, words, transcripts, make_plan(slots=8), settings, tmp_path / "trl")
    trainer.train()
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    args = trainer.args
    assert args.report_to == []
    assert not any((args.bf16, args.fp16, args.gradient_checkpointing, args.logging_nan_inf_filter))
    assert (args.max_steps, args.gradient_accumulation_steps, trainer.state.global_step) == (2, 1, 2)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert {p.device.type for p in model.parameters()} == {"cpu"}
    assert trainer.state.log_history == []
    assert "{'loss'" not in capfd.readouterr().out


def test_a_trained_model_still_samples(
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    train: Run,
    sampler: Any,
    starts: Any,
    uniforms: Any,
    bank: Any,
) -> None:
    from equipoise.policies.scoring import score

    model = make_model()
    train(model, make_plan(slots=12))
    assert not model.training
    played = replace(sampler, model=model).play(starts, uniforms)
    read = score(model, Transcripts.of(played, bank))
    np.testing.assert_allclose(read, [v for e in played for v in e.logprobs], atol=1e-5)


def test_a_trainer_that_ends_before_its_plan_is_found_out(
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    train: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CreditTrainer, "train", lambda self: self.counts.step(0.1))
    with pytest.raises(
        ExecutionError, match=r"expected 3 optimizer steps of 4 slots, counted 1; .* nothing of"
    ):
        train(make_model(), make_plan(slots=12))
