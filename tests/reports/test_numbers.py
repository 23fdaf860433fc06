import math

import pytest

from equipoise_reports import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0312, "+3.1"), (-0.0312, "−3.1"), (0.0004, "0.0"), (-0.0004, "0.0"), (math.nan, "–"), (None, "–")],
)
def test_differences_are_percentage_points_with_a_true_minus(value: float | None, text: str) -> None:
    assert numbers.points(value) == text


def test_an_interval_names_both_ends() -> None:
    assert numbers.interval((-0.012, 0.074)) == "−1.2 to +7.4"
    assert numbers.interval(None) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "< 0.001"), (0.00099, "< 0.001"), (0.0344, "0.034"), (1.0, "1.000"), (None, "–")],
)
def test_a_p_value_is_never_zero(value: float | None, text: str) -> None:
    assert numbers.p_value(value) == text


def test_a_p_value_in_a_sentence_stays_on_one_line() -> None:
    assert numbers.p_is(0.0344) == "p\u00a0=\u00a00.034"
    assert numbers.p_is(0.0001) == "p\u00a0<\u00a00.001"


def test_a_range_of_equal_counts_is_one_number() -> None:
    assert numbers.span([2048.0, 2048.0]) == "2,048"
    assert numbers.span([2047.0, 2048.0]) == "2,047 … 2,048"


def test_large_numbers_are_powers_of_ten() -> None:
    assert numbers.scientific(1.2345e12) == "1.23 × 10¹²"
    assert numbers.scientific(512.0) == "512"


def test_a_digest_is_shortened_without_its_scheme() -> None:
    assert numbers.short("eq1:0123456789abcdef") == "01234567"


def test_lists_and_plurals_read_as_english() -> None:
    assert numbers.listed(("a", "b", "c")) == "a, b and c"
    assert numbers.plural(1, "run") == "1 run"
    assert numbers.plural(1200, "run") == "1,200 runs"


def test_durations_take_the_unit_a_person_would() -> None:
    assert numbers.duration(3.21) == "3.2\u00a0s"
    assert numbers.duration(600.0) == "10.0\u00a0min"
    assert numbers.duration(9000.0) == "2.5\u00a0h"


def test_words_become_a_sentence_once() -> None:
    assert numbers.sentence("nothing varies") == "Nothing varies."
    assert numbers.sentence("Done.") == "Done."
