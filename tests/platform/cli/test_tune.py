"""`equipoise tune`, and what `check` and `verify` say of a search."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.cli.check import notes, summary
from equipoise.cli.suite_file import open_suite
from equipoise_preregistration import register
from equipoise_preregistration.registry import amend

if TYPE_CHECKING:
    from tests.platform.cli.conftest import Command

TUNED = Path(__file__).parents[1] / "suites" / "data" / "tuned.yaml"


def test_a_suite_without_a_search_has_nothing_to_tune(command: "Command", tmp_path: Path) -> None:
    said = command("tune", "demo", "--home", tmp_path / "none")
    assert said.code == 2
    assert "expected a section `tuning` with trials and a space" in said.err
    assert not (tmp_path / "none").exists()


def test_a_suite_that_is_not_registered_is_not_tuned(command: "Command", tmp_path: Path) -> None:
    said = command("tune", TUNED, "--home", tmp_path / "none")
    assert said.code == 4
    assert "expected a registration of tuned" in said.err


def test_a_check_says_what_is_granted_and_whom_a_dimension_concerns() -> None:
    suite = open_suite(str(TUNED)).suite
    assert summary(suite)["tuning"] == (
        "4 trials (qmc) x 2 blocks of their own x 3 conditions = 24 runs, 16 optimizer steps each condition"
    )
    said = "tuning: gamma concerns states only: the other rules have no such parameter"
    assert said in notes(suite)


def test_verify_names_amendments(command: "Command", tmp_path: Path) -> None:
    made = register(open_suite(str(TUNED)), tmp_path)
    amend(tmp_path, made.hash, "the search ended", {"tuning": {"chosen": {}}})
    assert f"{made.hash8} amended at" in command("verify", "--home", tmp_path).out
    (told,) = json.loads(command("verify", "--home", tmp_path, "--json").out)["amendments"]
    assert (told["registration"], told["reason"]) == (made.hash, "the search ended")
