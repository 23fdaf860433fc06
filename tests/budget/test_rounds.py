"""Plans of several rounds added up, by hand."""

import numpy as np
import pytest

from equipoise_budget import BudgetError, Joined, Levels, Plan, share_of

BATCH = Levels(np.array([2, 3, 1]), np.array([0, 0, 1]), np.array([0, 0, 1]))


def plan_of(example: list[int], weight: list[float], fill: str = "native") -> Plan:
    shown = [example[:place].count(turn) for place, turn in enumerate(example)]
    steps = np.arange(len(example)) // 2
    return Plan(np.array(example), np.array(shown), np.array(weight), steps, 2, fill)


def test_a_total_that_rounds_cannot_share_is_refused() -> None:
    assert share_of(12, 3) == 4
    with pytest.raises(BudgetError, match="expected a total that 3 rounds share exactly, got 10"):
        share_of(10, 3)


def test_batches_stand_one_after_the_other_and_tasks_are_the_same_ones() -> None:
    together = Levels.joined([BATCH, BATCH, BATCH])
    assert together.trajectory.tolist() == [0, 0, 1, 2, 2, 3, 4, 4, 5]
    assert together.task.tolist() == [0, 0, 1] * 3
    assert together.tokens.tolist() == [2, 3, 1] * 3


def test_an_example_of_one_round_is_none_of_another() -> None:
    joined = Joined([plan_of([0, 2, 0], [1.0, -1.0, 2.0]), plan_of([0, 1], [0.0, 3.0])], [BATCH, BATCH])
    assert joined.example.tolist() == [0, 2, 0, 3, 4]
    dose = joined.dose()
    # A ragged last step of the first round stays a step of its own.
    assert (dose.slots, dose.optimizer_steps, dose.unique_examples) == (5, 3, 4)
    assert dose.repetition == {1: 3, 2: 1}
    assert dose.tokens_in_loss == 2 + 1 + 2 + 2 + 3
    assert (dose.weight_abs, dose.weight_sq, dose.weight_mass) == (7.0, 15.0, 7.0)
    assert (dose.zero_weight_slots, dose.positive_slots) == (1, 3)
    # |w| by trajectory 3, 1, 3, of the second task in the second round none; by task 6 and 1.
    assert dose.ess_trajectories == pytest.approx(49 / 19)
    assert dose.ess_tasks == pytest.approx(49 / 37)
    assert (dose.trajectories, dose.tasks) == (3, 2)


def test_the_fills_of_rounds_are_told_each_once() -> None:
    plans = [plan_of([0, 1], [1.0, 1.0], fill) for fill in ("exact", "thin", "exact")]
    assert Joined(plans, [BATCH] * 3).fill == "exact, thin"


def test_weights_of_tokens_in_one_round_stand_beside_those_of_turns_in_another() -> None:
    fine = plan_of([0, 1], [1.0, 1.0]).with_tokens(
        np.array([1.0, 3.0, np.nan, 2.0, 2.0, 0.0]), np.array([0, 2, 5, 6])
    )
    joined = Joined([plan_of([2, 0], [4.0, 1.0]), fine], [BATCH, BATCH])
    np.testing.assert_array_equal(joined.token_weight, [4.0, 1.0, 1.0, 1.0, 3.0, np.nan, 2.0, 2.0])
    dose = joined.dose()
    assert dose.tokens_in_loss == 3 + 4
    # 5 by slots in the first round; two slots of mean |w| 2 in the second.
    assert dose.weight_mass == pytest.approx(5.0 + 2 * 2.0)
