from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RuleError
from equipoise_conditions.whitening import deviation, mean, rescaled, uncertain, whitened

VALUE = np.array([1.0, 3.0, 8.0])
FIRST_TWO = np.array([True, True, False])


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"std": "population", "eps": 0.0}, [-1.0, 1.0, 6.0]),
        ({"std": "sample", "eps": 0.0}, np.array([-1.0, 1.0, 6.0]) / np.sqrt(2)),
        ({"std": "none"}, [-1.0, 1.0, 6.0]),
        ({"std": "population", "eps": 0.5}, np.array([-1.0, 1.0, 6.0]) / 1.5),
        ({"std": "population", "eps": 3.0, "eps_inside": True}, [-0.5, 0.5, 3.0]),
        ({"std": "population", "eps": 1.0, "shift_mean": False}, [1.5, 2.5, 5.0]),
        # Two votes counted as four halve the mean; the squares 0 and 4 around it are halved too.
        ({"std": "population", "eps": 0.0, "count_eps": 2.0}, np.array([0.0, 2.0, 7.0])),
    ],
)
def test_statistics_are_those_of_the_voters_and_move_everybody(params: dict[str, Any], expected: Any) -> None:
    np.testing.assert_allclose(whitened(VALUE, FIRST_TWO, **params), expected)


def test_rescaling_keeps_the_mean() -> None:
    np.testing.assert_allclose(rescaled(VALUE, FIRST_TWO, std="population", eps=1.0), VALUE / 2)


def test_an_entry_may_have_several_votes() -> None:
    repeated = whitened(np.array([0.0, 0.0, 0.0, 1.0]), np.ones(4, dtype=bool))
    np.testing.assert_allclose(whitened(np.array([0.0, 1.0]), np.array([3.0, 1.0])), repeated[2:])


def test_who_has_no_vote_may_be_no_number() -> None:
    got = whitened(np.array([1.0, 3.0, np.nan]), FIRST_TWO, std="population", eps=0.0)
    assert got[:2].tolist() == [-1.0, 1.0]
    assert np.isnan(got[2])


def test_equal_votes_are_exactly_zero_whatever_rounding_does_to_their_mean() -> None:
    value = np.full(7, 0.1)
    assert whitened(value, np.ones(7, dtype=bool), eps=0.0).tolist() == [0.0] * 7
    assert mean(value, np.ones(7, dtype=bool)) == 0.1
    assert deviation(value, np.ones(7, dtype=bool)) == 0.0


@pytest.mark.parametrize("function", [whitened, rescaled])
@pytest.mark.parametrize(
    ("votes", "std"), [([0, 0, 0], "sample"), ([0, 0, 0], "population"), ([1, 0, 0], "sample")]
)
def test_too_few_votes_are_refused_where_the_reference_divides_by_zero(
    function: Any, votes: list[int], std: str
) -> None:
    with pytest.raises(RuleError, match=r"expected at least \d entries in the loss .* got [01]; give it"):
        function(VALUE, np.array(votes, dtype=bool), std=std)


def test_nothing_to_take_a_mean_of_is_refused() -> None:
    with pytest.raises(RuleError, match="a mean"):
        whitened(VALUE, np.zeros(3, dtype=bool), std="none")


def test_equal_values_cannot_be_rescaled_without_an_epsilon() -> None:
    with pytest.raises(RuleError, match="set eps above 0"):
        rescaled(np.ones(3), np.ones(3, dtype=bool), eps=0.0)


def test_too_few_votes_may_give_zeros_instead() -> None:
    assert whitened(VALUE, np.array([True, False, False]), few="zero").tolist() == [0.0] * 3
    one = whitened(VALUE, np.array([True, False, False]), few="zero", std="population", eps=1.0)
    assert one.tolist() == [0.0, 2.0, 7.0]


def test_tokens_that_were_nearly_certain_are_left_out_unless_all_were() -> None:
    use, logprob = np.array([True, True, True, False]), np.log([0.5, 0.95, 0.89, 0.1])
    assert uncertain(use, logprob).tolist() == [True, False, True, False]
    assert uncertain(use, np.zeros(4)).tolist() == use.tolist()
    assert uncertain(use, logprob, below=0.6).tolist() == [True, False, False, False]
