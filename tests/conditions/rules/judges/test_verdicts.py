import numpy as np
import pytest

from equipoise_conditions import RuleError
from equipoise_conditions.rules.judges.verdicts import on_scale, share_of, voted

NAN = float("nan")
SCORE = np.array([[1, 1, -1], [1, -1, NAN], [NAN, NAN, NAN], [0, 1, 1], [-1, 0, 1]], dtype=float)


@pytest.mark.parametrize(
    ("vote", "expected"),
    [
        ("mean", [1 / 3, 0, NAN, 2 / 3, 0]),
        ("median", [1, 0, NAN, 1, 0]),
        ("majority", [1, 0, NAN, 1, 0]),
    ],
)
def test_repeats_vote_and_unreadable_ones_do_not(vote: str, expected: list[float]) -> None:
    np.testing.assert_allclose(voted(SCORE, vote), expected)


def test_a_majority_that_ties_is_the_mean_of_what_ties() -> None:
    score = np.array([[5, 5, 1, 1, 2], [4, 3, 2, NAN, NAN]], dtype=float)
    assert voted(score, "majority").tolist() == [3.0, 3.0]


def test_a_share_counts_readable_repeats_only() -> None:
    assert share_of(SCORE < 0, SCORE).tolist() == [1 / 3, 0.5, 0, 0, 1 / 3]


def test_five_points_are_mapped_to_the_interval_of_three() -> None:
    score = np.array([[1, 2, 3, 4, 5, NAN]], dtype=float)
    np.testing.assert_array_equal(on_scale(score, "five-point"), [[-1, -0.5, 0, 0.5, 1, NAN]])


@pytest.mark.parametrize(("scale", "score"), [("ternary", 2.0), ("five-point", 0.0)])
def test_a_score_outside_its_scale_is_refused(scale: str, score: float) -> None:
    with pytest.raises(RuleError, match="set `scale` to the judge's own"):
        on_scale(np.array([[score]]), scale)
