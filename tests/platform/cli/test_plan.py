import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.platform.cli.conftest import Command


def test_a_plan_counts_what_would_be_run(command: "Command", small: Path, tmp_path: Path) -> None:
    planned = json.loads(command("plan", small, "--json").out)
    # 2 conditions x (native, matched, one twin) x 2 blocks; a base, a collection and 2 signals a block besides.
    assert planned["cells"] == 12
    assert planned["jobs"] == 20
    assert planned["jobs_by_kind"] == {"base": 2, "collect": 2, "signals": 4, "cell": 12}
    assert planned["episodes_collected"] == 2 * 8 * 4
    # Every cell and every base policy on 8 pool tasks x 4 and 8 held-out tasks x 2.
    assert planned["episodes_judged"] == 14 * (8 * 4 + 8 * 2)
    assert planned["slots_of_a_matched_run"] == 16
    assert planned["optimizer_steps_of_a_matched_run"] == 2
    assert planned["content_family"] == 0
    assert planned["assumed_sd"] == 0.04
    assert list(tmp_path.iterdir()) == []


def test_a_larger_spread_needs_a_larger_effect(command: "Command", small: Path) -> None:
    effects = [
        json.loads(command("plan", small, "--json", "--sd", sd).out)["minimal_detectable_content"]
        for sd in (0.02, 0.04)
    ]
    assert 0 < effects[0] < effects[1]


def test_a_plan_is_shown_to_people_in_words(command: "Command", small: Path) -> None:
    said = command("plan", small)
    assert said.code == 0
    assert "base 2, collect 2, signals 4, cell 12" in said.out
    assert "slots of a matched run" in said.out
    assert "--sd" in said.out
