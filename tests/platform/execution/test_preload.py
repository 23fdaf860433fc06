"""What the parent loads before it forks."""

import sys

import pytest

from equipoise.execution.execute import preload


@pytest.mark.slow
def test_the_on_policy_trainer_is_loaded_once_where_a_suite_trains_through_it() -> None:
    preload(on_policy=True)
    assert "equipoise.training.on_policy" in sys.modules
