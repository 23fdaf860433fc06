"""What TRL does without saying so, pinned as it is, and that neither of our paths does it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.platform.training.stock import StockGRPO, StockSFT, signed
from torch import Tensor

from equipoise.errors import ExecutionError
from equipoise.policies.model import weights_digest
from equipoise_budget import BudgetError, Plan

PATHS = (None, "dapo")
Run = Callable[..., Any]

pytestmark = [
    pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning"),
    pytest.mark.filterwarnings("ignore:You are using 'rollout_func':UserWarning"),
]


@pytest.fixture
def stock(make_model: Callable[[], Any], words: Any, tmp_path: Path) -> Callable[..., StockGRPO]:
    """TRL's on-policy trainer after training on recorded rows with signed credit."""

    def run(credit: Callable[[int, int], Tensor] | None = signed, **changes: Any) -> StockGRPO:
        chosen = {"shuffle_dataset": False, "max_grad_norm": 1e9, **changes}
        trainer = StockGRPO(make_model(), words.to_transformers(), tmp_path, credit=credit, **chosen)
        trainer.train()
        return trainer

    return run


@pytest.fixture
def sft(make_model: Callable[[], Any], words: Any, tmp_path: Path) -> Callable[..., StockSFT]:
    def run(rows: int, **changes: Any) -> StockSFT:
        trainer = StockSFT(make_model(), words.to_transformers(), tmp_path, rows=rows, **changes)
        trainer.train()
        return trainer

    return run


# Fewer data than a batch


def test_trl_takes_no_step_on_fewer_rows_than_a_generation_batch_and_returns_as_if_it_had(
    stock: Callable[..., StockGRPO],
) -> None:
    trainer = stock(prompts=1, per_device_train_batch_size=8, max_steps=3)
    assert (trainer.state.global_step, trainer.seen) == (0, [])


