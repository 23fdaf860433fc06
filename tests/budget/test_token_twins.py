"""Weights of tokens in other places: every slot keeps its own, and the whole trajectory is open to them."""

from typing import Any

import numpy as np
import pytest

from equipoise_budget import BudgetError, Plan, token_twin

NAN = float("nan")
# Turns of 2, 2 and 3 tokens; in the last only two are in the loss.
OFFSETS = [0, 2, 4, 7]
WEIGHT = [1.0, 2.0, 3.0, 4.0, 5.0, NAN, 6.0]
INSIDE = [True, True, True, True, True, False, True]


def fine(plan: Any) -> Plan:
    base: Plan = plan(example=[0, 1, 0, 2], weight=[1.5, 3.5, 1.5, 5.5])
    return base.with_tokens(WEIGHT, OFFSETS)


@pytest.mark.parametrize("seed", range(8))
def test_weights_go_with_their_slot_onto_the_tokens_of_another_turn(plan: Any, seed: int) -> None:
    rule, ones = fine(plan), [1.0] * 3
    moves = [([2, 0, 1], ones), ([1, 2, 0], ones)]
    twin = token_twin(rule, moves, INSIDE, OFFSETS, np.random.default_rng(seed))
    assert twin.example.tolist() == [2, 0, 1, 0]
    assert twin.presentation.tolist() == [0, 0, 0, 1]
    assert twin.token_offsets.tolist() == [0, 3, 5, 7, 9]
    assert np.isnan(twin.token_weight[1]), "the token of turn 2 that is not in the loss"
    for slot in range(4):
        before = rule.token_weight[rule.token_offsets[slot] : rule.token_offsets[slot + 1]]
        after = twin.token_weight[twin.token_offsets[slot] : twin.token_offsets[slot + 1]]
        assert sorted(before[~np.isnan(before)]) == sorted(after[~np.isnan(after)])
    assert twin.weight.tolist() == rule.weight.tolist()
    again = token_twin(rule, moves, INSIDE, OFFSETS, np.random.default_rng(seed))
    assert again.digest() == twin.digest()


def test_tokens_of_a_turn_change_places_too(plan: Any) -> None:
    rule, stay = fine(plan), [([0, 1, 2], [1.0] * 3)] * 2
    orders = {
        tuple(token_twin(rule, stay, INSIDE, OFFSETS, np.random.default_rng(s)).token_weight[:2].tolist())
        for s in range(20)
    }
    assert orders == {(1.0, 2.0), (2.0, 1.0)}


def test_signs_stay_on_their_tokens(plan: Any) -> None:
    rule = fine(plan)
    twin = token_twin(rule, [], INSIDE, OFFSETS, np.random.default_rng(0), signs=True)
    assert np.array_equal(np.abs(twin.token_weight), rule.token_weight, equal_nan=True)
    assert (twin.token_weight < 0).any()


def test_a_turn_with_other_tokens_is_refused(plan: Any) -> None:
    ones = [1.0] * 3
    with pytest.raises(BudgetError, match="as many tokens in the loss"):
        token_twin(fine(plan), [([2, 1, 0], ones)] * 2, [True] * 7, OFFSETS, np.random.default_rng(0))
    coarse: Plan = plan(example=[0, 1], weight=[1.0, 2.0])
    with pytest.raises(BudgetError, match=r"use Plan\.twin"):
        token_twin(coarse, [], INSIDE, OFFSETS, np.random.default_rng(0))
