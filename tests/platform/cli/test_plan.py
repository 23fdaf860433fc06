import json
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.errors import ExitCode

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


def test_without_a_pilot_the_plan_says_what_cannot_be_known(command: "Command", small: Path) -> None:
    said = command("plan", small)
    assert "Not known before credit is measured" in said.out
    assert "--pilot" in said.out
    planned = json.loads(command("plan", small, "--json").out)
    assert planned["pilot"] is None
    assert len(planned["cells_by_arm"]) == 2 * 3
    assert {row["flops"] for row in planned["cells_by_arm"]} == {None}


def test_a_folder_without_the_conditions_is_no_pilot(command: "Command", small: Path, tmp_path: Path) -> None:
    said = command("plan", small, "--pilot", tmp_path)
    assert said.code != 0
    assert "no such database" in said.err


def test_a_pilot_tells_examples_costs_and_times(
    command: "Command", small: Path, finished_pilot: Path, tmp_path: Path
) -> None:
    other_seed = tmp_path / "other.yaml"
    other_seed.write_text(small.read_text(encoding="utf-8").replace("seed: 5", "seed: 6"), encoding="utf-8")
    planned = json.loads(command("plan", other_seed, "--json", "--pilot", finished_pilot).out)
    assert planned["pilot"].startswith("small @ ")
    for row in planned["cells_by_arm"]:
        # 8 tasks x 4 rollouts of 4 turns each.
        assert row["native_examples"] == 128
        assert row["slots"] == (128 if row["arm"] == "native" else 16)
        assert row["steps"] == (16 if row["arm"] == "native" else 2)
        assert row["flops"] > 0
        assert row["seconds"] > 0
    said = command("plan", small, "--home", finished_pilot)
    # The suite itself has run there: its numbers are told, and that they are no pilot's.
    assert "means of small @ " in said.out
    assert "is this suite itself, whose blocks have been looked at" in said.out
    shown = command("plan", other_seed, "--pilot", finished_pilot).out
    assert "128 in 16" in shown
    assert "looked at" not in shown
    refused = command("plan", small, "--pilot", finished_pilot)
    assert refused.code == ExitCode.REFUSED
    assert "run under the suite's own seed (5)" in refused.err
    other = command("plan", "demo", "--pilot", finished_pilot)
    assert "measured the conditions outcome, rloo" in other.err


def test_before_a_pilot_conditions_that_look_alike_are_one_row_an_arm(
    command: "Command", small: Path
) -> None:
    table = command("plan", small).out.partition("Each run, by arm")[2].partition("Not known")[0]
    rows = [line.split() for line in table.splitlines() if line.strip().startswith("each")]
    assert rows == [
        ["each", "native", "?", "?", "?", "?", "?", "native"],
        ["each", "matched", "?", "16", "2", "?", "?", "?"],
        ["each", "twin", "?", "16", "2", "?", "?", "?"],
    ]