@pytest.mark.parametrize("loss", PATHS)
def test_ours_takes_its_step_on_fewer_slots_than_a_batch(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    counts = train(make_model(), make_plan(slots=3), loss=loss).result.counts
    assert counts.ledger.steps["slots"] == [3]


@pytest.mark.parametrize("loss", PATHS)
def test_ours_refuses_a_training_that_ended_early(
    loss: str | None,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    train: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from equipoise.training.hooks import CountedTrainer

    monkeypatch.setattr(CountedTrainer, "train", lambda self: self.counts.step(0.1), raising=False)
    with pytest.raises(ExecutionError, match="expected 3 optimizer steps of 4 slots, counted 1"):
        train(make_model(), make_plan(slots=12), loss=loss)


# A ragged last batch


def test_trl_never_shows_the_prompts_that_fill_no_generation_batch(stock: Callable[..., StockGRPO]) -> None:
    assert stock(prompts=5, num_train_epochs=2).seen == [[0, 1], [2, 3], [0, 1], [2, 3]]


def test_trl_drops_the_rows_of_a_batch_that_fill_no_micro_batch() -> None:
    from trl.trainer.utils import split_tensor_dict

    chunks = split_tensor_dict({"row": torch.arange(7)}, 2)
    assert [chunk["row"].tolist() for chunk in chunks] == [[0, 1, 2], [3, 4, 5]]


def test_trl_gives_few_rows_at_the_end_of_an_epoch_the_weight_of_a_whole_batch(
    sft: Callable[..., StockSFT],
) -> None:
    trainer = sft(10, per_device_train_batch_size=4, gradient_accumulation_steps=2, num_train_epochs=1)
    # (optimizer step, rows, tokens that the step is divided by): 24 for eight rows, 6 for two.
    assert trainer.seen == [(0, 4, 24), (0, 4, 24), (1, 2, 6)]


@pytest.mark.parametrize("loss", [*PATHS, "grpo", "bnpo", "dr_grpo"])
def test_ours_shows_every_slot_and_gives_a_ragged_step_its_share(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    whole, ragged = make_plan(slots=1, batch=1), make_plan(slots=1, batch=4)
    norms = [
        train(make_model(), p, loss=loss).result.counts.ledger.steps["grad_norm"] for p in (whole, ragged)
    ]
    assert norms[1][0] == pytest.approx(norms[0][0] / 4, rel=1e-5)
    plan = make_plan(slots=10)
    assert train(make_model(), plan, loss=loss).result.counts.examples == plan.example.tolist()


# Credit that is not a number


def _one_nan(row: int, tokens: int) -> Tensor:
    return torch.full((tokens,), torch.nan if row == 0 else 1.0)


def test_trl_logs_a_loss_of_zero_while_a_single_nan_destroys_all_weights(
    stock: Callable[..., StockGRPO],
) -> None:
    trainer = stock(_one_nan, max_steps=2, logging_strategy="steps", logging_steps=1)
    assert trainer.args.logging_nan_inf_filter
    assert [entry["loss"] for entry in trainer.state.log_history[:2]] == [0.0, 0.0]
    assert trainer.state.global_step == 2
    assert all(torch.isnan(p).all() for p in trainer.model.parameters())


def test_trl_turns_a_missing_reward_into_an_advantage_of_zero_whose_tokens_still_count(
    make_model: Callable[[], Any], words: Any, tmp_path: Path
) -> None:
    seen = []

    class Looking(StockGRPO):
        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            seen.append((inputs["advantages"], inputs["num_items_in_batch"]))
            return super()._compute_loss(model, inputs)

    def reward(completions: list[str], **_: Any) -> list[float | None]:
        return [None, None, 1.0, 0.0]

    options: dict[str, Any] = {"max_steps": 1, "shuffle_dataset": False, "reward": reward}
    Looking(make_model(), words.to_transformers(), tmp_path, **options).train()
    ((advantages, items),) = seen
    assert sorted(advantages.tolist()) == pytest.approx([-0.7070, 0.0, 0.0, 0.7070], abs=1e-3)
    # Of 2 + 3 + 4 + 2 tokens two are not in the loss; four of the nine are in the rows without a reward.
    assert int(items) == 9


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_ours_refuses_such_credit_before_there_is_a_trainer(
    bad: float, make_plan: Callable[..., Plan]
) -> None:
    with pytest.raises(BudgetError, match="slot 1: expected a finite weight"):
        make_plan(slots=4, weight=[1.0, bad, 1.0, 1.0])


@pytest.mark.parametrize("loss", PATHS)
def test_ours_leaves_tokens_without_credit_out_of_sum_divisor_and_count(
    loss: str | None,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Any,
    train: Run,
) -> None:
    credit = np.full(int(transcripts.token_offsets[-1]), np.nan)
    credit[transcripts.token_offsets[:-1]] = 1.0
    model = make_model()
    ran = train(model, make_plan(slots=4).with_tokens(credit, transcripts.token_offsets), loss=loss)
    assert ran.result.counts.tokens == 4
    assert ran.result.diverged is None
    assert all(bool(torch.isfinite(p).all()) for p in model.parameters())
    if loss == "dapo":
        assert ran.result.counts.ledger.steps["loss"] == [-1.0]


@pytest.mark.parametrize("loss", PATHS)
def test_ours_ends_as_diverged_where_the_loss_is_lost(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    model = make_model()
    with torch.no_grad():
        model.model.norm.weight[0] = torch.inf
    ran = train(model, make_plan(slots=8), loss=loss)
    assert "at optimizer step 1" in str(ran.result.diverged)
    assert (len(ran.result.counts.ledger), ran.result.counts.examples) == (0, [])


# Random numbers


def test_trl_trains_otherwise_after_credit_that_draws_from_the_global_generator(
    stock: Callable[..., StockGRPO],
) -> None:
    def drawing(row: int, tokens: int) -> Tensor:
        torch.rand(1)
        return signed(row, tokens)

    changes = {"loss_type": "bnpo", "gradient_accumulation_steps": 2, "max_steps": 1}
    quiet, again, noisy = (stock(credit, **changes).gradients[0] for credit in (signed, signed, drawing))
    assert torch.equal(quiet, again)
    assert (quiet - noisy).abs().max() > 1e-3


@pytest.mark.parametrize("loss", PATHS)
def test_ours_does_not_notice_who_draws(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    def draw(*_: object) -> None:
        torch.rand(3)
        np.random.random_sample()  # noqa: NPY002 - what badly behaved credit code would do

    quiet, noisy = make_model(), make_model()
    noisy.model.register_forward_pre_hook(draw)
    first = train(quiet, make_plan(slots=12), loss=loss).result.counts
    torch.rand(5)
    second = train(noisy, make_plan(slots=12), loss=loss).result.counts
    assert weights_digest(quiet) == weights_digest(noisy)
    assert first.examples == second.examples


def test_trl_orders_prompts_by_its_seed_and_ignores_the_seed_for_data(
    stock: Callable[..., StockGRPO],
) -> None:
    def order(**seeds: int) -> list[list[int]]:
        return stock(prompts=8, max_steps=4, shuffle_dataset=True, **seeds).seen

    assert order(seed=1, data_seed=5) == order(seed=1, data_seed=6) != order(seed=2, data_seed=5)


@pytest.mark.parametrize("loss", PATHS)
def test_ours_presents_the_order_of_the_plan_under_any_seed(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    plan = make_plan(slots=12)
    for seed in (1, 2):
        counts = train(make_model(), plan, loss=loss, seed=seed).result.counts
        assert counts.examples == plan.example.tolist()


# Micro-batches


@pytest.mark.parametrize(
    ("loss_type", "same"), [("dapo", True), ("grpo", True), ("dr_grpo", True), ("bnpo", False)]
)
def test_of_trls_losses_bnpo_is_another_where_equal_micro_batches_differ_in_tokens(
    loss_type: str, same: bool, stock: Callable[..., StockGRPO]
) -> None:
    options = {"loss_type": loss_type, "max_steps": 1}
    whole = stock(per_device_train_batch_size=8, **options).gradients[0]
    cut = stock(per_device_train_batch_size=4, gradient_accumulation_steps=2, **options).gradients[0]
    assert bool((whole - cut).abs().max() < 1e-5 * whole.abs().max()) is same


@pytest.mark.parametrize(
    ("loss_type", "same"), [("dapo", True), ("grpo", False), ("dr_grpo", False), ("bnpo", False)]
)
def test_only_dapo_is_the_same_where_micro_batches_differ_in_rows(loss_type: str, same: bool) -> None:
    from equipoise.training.losses import GRPOLossSettings, grpo_loss

    mask = torch.tensor([[1, 1, 1], [1, 1, 0], [1, 0, 0]]).double()
    credit = torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, 0.0], [-1.0, 0.0, 0.0]]).double()

    def loss(rows: slice, cuts: int) -> Tensor:
        chosen = GRPOLossSettings(
            loss_type=loss_type,  # type: ignore[arg-type] # a name of the table above
            max_completion_length=1,
            gradient_accumulation_steps=cuts,
            steps_per_generation=cuts,
        )
        zeros = torch.zeros_like(credit[rows])
        return grpo_loss(zeros, credit[rows], mask[rows], chosen, num_items_in_batch=6)

    whole, cut = loss(slice(3), 1), loss(slice(2), 2) + loss(slice(2, 3), 2)
    assert bool(torch.isclose(whole, cut)) is same


def test_trls_dapo_divides_by_the_mean_of_steps_where_a_generation_lasts_for_several(
    stock: Callable[..., StockGRPO],
) -> None:
    options = {"loss_type": "dapo", "learning_rate": 0.0}
    one = stock(per_device_train_batch_size=4, max_steps=1, prompts=2, **options)
    two = stock(per_device_train_batch_size=4, steps_per_generation=2, max_steps=2, prompts=4, **options)
    assert (len(one.seen), len(two.seen), len(two.gradients)) == (1, 1, 2)
    whole = stock(per_device_train_batch_size=8, max_steps=1, prompts=4, **options).gradients[0]
    torch.testing.assert_close(sum(two.gradients) / 2, whole, atol=1e-6, rtol=0)


@pytest.mark.parametrize("loss", [*PATHS, "bnpo"])
def test_a_step_of_ours_is_one_micro_batch(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    counts = train(make_model(), make_plan(slots=12), loss=loss).result.counts
    assert counts.micro_batches == len(counts.ledger) == 3
