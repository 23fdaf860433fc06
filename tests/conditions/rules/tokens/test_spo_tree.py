from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason, to_turns
from equipoise_conditions.rules.tokens.spo_tree import best_of

RULE = RULES["spo_tree"]
NAN = float("nan")
EVERY_TURN = {"segments": "turns", "initial": 9}


def worked(batch: Any) -> Any:
    """root -> {u1 -> {1, 0}, u2 -> {0}}, so V(u1) = .5, V(u2) = 0, V(root) = .25."""
    return batch(
        outcome=[1, 0, 0], lengths=[2, 2, 2], parent=[-1, 0, 0], branch=[0, 1, 0],
        state=[1, 2, 1, 2, 1, 3], action=[0, 0, 0, 1, 1, 0],
    )  # fmt: skip


def test_the_worked_tree_by_turns_drops_the_only_child(batch: Any) -> None:
    credit = to_turns(RULE.apply(worked(batch), Context(), EVERY_TURN), worked(batch))
    np.testing.assert_array_equal(credit.value, [0.25, 0.5, NAN, -0.5, -0.25, NAN])
    assert credit.reason.tolist() == [0, 0, Reason.COPY, 0, 0, Reason.DROPPED]


def test_a_zero_edge_stays_with_credit_zero_when_it_is_not_dropped(batch: Any) -> None:
    params = EVERY_TURN | {"drop_zero_edges": False}
    credit = to_turns(RULE.apply(worked(batch), Context(), params), worked(batch))
    np.testing.assert_array_equal(credit.value, [0.25, 0.5, NAN, -0.5, -0.25, 0.0])


def test_turns_between_forks_are_one_segment_with_one_credit(batch: Any) -> None:
    credit = RULE.apply(worked(batch), Context())
    assert credit.offsets.tolist() == [0, 1, 2, 3, 4, 6]
    np.testing.assert_array_equal(credit.value, [0.25, 0.5, NAN, -0.5, -0.25])
    np.testing.assert_array_equal(to_turns(credit, worked(batch)).value, [0.25, 0.5, NAN, -0.5, -0.25, -0.25])


def test_negative_edges_stay_and_zeros_go_in_spite_of_the_filters_name_in_the_code(batch: Any) -> None:
    t = batch(outcome=[1, 0, 1, 1], lengths=[1, 1, 1, 1], task=[0, 0, 1, 1])
    credit = RULE.apply(t, Context(), {"initial": 2})
    assert credit.reason.tolist() == [0, 0, Reason.DROPPED, Reason.DROPPED]
    assert credit.value[:2].tolist() == [0.5, -0.5]


def test_normalised_edges_are_z_scores_among_siblings(batch: Any) -> None:
    t = batch(outcome=[1, 0, 0], lengths=[1, 1, 1])
    population = RULE.apply(t, Context(), {"preset": "spo_grpo", "initial": 3})
    np.testing.assert_allclose(population.value, [1.4142136, -0.7071068, -0.7071068], atol=1e-6)
    sample = RULE.apply(t, Context(), {"advantage": "normalised", "initial": 3})
    np.testing.assert_allclose(sample.value, [1.1547, -0.57735, -0.57735], atol=1e-4)


def test_siblings_with_equal_values_get_exactly_zero(batch: Any) -> None:
    # The mean of three tenths is not a tenth in binary; normalising must not blow that up.
    t = batch(outcome=[0.1, 0.1, 0.1], lengths=[1, 2, 1])
    params = {"preset": "spo_grpo", "initial": 3, "drop_zero_edges": False}
    assert RULE.apply(t, Context(), params).value.tolist() == [0.0] * 4
    assert not RULE.apply(t, Context(), {"preset": "spo_grpo", "initial": 3}).defined.any()


def test_by_turns_it_agrees_with_carl_where_carl_gives_credit(forest: Any) -> None:
    for seed in range(5):
        t = forest(seed)
        tree = to_turns(RULE.apply(t, Context(), EVERY_TURN | {"drop_zero_edges": False}), t)
        carl = RULES["carl"].apply(t, Context(), {"initial": 9})
        np.testing.assert_allclose(tree.value[carl.defined], carl.value[carl.defined], atol=1e-12)


def test_a_segments_credit_is_the_sum_of_its_turns(forest: Any) -> None:
    for seed in range(5):
        t = forest(seed)
        off = {"initial": 9, "drop_zero_edges": False}
        turns = to_turns(RULE.apply(t, Context(), off | {"segments": "turns"}), t)
        segments = RULE.apply(t, Context(), off)
        total = np.add.reduceat(np.nan_to_num(turns.value), segments.offsets[:-1])
        np.testing.assert_allclose(np.nan_to_num(segments.value), total, atol=1e-12)


def test_trajectories_beyond_the_initial_ones_are_dropped(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1])
    assert RULE.apply(t, Context(), {"drop_zero_edges": False}).reason.tolist() == [0, Reason.DROPPED]


def test_best_of_four() -> None:
    assert best_of(np.array([0.0, 0.5, 1.0])).tolist() == [0.0, 0.9375, 1.0]
