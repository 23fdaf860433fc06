"""Training ends where it has moved far enough, and measuring that changes none of its steps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.policies.model import weights_digest
from equipoise.policies.transcripts import Transcripts
from equipoise.training.displacement import Moved, Watch, kl_from_start, l2_between, measured_turns
from equipoise_budget import Plan
from equipoise_budget.stopping import Stop

PATHS = (None, "dapo")
Run = Callable[..., Any]


@pytest.mark.parametrize("loss", PATHS)
def test_measuring_changes_no_step_and_gives_what_is_measured_afterwards(
    loss: str | None,
    make_plan: Callable[..., Plan],
    make_model: Callable[[], Any],
    transcripts: Transcripts,
    train: Run,
) -> None:
    plan, start = make_plan(slots=16), make_model()
    silent, watched = make_model(), make_model()
    plain = train(silent, plan, loss=loss).result.counts.ledger.steps
    steps = train(watched, plan, loss=loss, measure_every=2).result.counts.ledger.steps
    assert weights_digest(watched) == weights_digest(silent)
    assert plain["kl_from_start"] == plain["l2_from_start"] == [None] * 4
    turns = measured_turns(len(transcripts.trajectory))
    assert steps["kl_from_start"][1::2] != [None, None]
    assert [steps[name][0::2] for name in ("kl_from_start", "l2_from_start")] == [[None] * 2] * 2
    assert steps["kl_from_start"][3] == kl_from_start(start, watched, transcripts, turns)
    assert steps["l2_from_start"][3] == l2_between(start.parameters(), watched.parameters())
    assert steps["micro_batches"] == [1] * 4


@pytest.mark.parametrize("loss", PATHS)
def test_a_run_ends_at_the_first_step_in_the_window(
    loss: str | None, make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    plan = make_plan(slots=24)
    whole = train(make_model(), plan, loss=loss, measure_every=1)
    path = whole.result.counts.ledger.steps["kl_from_start"]
    assert path[2] > path[1] > 0
    # In the window from the third step on, not from the second.
    target = path[2] / 0.99
    tolerance = 0.5 * (1 - path[1] / target)
    stopped = train(make_model(), replace(plan, stop=Stop(target, min(tolerance, 0.05))), loss=loss)
    assert stopped.result.diverged is None
    assert stopped.result.counts.ledger.steps["kl_from_start"] == path[:3]
    assert len(stopped.result.counts.ledger) == 3
    assert stopped.result.counts.examples == plan.example[:12].tolist()
    torch.testing.assert_close(stopped.weights[2], whole.weights[2], atol=0, rtol=0)


def test_a_run_that_does_not_get_so_far_takes_all_its_steps(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    plan = replace(make_plan(slots=8), stop=Stop(1e3, 0.1))
    steps = train(make_model(), plan).result.counts.ledger.steps
    assert len(steps["kl_from_start"]) == plan.steps == 2
    assert None not in steps["kl_from_start"]


def test_a_run_that_arrives_at_its_last_step_is_complete(
    make_plan: Callable[..., Plan], make_model: Callable[[], Any], train: Run
) -> None:
    plan = replace(make_plan(slots=4), stop=Stop(1e-9, 0.1))
    assert len(train(make_model(), plan).result.counts.ledger) == 1


def test_only_what_is_due_is_measured(make_model: Callable[[], Any], transcripts: Transcripts) -> None:
    model = make_model()
    assert Watch.of(model, transcripts, None, None) is None
    watch = Watch.of(model, transcripts, 3, None)
    assert watch is not None
    assert watch.after(2, model) == Moved()
    assert watch.after(3, model) == Moved(0.0, 0.0, arrived=False)
    with torch.no_grad():
        model.model.norm.weight[:] = torch.inf
    broken = watch.after(6, model)
    assert (broken.kl, broken.arrived) == (None, False)
    # A stop needs every step, whatever was registered.
    stopping = Watch.of(model, transcripts, 3, Stop(0.5, 0.1))
    assert stopping is not None
    assert stopping.every == 1


def test_turns_are_measured_evenly_and_at_most_511_of_them() -> None:
    assert measured_turns(3) == [0, 1, 2]
    assert max(len(measured_turns(n)) for n in range(1, 2000)) == 511
    assert np.unique(np.diff(measured_turns(1537))).tolist() == [6]
