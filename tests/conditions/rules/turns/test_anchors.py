from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RuleError
from equipoise_conditions.rules.turns import similar_groups, state_keys


def test_equal_contents_are_one_state_whatever_their_type_and_shape() -> None:
    seen: list[Any] = [np.array([1, 2]), np.array([[1.0], [2.0]]), (1, 2), "1 2", {"b": [1], "a": 2}]
    assert state_keys([*seen, {"a": 2.0, "b": [True]}, 1, 1.0, True]).tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3]


def test_an_observation_that_cannot_be_compared_is_named() -> None:
    with pytest.raises(RuleError, match="observation 1: expected numbers, texts, arrays"):
        state_keys(["fine", object()])


def test_likeness_is_to_the_first_member_and_not_transitive() -> None:
    a, b, c, d = "aaaaaaaaaa", "aaaaaaaaab", "aaaaaaaabb", "aaaaaaabbb"
    assert similar_groups([a, b, c, d], 0.9).tolist() == [0, 0, 1, 1]
    assert similar_groups([c, a, b, d], 0.9).tolist() == [0, 1, 0, 0]


def test_clusters_do_not_cross_groups_and_a_repeated_text_keeps_its_cluster() -> None:
    texts = ["open the door", "open a door", "open the door", "open the door"]
    assert similar_groups(texts, 0.7, [0, 0, 1, 0]).tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("threshold", [0.0, 1.0, -1.0, float("nan")])
def test_a_threshold_outside_the_open_interval_is_refused(threshold: float) -> None:
    with pytest.raises(RuleError, match="inside"):
        similar_groups(["s"], threshold)


def test_only_texts_can_be_alike_and_each_has_a_group() -> None:
    with pytest.raises(RuleError, match="expected a text at place 1"):
        similar_groups(["s", 3], 0.5)  # type: ignore[list-item]
    with pytest.raises(RuleError, match="one entry for each of 1 texts, got 2"):
        similar_groups(["s"], 0.5, [0, 1])
