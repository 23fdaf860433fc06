"""Linear mixed models against lme4, lmerTest, pbkrtest and emmeans: every fit and table of a folder."""

from __future__ import annotations

import pytest
from tests.truth import reader


@pytest.mark.parametrize(("stem", "key"), reader.entries())
def test_every_number_is_as_r_has_it(stem: str, key: str) -> None:
    assert reader.faults(stem, key) == []
