from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["carl"]
NAN = float("nan")


def test_the_worked_tree(batch: Any) -> None:
    # root -> {u1 -> {1, 0}, u2 -> {0}}: V(u1) = .5, V(u2) = 0, V(root) = .25.
    t = batch(
        outcome=[1, 0, 0], lengths=[2, 2, 2], parent=[-1, 0, 0], branch=[0, 1, 0],
        state=[1, 2, 1, 2, 1, 3], action=[0, 0, 0, 1, 1, 0],
    )  # fmt: skip
    credit = RULE.apply(t, Context())
    np.testing.assert_array_equal(credit.value, [0.25, 0.5, NAN, -0.5, -0.25, NAN])
    assert credit.reason.tolist() == [0, 0, Reason.COPY, 0, 0, Reason.DROPPED]


def test_children_are_averaged_not_leaves(batch: Any) -> None:
    # The first action leads to a state forked twice (1, 1, 0 -> 2/3), the other straight to 0: V = 1/3.
    t = batch(
        outcome=[1, 1, 0, 0], lengths=[2, 2, 2, 1], parent=[-1, 0, 0, 0], branch=[0, 1, 1, 0],
        state=[1, 2, 1, 2, 1, 2, 1],
    )  # fmt: skip
    credit = RULE.apply(t, Context())
    np.testing.assert_allclose(credit.value, [1 / 3, 1 / 3, NAN, 1 / 3, NAN, -2 / 3, -1 / 3])


def test_a_fork_may_be_forked(batch: Any) -> None:
    # 0: a b c; 1 forks 0 at turn 1; 2 forks 1 at turn 2 (its turn 1 is 1's); 3 forks 2 at turn 1, which
    # it only copied from 1: so 3's action leaves the state that 0 and 1 left.
    t = batch(
        outcome=[1, 0, 1, 1], lengths=[3, 3, 3, 2], parent=[-1, 0, 1, 2], branch=[0, 1, 2, 1],
        state=[1, 2, 3, 1, 2, 4, 1, 2, 4, 1, 2], action=[0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 2],
    )  # fmt: skip
    credit = RULE.apply(t, Context())
    # V after 1's turn 1 = (0 + 1)/2; the forked state's V = (1 + .5 + 1)/3 = 5/6.
    expected = [NAN, 1 / 6, NAN, NAN, -1 / 3, -0.5, NAN, NAN, 0.5, NAN, 1 / 6]
    np.testing.assert_allclose(credit.value, expected)
    names = ["DROPPED", "DEFINED", "DROPPED", "COPY", "DEFINED", "DEFINED", "COPY", "COPY", "DEFINED"]
    assert [Reason(r).name for r in credit.reason] == [*names, "COPY", "DEFINED"]


def test_only_the_initial_trajectories_of_each_task_stand_in_its_tree(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0, 1], lengths=[1, 1, 1, 1], task=[0, 1, 0, 1])
    assert RULE.apply(t, Context()).examples.size == 0
    both = RULE.apply(t, Context(), {"initial": 2})
    assert both.value.tolist() == [0.5, -0.5, -0.5, 0.5]


def test_credit_of_the_actions_at_a_root_adds_up_to_nothing(forest: Any) -> None:
    for seed in range(20):
        t = forest(seed)
        credit = RULE.apply(t, Context(), {"initial": 4})
        roots = t.own & (t.turn_index == 0)
        for task in range(3):
            here = roots & (t.task_of_turn == task)
            assert abs(credit.value[here].sum()) < 1e-12


def test_with_n_forks_of_one_rollout_between_n_plus_1_and_2n_actions_are_trained(forest: Any) -> None:
    for seed in range(20):
        t = forest(seed, tasks=1, collected=1, forks=6)
        assert 7 <= RULE.apply(t, Context()).examples.size <= 12
