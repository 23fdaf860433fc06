from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise_budget import Budget, Dose, Ledger, PlannedDose, StepRow, breaches, counted_dose


@pytest.fixture
def promised(plan: Any) -> PlannedDose:
    base = plan(example=[0, 1, 0, 2], weight=[1.0, -2.0, 1.0, 0.0])
    dose: PlannedDose = base.dose([3, 4, 5], trajectory=[0, 0, 1], task=[0, 0, 1])
    return dose


@pytest.fixture
def counted() -> Dose:
    return counted_dose(
        np.array([0, 1, 0, 2]),
        np.array([1.0, -2.0, 1.0, 0.0]),
        grad_norms=np.array([1.0, 1.0]),
        micro_batches=2,
        tokens_in_loss=15,
        tokens_forward=60,
        displacement=(0.1, 0.0),
    )


LEDGER = Ledger([StepRow(2, 7, 3.0, 5.0, 1.8, 1, 1, 1, 2), StepRow(2, 8, 1.0, 1.0, 1.0, 1, 1, 1, 2)])


def test_a_run_that_received_its_plan_has_no_breach(promised: PlannedDose, counted: Dose) -> None:
    assert breaches(promised, counted, budget=Budget(4, 2), ledger=LEDGER) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"slots": 3}, ("expected 4 slots, counted 3", "the budget is 4 slots, counted 3")),
        (
            {"optimizer_steps": 1},
            ("expected 2 optimizer steps, counted 1", "the budget is 2 steps, counted 1"),
        ),
        ({"tokens_in_loss": 14}, ("expected 15 tokens in the loss, counted 14",)),
        ({"unique_examples": 2}, ("expected 3 different examples, counted 2",)),
        ({"weight_abs": 4.1}, ("expected a sum of |w| of 4, counted 4.1",)),
        ({"ess": float("nan")}, ("expected an effective sample size of 2.66667, counted nan",)),
        ({"repetition": {1: 4}}, ("expected repetitions {1: 2, 2: 1}, counted {1: 4}",)),
        ({"positive_slots": 1}, ("expected 2 slots of positive weight, counted 1",)),
    ],
)
def test_every_breach_is_a_sentence(
    promised: PlannedDose, counted: Dose, change: dict[str, Any], said: tuple[str, ...]
) -> None:
    assert breaches(promised, replace(counted, **change), budget=Budget(4, 2)) == said


def test_single_precision_is_no_breach(promised: PlannedDose, counted: Dose) -> None:
    assert breaches(promised, replace(counted, weight_abs=4.0000002)) == ()


def test_a_ledger_that_tells_another_story_is_a_breach(promised: PlannedDose, counted: Dose) -> None:
    torn = breaches(promised, counted, ledger=Ledger(LEDGER.rows[:1]))
    assert torn[0] == "the ledger holds 1 steps, the dose 2"
    assert "the ledger's slots add up to 2, the dose says 4" in torn
