"""A suite on TRL's on-policy path: the same plans, counts and twins as on the other, and weights of its own."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.platform.execution.conftest import ARMS

CONDITIONS = ("outcome", "tokens", "oracle")
EQUAL = ("slots", "tokens", "weight_abs", "weight_sq", "ess", "learning_rate")


@pytest.fixture(scope="module")
def on_paths(on_each_path: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Results of one block by path, and each plan beside them."""
    cells = {f"{condition}/{arm}": f"b0/cell/{condition}/{arm}/0" for condition in CONDITIONS for arm in ARMS}
    return {
        path: {
            name: on_each_path[path].results[key] | {"plan": on_each_path[path].plan(key)}
            for name, key in cells.items()
        }
        for path in ("sft", "dapo")
    }


def test_every_cell_ends_well_and_within_its_budget(on_paths: Any) -> None:
    for cell in on_paths["dapo"].values():
        assert (cell["end"], cell["breaches"]) == ("ok", [])
        assert (
            cell["dose"]["micro_batches"]
            == cell["dose"]["optimizer_steps"]
            == cell["planned"]["optimizer_steps"]
        )


def test_both_paths_receive_the_same_plans_and_count_the_same(on_paths: Any) -> None:
    for name, cell in on_paths["dapo"].items():
        other = on_paths["sft"][name]
        assert cell["digests"]["plan"] == other["digests"]["plan"] == cell["plan"].digest()
        assert {key: cell["steps"][key] for key in EQUAL} == {key: other["steps"][key] for key in EQUAL}
        assert cell["cost"] == other["cost"]
        assert cell["digests"]["weights"] != other["digests"]["weights"]


def test_credit_of_tokens_reaches_the_trainer(on_paths: Any) -> None:
    plan = on_paths["dapo"]["tokens/matched"]["plan"]
    assert plan.token_offsets.size
    assert on_paths["dapo"]["tokens/matched"]["dose"]["tokens_in_loss"] == plan.token_offsets[-1]


def test_twins_and_matched_cells_receive_the_same_dose_step_by_step(on_paths: Any) -> None:
    for condition in CONDITIONS:
        matched, twin = (on_paths["dapo"][f"{condition}/{arm}"] for arm in ("matched", "twin"))
        assert matched["steps"]["slots"] == twin["steps"]["slots"] == [4, 4, 4, 4]
        if condition != "tokens":
            for name in ("weight_abs", "weight_sq", "ess"):
                assert matched["steps"][name] == twin["steps"][name]
