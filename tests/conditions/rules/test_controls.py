from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason


def test_random_credit_is_standard_normal_whatever_happened(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[4000, 4000])
    value = RULES["random"].apply(t, Context(np.random.default_rng(1))).value
    # 8,000 draws: 4 standard errors of the mean are .045, of the deviation .032.
    assert abs(value.mean()) < 0.045
    assert abs(value.std() - 1) < 0.032
    assert abs(value[:4000].mean() - value[4000:].mean()) < 0.09


def test_exact_credit_is_the_truth_where_it_is_known(batch: Any) -> None:
    truth = np.array([0.5, np.nan, 0.0])
    credit = RULES["exact"].apply(batch(outcome=[1], lengths=[3]), Context(truth=truth))
    np.testing.assert_array_equal(credit.value, truth)
    assert credit.reason.tolist() == [0, Reason.NOT_MEASURED, 0]
