from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, RuleError

RULE = RULES["tempo"]
PLAIN = {"std": "none"}


def answers(batch: Any, *tokens: list[int], outcome: list[float], **columns: Any) -> Any:
    n = len(tokens)
    return batch(
        outcome=outcome, lengths=[1] * n, token_offsets=np.cumsum([0, *map(len, tokens)]),
        token=np.concatenate(tokens), state=np.zeros(n, dtype=int), **columns,
    )  # fmt: skip


def term(t: Any, params: Any = None) -> Any:
    """The correction alone: the credit without GRPO's part."""
    score = RULES["grpo"].apply(t, Context(), PLAIN).value[t.trajectory_of_token]
    return RULE.apply(t, Context(), PLAIN | (params or {})).value - score


def test_a_worked_tree(batch: Any) -> None:
    # V(root) = 2/4; after 1: 1/3; after 1 5: 1/2, after 1 6: 0; after 2: 1. Only token 0 of each, and
    # the second and third of what begins with 1 or 1 5, choose among branches.
    t = answers(batch, [1, 5, 7], [1, 5, 8], [1, 6, 9], [2, 5, 7], outcome=[1, 0, 0, 1])
    expected = [-1 / 6, 1 / 6, 1 / 2, -1 / 6, 1 / 6, -1 / 2, -1 / 6, -1 / 3, 0, 1 / 2, 0, 0]
    np.testing.assert_allclose(term(t), expected, atol=1e-12)


def test_terms_along_an_answer_add_up_to_its_outcome_minus_the_mean(batch: Any) -> None:
    rng = np.random.default_rng(3)
    rows = [[*rng.integers(0, 2, rng.integers(1, 6)).tolist(), 100 + i] for i in range(8)]
    outcome = rng.normal(size=8)
    t = answers(batch, *rows, outcome=outcome.tolist())
    total = np.bincount(t.trajectory_of_token, term(t))
    np.testing.assert_allclose(total, outcome - outcome.mean(), atol=1e-9)


def test_shared_tokens_are_not_corrected_and_an_end_is_a_way_to_go_on(batch: Any) -> None:
    # The second answer ends where the first goes on: going on is worth 1 against a mean of 1/2.
    t = answers(batch, [1, 2], [1], outcome=[1, 0])
    np.testing.assert_allclose(term(t), [0, 0.5, 0])


def test_equal_answers_and_equal_outcomes_leave_grpo(batch: Any) -> None:
    assert term(answers(batch, [1, 2], [1, 2], outcome=[1, 0])).tolist() == [0.0] * 4
    assert term(answers(batch, [1, 2], [3, 4], outcome=[0.1, 0.1])).tolist() == [0.0] * 4
    assert term(answers(batch, [1], outcome=[1.0])).tolist() == [0.0]


def test_answers_to_other_prompts_are_another_tree(batch: Any) -> None:
    t = answers(batch, [1], [2], outcome=[1, 0], task=[0, 1])
    assert term(t).tolist() == [0.0, 0.0]


def test_without_token_ids_actions_part_and_all_tokens_of_a_turn_share_the_term(batch: Any) -> None:
    t = batch(
        outcome=[1, 0], lengths=[2, 2], state=[1, 2, 1, 2], action=[0, 1, 0, 2],
        token_offsets=[0, 1, 3, 4, 6],
    )  # fmt: skip
    np.testing.assert_allclose(term(t), [0, 0.5, 0.5, 0, -0.5, -0.5])
    with pytest.raises(RuleError, match="expected the id of every token, got none for 6"):
        RULE.apply(t, Context(), {"over": "token"})


def test_what_the_environment_decides_is_nobodys_credit(batch: Any) -> None:
    # The same action led to other states, where again the same action was taken.
    t = batch(outcome=[1, 0], lengths=[2, 2], state=[1, 2, 1, 3], action=[0, 0, 0, 0])
    assert term(t).tolist() == [0.0] * 4
    assert term(t, {"over": "action"}).tolist() == [0.0] * 4


def test_forks_are_not_in_the_tree(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 1], lengths=[1, 1, 1], parent=[-1, -1, 0], branch=[0, 0, 0], state=[1, 1, 1],
        action=[0, 1, 1], token=np.array([7, 8, 8]),
    )  # fmt: skip
    np.testing.assert_allclose(RULE.apply(t, Context(), PLAIN).value[:2], [1.0, -1.0])


def test_rewards_of_a_million_keep_their_digits(batch: Any) -> None:
    t = answers(batch, [1, 2], [1, 3], outcome=[1e6 + 1, 1e6])
    np.testing.assert_allclose(term(t), [0, 0.5, 0, -0.5], atol=1e-9)
