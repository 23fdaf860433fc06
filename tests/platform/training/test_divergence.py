"""A run that stops being finite is a result: it ends there, with the last weights that were sound."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from equipoise.policies.model import weights_digest
from equipoise_budget import Plan


def _flat(model: Any) -> torch.Tensor:
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def test_an_absurd_learning_rate_ends_the_run_where_the_loss_is_lost(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Callable[..., Any]
) -> None:
    model = make_model()
    start = weights_digest(model)
    ran = train(model, make_plan(slots=16), learning_rate=1e30)
    assert ran.result.diverged is not None
    assert "became nan at optimizer step 2" in ran.result.diverged
    assert weights_digest(model) == start, "the one step that was taken is undone"
    assert len(ran.result.counts.ledger) == len(ran.weights) == 1
    assert np.isfinite(ran.result.counts.ledger.steps["grad_norm"]).all()
    assert not model.training


def test_the_steps_before_the_broken_one_are_kept(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Callable[..., Any]
) -> None:
    weight = np.array([1.0, -1.0] * 4 + [3e38] * 4 + [1.0] * 4)
    model = make_model()
    ran = train(model, make_plan(slots=16, weight=weight))
    assert ran.result.diverged is not None
    assert "at optimizer step 3" in ran.result.diverged
    assert len(ran.result.counts.ledger) == 2
    assert torch.equal(_flat(model), ran.weights[0]), "of the two steps taken the first is known to be sound"


def test_weights_that_break_in_the_last_step_are_noticed(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Callable[..., Any]
) -> None:
    model = make_model()
    start = weights_digest(model)
    absurd = {"learning_rate": 1e30, "weight_decay": 1e30}
    ran = train(model, make_plan(slots=4), **absurd)
    assert ran.result.diverged == "the weights stopped being finite at optimizer step 1"
    assert weights_digest(model) == start


def test_a_policy_that_is_broken_from_the_start_takes_no_step(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Callable[..., Any]
) -> None:
    model = make_model()
    with torch.no_grad():
        model.model.norm.weight[0] = torch.inf
    ran = train(model, make_plan(slots=8))
    assert ran.result.diverged is not None
    assert "at optimizer step 1" in ran.result.diverged
    assert len(ran.result.counts.ledger) == 0
    assert ran.result.counts.examples == []
