"""Small plans for the tests of budgets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from equipoise_budget import Plan


def make_plan(*, example: list[int], weight: list[float], batch: int = 2, **columns: Any) -> Plan:
    shown = [example[:k].count(e) for k, e in enumerate(example)]
    values: dict[str, Any] = {
        "presentation": shown,
        "step": np.arange(len(example)) // batch,
        "fill": "cycle",
    }
    return Plan(example=example, weight=weight, batch=batch, **values | columns)  # type: ignore[arg-type]


@pytest.fixture
def plan() -> Callable[..., Plan]:
    return make_plan
