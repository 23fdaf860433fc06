"""Losses worked out by hand, and what they keep: masks, micro-batches, gradients."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from equipoise.errors import ExecutionError
from equipoise.training.losses import (
    AGG_MODES,
    LOSS_TYPES,
    AggMode,
    GRPOLossSettings,
    agg_loss,
    cts_surrogate_loss,
    dual_clip_loss,
    grpo_loss,
    kl_penalty,
)

LN2 = math.log(2)
DETACHED = ("cispo", "vespo")


def tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def settings(loss_type: str, **others: Any) -> GRPOLossSettings:
    return GRPOLossSettings(**{"loss_type": loss_type, "max_completion_length": 8, **others})


class Batch:
    """Four rows of ragged length, with a hole, and log-probabilities of three policies."""

    def __init__(self) -> None:
        source = torch.Generator().manual_seed(7)
        self.logps, self.old, self.ref = (-2 * torch.rand(4, 5, generator=source).double() for _ in range(3))
        self.credit = torch.randn(4, 5, generator=source).double()
        self.mask = tensor([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]])

    def loss(self, logps: Tensor, chosen: GRPOLossSettings, rows: slice = slice(None)) -> Tensor:
        return grpo_loss(
            logps[rows],
            self.credit[rows],
            self.mask[rows],
            chosen,
            old_logps=self.old[rows],
            ref_logps=self.ref[rows],
            num_items_in_batch=float(self.mask.sum()),
        )


@pytest.fixture
def batch() -> Batch:
    return Batch()


@pytest.mark.parametrize(
    ("loss_type", "expected"),
    [
        ("grpo", -((1 + 2 + 3) / 3 + 10) / 2),
        ("bnpo", -(1 + 2 + 3 + 10) / 4),
        ("dr_grpo", -(1 + 2 + 3 + 10) / (2 * 8)),
        ("dapo", -(1 + 2 + 3 + 10) / 4),
        ("luspo", -(1 + 2 + 3 + 10) / 2),
        ("sapo", None),
        ("cispo", None),
        ("vespo", None),
    ],
)
def test_on_policy_each_loss_is_its_own_mean_of_the_credit(loss_type: str, expected: float | None) -> None:
    logps = tensor([[-1.0, -2.0, -3.0], [-4.0, -5.0, -6.0]]).requires_grad_()
    credit, mask = tensor([[1.0, 2.0, 3.0], [10.0, 99.0, 99.0]]), tensor([[1, 1, 1], [1, 0, 0]])
    loss = grpo_loss(logps, credit, mask, settings(loss_type))
    slope = torch.autograd.grad(loss, logps)[0]
    if expected is not None:
        assert loss.item() == pytest.approx(expected)
        assert slope.sum().item() == pytest.approx(expected)
    elif loss_type == "sapo":
        # The gate at ratio 1 is 4 / t * sigmoid(0) = 2 / t, with slope 1.
        assert loss.item() == pytest.approx(-2 * ((1 + 2 + 3) / 3 + 10) / 2)
        assert slope.sum().item() == pytest.approx(-((1 + 2 + 3) / 3 + 10) / 2)
    else:
        # Weighted log-probabilities: cispo cuts the ratio at epsilon_high = 0.2, the gamma kernel is 1 at ratio 1.
        weight = 0.2 if loss_type == "cispo" else 1.0
        assert loss.item() == pytest.approx(weight * (1 * 1 + 2 * 2 + 3 * 3 + 10 * 4) / 4)
        assert slope.sum().item() == pytest.approx(-weight * (1 + 2 + 3 + 10) / 4)


def test_the_clip_stops_good_tokens_above_and_bad_tokens_below() -> None:
    logps = tensor([[LN2, -LN2, LN2, -LN2]]).requires_grad_()
    loss = grpo_loss(
        logps,
        tensor([[1.0, 1.0, -1.0, -1.0]]),
        torch.ones(1, 4),
        settings("dapo", epsilon=0.2, epsilon_high=0.28),
        old_logps=torch.zeros(1, 4, dtype=torch.float64),
    )
    assert loss.item() == pytest.approx((-1.28 - 0.5 + 2.0 + 0.8) / 4)
    assert torch.autograd.grad(loss, logps)[0].tolist() == [
        [0.0, pytest.approx(-0.5 / 4), pytest.approx(2 / 4), 0.0]
    ]


def test_delta_bounds_a_bad_token_that_became_likely() -> None:
    logps = tensor([[math.log(10.0)]]).requires_grad_()
    old = torch.zeros(1, 1, dtype=torch.float64)
    loss = grpo_loss(logps, tensor([-1.0]), torch.ones(1, 1), settings("dapo", delta=4.0), old_logps=old)
    assert loss.item() == pytest.approx(4.0)
    assert torch.autograd.grad(loss, logps)[0].item() == 0.0


def test_a_ratio_of_the_sequence_is_the_geometric_mean_of_its_tokens() -> None:
    logps, old = tensor([[0.1, -0.3, 5.0]]), torch.zeros(1, 3, dtype=torch.float64)
    chosen = settings("grpo", importance_sampling_level="sequence")
    loss = grpo_loss(logps, tensor([1.0]), tensor([[1, 1, 0]]), chosen, old_logps=old)
    assert loss.item() == pytest.approx(-math.exp(-0.1))


def test_the_divergence_is_added_a_token_with_its_weight() -> None:
    logps, ref = torch.zeros(1, 2, dtype=torch.float64), tensor([[LN2, 7.0]])
    loss = grpo_loss(logps, tensor([0.0]), tensor([[1, 0]]), settings("dapo", beta=0.5), ref_logps=ref)
    assert loss.item() == pytest.approx(0.5 * (2 - LN2 - 1))


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_a_row_of_equal_credit_is_a_credit_of_the_row(batch: Batch, loss_type: str, level: str) -> None:
    chosen = settings(loss_type, importance_sampling_level=level)
    rows = batch.credit[:, 0]
    losses = [
        grpo_loss(batch.logps, credit, batch.mask, chosen, old_logps=batch.old)
        for credit in (rows, rows.unsqueeze(1), rows.unsqueeze(1).expand(4, 5))
    ]
    assert losses[0] == losses[1] == losses[2]


@pytest.mark.parametrize("junk", [1e3, math.nan, -math.inf])
@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_a_token_that_the_mask_leaves_out_never_enters(
    batch: Batch, loss_type: str, level: str, junk: float
) -> None:
    chosen = settings(loss_type, importance_sampling_level=level, beta=0.04)
    found = []
    for filler in (-0.5, junk):
        filled = Batch()
        for name in ("logps", "old", "ref", "credit"):
            setattr(filled, name, torch.where(batch.mask.bool(), getattr(batch, name), filler))
        logps = filled.logps.requires_grad_()
        loss = filled.loss(logps, chosen)
        found.append((loss.item(), torch.autograd.grad(loss, logps)[0]))
    assert found[0][0] == found[1][0]
    assert torch.equal(found[0][1], found[1][1])
    assert not found[0][1][batch.mask == 0].any()


def test_a_tool_mask_removes_tokens_like_the_mask_itself(batch: Batch) -> None:
    for loss_type in LOSS_TYPES:
        chosen = settings(loss_type)
        split = grpo_loss(
            batch.logps, batch.credit, torch.ones(4, 5), chosen, old_logps=batch.old, tool_mask=batch.mask
        )
        joint = grpo_loss(batch.logps, batch.credit, batch.mask, chosen, old_logps=batch.old)
        assert split == joint


def micro_batches(batch: Batch, loss_type: str, cuts: list[slice]) -> float:
    chosen = settings(loss_type, gradient_accumulation_steps=len(cuts), steps_per_generation=len(cuts))
    return sum(batch.loss(batch.logps, chosen, rows).item() for rows in cuts)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_only_losses_over_the_generation_batch_survive_any_cut(batch: Batch, loss_type: str) -> None:
    whole = batch.loss(batch.logps, settings(loss_type)).item()
    halves = micro_batches(batch, loss_type, [slice(0, 2), slice(2, 4)])
    uneven = micro_batches(batch, loss_type, [slice(0, 1), slice(1, 4)])
    same_for_equal_rows = loss_type != "bnpo"
    assert (halves == pytest.approx(whole, rel=1e-12)) is same_for_equal_rows
    same_for_any = loss_type in ("dapo", *DETACHED)
    assert (uneven == pytest.approx(whole, rel=1e-12)) is same_for_any


def test_bnpo_survives_a_cut_into_equal_numbers_of_tokens(batch: Batch) -> None:
    batch.mask = torch.ones(4, 5, dtype=torch.float64)
    whole = batch.loss(batch.logps, settings("bnpo")).item()
    assert micro_batches(batch, "bnpo", [slice(0, 2), slice(2, 4)]) == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("level", ["token", "sequence"])
@pytest.mark.parametrize("loss_type", [name for name in LOSS_TYPES if name not in DETACHED])
def test_the_gradient_is_that_of_finite_differences(batch: Batch, loss_type: str, level: str) -> None:
    chosen = settings(loss_type, importance_sampling_level=level, beta=0.04)
    logps = batch.logps.requires_grad_()
    assert torch.autograd.gradcheck(lambda free: batch.loss(free, chosen), (logps,))


@pytest.mark.parametrize("loss_type", DETACHED)
def test_a_detached_weight_scales_the_score_function(batch: Batch, loss_type: str) -> None:
    logps = batch.logps.requires_grad_()
    loss = batch.loss(logps, settings(loss_type, epsilon_high=1.5))
    slope = torch.autograd.grad(loss, logps)[0]
    if loss_type == "cispo":
        weight = torch.exp(batch.logps - batch.old).clamp(max=1.5)
    else:
        ratio = torch.exp(((batch.logps - batch.old) * batch.mask).sum(1, keepdim=True))
        good = ratio**2 * torch.exp(3 - 3 * ratio)
        weight = torch.where(batch.credit >= 0, good, ratio**3 * torch.exp(2 - 2 * ratio))
    assert torch.allclose(slope, -weight * batch.credit * batch.mask / batch.mask.sum(), rtol=1e-12)


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_single_precision_stays_single_precision(batch: Batch, loss_type: str) -> None:
    logps = batch.logps.float().requires_grad_()
    loss = grpo_loss(logps, batch.credit.float(), batch.mask.bool(), settings(loss_type))
    assert loss.dtype == torch.float32
    assert torch.isfinite(torch.autograd.grad(loss, logps)[0]).all()


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
def test_a_batch_without_a_token_has_no_loss_and_no_gradient(batch: Batch, loss_type: str) -> None:
    logps = batch.logps.requires_grad_()
    loss = grpo_loss(logps, batch.credit, torch.zeros(4, 5), settings(loss_type), old_logps=batch.old)
    assert loss.item() == 0.0
    assert not torch.autograd.grad(loss, logps)[0].any()


@pytest.mark.parametrize(
    "wrong",
    [
        {"loss_type": "ppo"},
        {"importance_sampling_level": "turn"},
        {"loss_type": "dr_grpo", "max_completion_length": None},
        {"epsilon": -0.1},
        {"epsilon": math.nan},
        {"gradient_accumulation_steps": 0},
        {"sapo_temperature_neg": 0.0},
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ExecutionError, match=r"expected .*, got"):
        replace(GRPOLossSettings(), **wrong)


def test_tensors_that_do_not_fit_are_refused_rather_than_broadcast(batch: Batch) -> None:
    with pytest.raises(ExecutionError, match="advantages of shape"):
        grpo_loss(batch.logps, batch.credit[:, :2], batch.mask, settings("dapo"))
    with pytest.raises(ExecutionError, match="expected old_logps of shape"):
        grpo_loss(batch.logps, batch.credit, batch.mask, settings("dapo"), old_logps=batch.old[:, :1])
    with pytest.raises(ExecutionError, match="ref_logps"):
        grpo_loss(batch.logps, batch.credit, batch.mask, settings("dapo", beta=0.1))


def test_undefined_credit_on_a_token_that_counts_is_refused(batch: Batch) -> None:
    batch.credit[1, 3] = math.nan
    with pytest.raises(ExecutionError, match=r"1 that are not, the first at \(1, 3\)"):
        batch.loss(batch.logps, settings("dapo"))


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("token-mean", 15 / 3),
        ("seq-mean-token-sum", 15 / 2),
        ("seq-mean-token-mean", (3 / 2 + 12) / 2),
        ("seq-mean-token-sum-norm", 15 / 4),
    ],
)
def test_each_mode_of_aggregation_by_hand(mode: Any, expected: float) -> None:
    losses = tensor([[1.0, 2.0, 99.0, math.nan], [12.0, 99.0, 99.0, 99.0], [99.0, 99.0, 99.0, 99.0]])
    mask = tensor([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
    assert agg_loss(losses, mask, mode).item() == pytest.approx(expected, rel=1e-8)


def test_constants_of_the_whole_batch_make_micro_batches_add_up(batch: Batch) -> None:
    def part(mode: AggMode, row: int) -> float:
        return agg_loss(
            batch.credit[[row]],
            batch.mask[[row]],
            mode,
            batch_num_tokens=12,
            global_batch_size=4,
            loss_scale_factor=5,
        ).item()

    for mode in AGG_MODES:
        whole = agg_loss(batch.credit, batch.mask, mode).item()
        assert sum(part(mode, row) for row in range(4)) == pytest.approx(whole, rel=1e-12)


def test_an_unknown_mode_and_a_divisor_of_zero_are_refused(batch: Batch) -> None:
    with pytest.raises(ExecutionError, match="token-mean"):
        agg_loss(batch.credit, batch.mask, "mean")  # type: ignore[arg-type]
    with pytest.raises(ExecutionError, match="loss_scale_factor above 0"):
        agg_loss(batch.credit, batch.mask, "seq-mean-token-sum-norm", loss_scale_factor=0)


def test_dual_clip_bounds_bad_tokens_and_says_how_often() -> None:
    ratios, credit = tensor([[1.0, 2.0, 2.0, 9.0, 0.5]]), tensor([[1.0, 1.0, -1.0, -2.0, -1.0]])
    found = dual_clip_loss(ratios.log(), torch.zeros_like(ratios), credit, torch.ones(1, 5))
    assert found.loss.item() == pytest.approx((-1.0 - 1.2 + 2.0 + 6.0 + 0.8) / 5)
    assert found.clip_fraction == pytest.approx(2 / 5)
    assert found.clip_fraction_lower == pytest.approx(1 / 5)
    assert found.approx_kl == pytest.approx(-math.log(2 * 2 * 9 * 0.5) / 5)


def test_dual_clip_without_its_bound_is_the_clipped_loss(batch: Batch) -> None:
    found = dual_clip_loss(batch.logps, batch.old, batch.credit, batch.mask, clip_ratio_c=math.inf)
    assert found.loss.item() == pytest.approx(batch.loss(batch.logps, settings("dapo")).item(), rel=1e-12)
    with pytest.raises(ExecutionError, match="clip_ratio_c above 1"):
        dual_clip_loss(batch.logps, batch.old, batch.credit, batch.mask, clip_ratio_c=1.0)


def test_dual_clip_and_cts_have_the_gradient_of_finite_differences(batch: Batch) -> None:
    logps = batch.logps.requires_grad_()
    groups, rows = (2, 2, 5), batch.credit[:, 0].reshape(2, 2)

    def dual(free: Tensor) -> Tensor:
        return dual_clip_loss(free, batch.old, batch.credit, batch.mask).loss

    def cts(free: Tensor) -> Tensor:
        return cts_surrogate_loss(
            free.reshape(groups), batch.old.reshape(groups), batch.mask.reshape(groups), rows, kl_coef=0.1
        )

    assert torch.autograd.gradcheck(dual, (logps,))
    assert torch.autograd.gradcheck(cts, (logps,))


def test_cts_counts_an_empty_row_in_its_mean_where_verl_does_not() -> None:
    logps, mask, credit = (
        torch.zeros(1, 2, 2, dtype=torch.float64),
        tensor([[[1, 1], [0, 0]]]),
        tensor([[3.0, 7.0]]),
    )
    assert cts_surrogate_loss(logps, logps, mask, credit).item() == -3.0 / 2
    verl = agg_loss(-credit[0, :, None].expand(2, 2), mask[0], "seq-mean-token-mean")
    assert verl.item() == pytest.approx(-3.0, rel=1e-7)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [("k1", LN2), ("kl", LN2), ("abs", LN2), ("k2", LN2**2 / 2), ("mse", LN2**2 / 2), ("k3", LN2 - 0.5)],
)
def test_each_estimator_of_the_divergence_by_hand(estimator: str, expected: float) -> None:
    logprob = tensor([LN2]).requires_grad_()
    reference = torch.zeros(1, dtype=torch.float64)
    assert kl_penalty(logprob, reference, estimator).item() == pytest.approx(expected)
    value = kl_penalty(logprob, reference, f"{estimator}+")
    assert value.item() == pytest.approx(expected)
    assert torch.autograd.grad(value, logprob)[0].item() == pytest.approx(LN2)


def test_a_divergence_over_the_vocabulary_is_refused() -> None:
    with pytest.raises(ExecutionError, match="got 'full'"):
        kl_penalty(torch.zeros(1), torch.zeros(1), "full")
