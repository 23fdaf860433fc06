from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_budget import Joined, Levels, Plan, allocated_steps, as_csv, side_by_side


def test_what_a_plan_allocates_to_each_step_by_hand(plan: Any) -> None:
    found = allocated_steps(plan(example=[0, 1, 0, 0], weight=[1.0, -2.0, 1.0, 1.0]), [3, 4, 5])
    assert found == {
        "slots": [2, 2],
        "tokens": [7, 6],
        "unique_examples": [2, 1],
        "weight_abs": [3.0, 2.0],
        "weight_sq": [5.0, 2.0],
        "ess": [9 / 5, 2.0],
    }


def test_padding_takes_a_slot_but_shows_no_example_and_has_no_token_in_the_loss(plan: Any) -> None:
    padded = plan(example=[0, 1, 0, 1], weight=[1.0, 2.0, 0, 0], presentation=[0, 0, -1, -1], fill="pad")
    found = allocated_steps(padded, [3, 4])
    assert (found["slots"], found["tokens"], found["unique_examples"]) == ([2, 2], [7, 0], [2, 0])
    assert found["ess"][1] == 0.0
    place = np.zeros(2, dtype=np.int64)
    dose = padded.dose([3, 4], trajectory=place, task=place)
    assert (dose.tokens_in_loss, dose.padding_tokens, dose.padding_slots) == (7, 7, 2)


def test_tokens_of_padding_with_weights_of_their_own_are_counted_apart(plan: Any) -> None:
    padded = plan(example=[0, 1, 0, 1], weight=[1.0, 2.0, 0, 0], presentation=[0, 0, -1, -1], fill="pad")
    fine = padded.with_tokens([1.0, np.nan, 1.0, 2.0], [0, 3, 4])
    assert fine.token_padding.tolist() == [False] * 4 + [True] * 4
    assert allocated_steps(fine, [3, 1])["tokens"] == [3, 0]
    place = np.zeros(2, dtype=np.int64)
    dose = fine.dose([3, 1], trajectory=place, task=place)
    assert (dose.tokens_in_loss, dose.padding_tokens) == (3, 3)
    both = Joined([fine, padded], [Levels(np.array([3, 1]), place, place)] * 2)
    assert (both.dose().tokens_in_loss, both.dose().padding_tokens) == (3 + 4, 3 + 4)


def test_tokens_with_weights_of_their_own_count_only_in_the_loss(plan: Any) -> None:
    fine = plan(example=[0, 1], weight=[1.0, 2.0]).with_tokens([1.0, np.nan, 1.0, 2.0], [0, 3, 4])
    assert allocated_steps(fine, [3, 1])["tokens"] == [3]


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_steps_add_up_to_the_dose_of_the_plan(slots: int, batch: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    example = np.arange(slots)
    tokens = rng.integers(1, 7, slots)
    shuffled = Plan(
        rng.permutation(example), 0 * example, rng.normal(size=slots), example // batch, batch, "native"
    )
    found = allocated_steps(shuffled, tokens)
    dose = shuffled.dose(tokens, trajectory=0 * example, task=0 * example)
    assert (sum(found["slots"]), len(found["slots"])) == (dose.slots, dose.optimizer_steps)
    assert (sum(found["tokens"]), sum(found["unique_examples"])) == (dose.tokens_in_loss, slots)
    assert sum(found["weight_abs"]) == pytest.approx(dose.weight_abs)
    assert sum(found["weight_sq"]) == pytest.approx(dose.weight_sq)


def test_a_step_that_was_not_taken_has_no_counts_rather_than_zeros() -> None:
    table = side_by_side({"slots": [2, 2], "ess": [1.5, 2.0]}, {"slots": [2], "ess": [1.5], "loss": [0.25]})
    assert table["step"] == [1, 2]
    assert (table["allocated_slots"], table["slots"], table["loss"]) == ([2, 2], [2, None], [0.25, None])
    assert table["tokens"] == [None, None]
    assert "allocated_loss" not in table
    first, second, third = as_csv(
        {name: table[name] for name in ("step", "allocated_slots", "slots")}
    ).splitlines()
    assert (first, second, third) == ("step,allocated_slots,slots", "1,2,2", "2,2,")
