"""The figure of the manual is what its script draws."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.tree
@pytest.mark.slow
def test_the_figure_of_native_claims_is_drawn_byte_for_byte(tmp_path: Path) -> None:
    drawn = tmp_path / "drawn.svg"
    runpy.run_path(str(ROOT / "benchmarks" / "figures" / "native_claims.py"))["main"](drawn)
    assert drawn.read_bytes() == (ROOT / "docs" / "images" / "native-claims.svg").read_bytes()
