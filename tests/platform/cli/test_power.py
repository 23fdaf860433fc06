import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.platform.cli.conftest import Command


def test_power_gives_every_family_and_every_null_scenario(command: "Command") -> None:
    told = json.loads(command("power", "demo", "--json", "--sets", 400).out)
    assert [f["kind"] for f in told["families"]] == ["content", "shape", "volume", "total"]
    for family in told["families"]:
        assert 0 < family["mde"] < 0.3
        assert 0 <= family["equivalence"] <= family["power"] < 1
    assert set(told["false_content"]) == set(told["false_native"]) == {"S0", "S1", "S2", "S5"}
    assert told["false_native"]["S0"] > 0.5 > told["false_content"]["S0"]
    # The demo judges every run by some hundreds of episodes.
    assert told["spreads"]["run"] == 0.03
    assert 0 < told["spreads"]["evaluation"] < 0.05


def test_power_is_the_same_twice_and_falls_with_the_spread(command: "Command") -> None:
    told = [
        json.loads(command("power", "demo", "--json", "--sets", 200, "--run-sd", sd).out)
        for sd in (0.02, 0.06, 0.06)
    ]
    assert told[1] == told[2]
    small, large = (t["families"][0] for t in told[:2])
    assert small["mde"] < large["mde"]
    assert small["power"] > large["power"]


def test_power_is_shown_to_people_in_tables(command: "Command") -> None:
    said = command("power", "demo", "--sets", 200, "--divergence", 0.28)
    assert said.code == 0
    for words in ("content", "native runs alone", "volume up to ten times", "as stated or assumed"):
        assert words in said.out


def test_a_pilot_gives_upper_bounds_of_the_spreads(
    command: "Command", small: Path, finished_pilot: Path, tmp_path: Path
) -> None:
    other_seed = tmp_path / "other.yaml"
    other_seed.write_text(small.read_text(encoding="utf-8").replace("seed: 5", "seed: 6"), encoding="utf-8")
    told = json.loads(command("power", other_seed, "--json", "--sets", 200, "--pilot", finished_pilot).out)
    assert "upper 80% bounds from 2 blocks of small @ " in told["spreads"]["source"]
    # So small a pilot varies less than judging alone would make it; nothing is then left for the runs.
    assert told["spreads"]["evaluation"] > 0.01
    assert told["spreads"]["run"] >= 0
    both = command("power", other_seed, "--pilot", finished_pilot, "--run-sd", 0.03)
    assert both.code != 0
    assert "leave one of them out" in both.err


def test_a_suite_of_one_block_has_no_error_to_work_with(
    command: "Command", tmp_path: Path, small: Path
) -> None:
    text = small.read_text().replace("blocks: 2", "blocks: 1")
    single = tmp_path / "single.yaml"
    single.write_text(text)
    said = command("power", single)
    assert said.code != 0
    assert "blocks: expected at least 2, got 1" in said.err
