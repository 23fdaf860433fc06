from pathlib import Path

import numpy as np
import pytest

from equipoise_conditions import Credit, Reason, RuleError

NAN = float("nan")


def test_zero_credit_is_an_example_and_undefined_credit_is_none() -> None:
    credit = Credit(np.array([0.0, NAN, -0.5]), np.array([Reason.DEFINED, Reason.DROPPED, Reason.DEFINED]))
    assert credit.defined.tolist() == [True, False, True]
    assert credit.examples.tolist() == [0, 2]
    assert credit.counts_by_reason() == {"DEFINED": 2, "DROPPED": 1}


@pytest.mark.parametrize(
    ("value", "reason", "said"),
    [
        ([0.0, NAN], [0, 0], "turn 1: a defined credit must be finite, got nan"),
        ([np.inf, 1.0], [0, 0], "turn 0: a defined credit must be finite, got inf"),
        ([NAN, 0.0], [1, 2], "turn 1: an undefined credit must be NaN, got 0.0"),
        ([0.0, 0.0], [0, 99], "turn 1: expected a reason from 0 to 10, got 99"),
        ([0.0, 0.0], [0], "expected one reason a value, got 2 and 1"),
    ],
)
def test_credit_that_blurs_undefined_and_zero_is_refused(
    value: list[float], reason: list[int], said: str
) -> None:
    with pytest.raises(RuleError) as caught:
        Credit(np.array(value), np.array(reason))
    assert said in str(caught.value)


def test_credit_comes_back_from_disk_with_its_digest(tmp_path: Path) -> None:
    credit = Credit(np.array([0.25, NAN]), np.array([0, 3]))
    credit.save(tmp_path / "credit.npz")
    assert Credit.load(tmp_path / "credit.npz").digest() == credit.digest()
