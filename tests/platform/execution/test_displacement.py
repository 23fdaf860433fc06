"""A cell that stops at its displacement says after how many steps, and owes what was planned up to there."""

import copy
from pathlib import Path
from typing import Any

import pytest

from equipoise_budget import Plan, allocated_steps

AXES = ["examples", "optimizer_steps"]


@pytest.mark.parametrize("path", [{}, {"path": "grpo", "loss": "dapo"}])
def test_a_cell_stops_at_its_displacement(
    path: dict[str, Any], ran: Any, make_suite: Any, tmp_path: Path
) -> None:
    def cell(name: str, **changes: Any) -> Any:
        other = copy.copy(ran)
        training = {"learning_rate": 1e-2, "measure_every": 1, **path}
        suite = make_suite(training=training, **changes).model_dump(mode="json")
        other.payloads = {key: {**payload, "suite": suite} for key, payload in ran.payloads.items()}
        (tmp_path / name).mkdir()
        return other.again("b0/cell/oracle/matched/0", tmp_path / name)

    whole = cell("whole")
    moved = whole["steps"]["kl_from_start"]
    assert moved[3] == whole["dose"]["kl_from_start"]
    assert whole["steps"]["l2_from_start"][3] == pytest.approx(whole["dose"]["l2_from_start"], rel=1e-12)
    assert 1.1 * moved[0] < moved[1]
    budget = {
        "examples": 16,
        "optimizer_steps": 4,
        "match": [*AXES, "displacement"],
        "targets": {"displacement": moved[1]},
        "tolerances": {"displacement": 0.01},
    }
    stopped = cell("stopped", budget=budget)
    assert (stopped["end"], stopped["breaches"]) == ("ok", [])
    assert stopped["steps"]["kl_from_start"] == moved[:2]
    assert stopped["reached"]["displacement"] == {
        "target": moved[1],
        "tolerance": 0.01,
        "counted": moved[1],
        "held": True,
        "steps": 2,
    }
    assert (stopped["dose"]["slots"], stopped["planned"]["slots"]) == (8, 8)
    plan = Plan.load(tmp_path / "stopped" / "plan.npz")
    tokens = ran.batch("b0/collect").trajectories.tokens_of_turn
    assert plan.steps == 4
    assert stopped["allocated"] == allocated_steps(plan, tokens)
    # It is also told where the run never gets there.
    far = cell("far", budget={**budget, "targets": {"displacement": 100.0}})
    assert far["reached"]["displacement"]["steps"] == 4
    (breach,) = far["breaches"]
    assert breach.startswith("the budget is 100 divergence from the start within 0.01, counted ")
    assert breach.endswith(" after 4 steps")
