"""The command line as a user and a script meet it: help, exit codes, output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from equipoise import __version__
from equipoise.cli.commands import COMMANDS
from equipoise.cli.errors import ExitCode, exit_code, report_error
from equipoise.errors import HomeError, StoreError
from equipoise_budget.errors import BudgetError
from equipoise_conditions.errors import RuleError, UndeclaredNeed
from equipoise_preregistration import ChainError, NotRegisteredError, SuiteError

SUITE = """\
name: tiny
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo}
budget: {examples: 64, optimizer_steps: 4}
environment: {tasks: {pool: 4, held_out: 2}}
policy: {warm_start: {demonstrations: 4}}
blocks: 2
"""


def equipoise(*arguments: object, home: Path | None = None) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    if home is not None:
        environment["EQUIPOISE_HOME"] = str(home)
    command = [sys.executable, "-c", "from equipoise.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=120)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_help_lists_every_command_without_importing_any() -> None:
    done = equipoise("--help")
    assert done.returncode == 0
    for name, entry in COMMANDS.items():
        assert name in done.stdout
        assert entry.help in done.stdout


def test_help_loads_little_more_than_what_prints_it() -> None:
    code = (
        "import sys, resource\n"
        "def used(): r = resource.getrusage(resource.RUSAGE_SELF); return r.ru_utime + r.ru_stime\n"
        "import typer, rich.console, rich.table, rich.panel, rich.markdown\n"
        "before = used()\n"
        "sys.argv = ['equipoise', '--help']\n"
        "from equipoise.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pydantic', 'ruamel.yaml', 'torch', 'sqlalchemy', 'mlflow', 'optuna'} & set(sys.modules)\n"
        "print('measured', used() / before, sorted(heavy))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True, timeout=60
    )
    _, ratio, heavy = done.stdout.strip().splitlines()[-1].split(maxsplit=2)
    assert heavy == "[]"
    # A ratio in one process: how fast the machine is, or how busy, is no fault of ours.
    assert float(ratio) < 2.0


def test_the_version_is_shown() -> None:
    done = equipoise("--version")
    assert (done.returncode, done.stdout) == (0, f"equipoise {__version__}\n")


def test_a_misspelt_command_is_told_the_nearest_one() -> None:
    done = equipoise("chekc")
    assert done.returncode == ExitCode.USAGE
    assert "Did you mean 'check'?" in done.stderr


def test_check_prints_every_fault_and_exits_with_2(suite: Path) -> None:
    suite.write_text(SUITE.replace("64", "65") + "blocs: 3\n", encoding="utf-8")
    done = equipoise("check", suite)
    assert done.returncode == ExitCode.USAGE
    assert f"{suite}:5:20: budget.examples: expected a multiple of optimizer_steps (4), got 65" in done.stderr
    assert f"{suite}:9:1: blocs: " in done.stderr
    assert "did you mean 'blocks'?" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_check_reports_faults_as_json(suite: Path) -> None:
    suite.write_text(SUITE + "blocs: 3\n", encoding="utf-8")
    done = equipoise("check", suite, "--json")
    assert done.returncode == ExitCode.USAGE
    answer = json.loads(done.stdout)
    assert answer["valid"] is False
    assert [(fault["line"], fault["column"], fault["path"]) for fault in answer["faults"]] == [
        (9, 1, "blocs")
    ]


def test_check_asks_the_environment_about_its_own_keys(suite: Path) -> None:
    suite.write_text(SUITE.replace("tasks: {", "size: {receptacels: 4}, tasks: {"), encoding="utf-8")
    done = equipoise("check", suite)
    assert done.returncode == ExitCode.USAGE
    assert f"{suite}:6:1: environment: " in done.stderr
    assert "receptacels" in done.stderr


def test_check_sums_up_a_sound_suite(suite: Path) -> None:
    done = equipoise("check", suite)
    assert done.returncode == 0
    assert "2 conditions x 3 arms x 2 blocks = 12" in done.stdout
    assert "64 examples in 4 optimizer steps of 16" in done.stdout
    assert "no positive control" in done.stdout


@pytest.mark.parametrize("name", ["demo", "positive-control"])
def test_check_takes_the_name_of_a_shipped_suite(name: str) -> None:
    assert equipoise("check", name).returncode == 0


def test_a_suite_that_does_not_exist_exits_with_2(tmp_path: Path) -> None:
    done = equipoise("check", tmp_path / "none.yaml")
    assert done.returncode == ExitCode.USAGE
    assert "got no such file" in done.stderr


def test_register_twice_is_one_registration(suite: Path, tmp_path: Path) -> None:
    home = tmp_path / "project"
    first = equipoise("register", suite, home=home)
    second = equipoise("register", suite, "--home", home)
    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout.startswith("registered: tiny @ ")
    assert second.stdout.startswith("registered before: tiny @ ")
    assert first.stdout.split("@ ")[1] == second.stdout.split("@ ")[1]


def test_register_answers_in_json(suite: Path, tmp_path: Path) -> None:
    answer = json.loads(equipoise("register", suite, "--json", home=tmp_path).stdout)
    assert answer["hash"].startswith("eq1:")
    assert answer["hash"][4:12] == answer["hash8"]
    assert answer["new"] is True


def test_verify_finds_what_was_changed_and_exits_with_3(suite: Path, tmp_path: Path) -> None:
    equipoise("register", suite, home=tmp_path)
    whole = equipoise("verify", home=tmp_path)
    assert whole.returncode == 0
    assert "whole: 1 registrations" in whole.stdout
    chain = tmp_path / "registrations.jsonl"
    chain.write_text(chain.read_text().replace("tiny", "tidy"))
    broken = equipoise("verify", "--json", home=tmp_path)
    assert broken.returncode == ExitCode.TAMPERED
    assert json.loads(broken.stdout)["broken"]["line"] == 1
    refused = equipoise("register", suite, home=tmp_path)
    assert refused.returncode == ExitCode.TAMPERED
    assert "registrations.jsonl:1:" in refused.stderr


def test_a_home_that_cannot_be_written_exits_with_7(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = equipoise("register", suite, home=tmp_path / "file" / "project")
    assert done.returncode == ExitCode.TROUBLE
    assert "--home" in done.stderr
    assert "Traceback" not in done.stderr


def test_verify_of_a_folder_that_is_not_there_exits_with_7(tmp_path: Path) -> None:
    assert equipoise("verify", home=tmp_path / "none").returncode == ExitCode.TROUBLE


def test_suites_are_listed_shown_and_located() -> None:
    listed = json.loads(equipoise("suites", "--json").stdout)
    assert {"demo", "positive-control"} <= {row["name"] for row in listed}
    assert json.loads(equipoise("suites", "list", "--json").stdout) == listed
    shown = equipoise("suites", "show", "demo").stdout
    path = equipoise("suites", "path", "demo").stdout.strip()
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - what a shell would do with the answer
        assert file.read() == shown
    assert equipoise("suites", "show", "dmeo").returncode == ExitCode.USAGE


def test_the_schema_is_printed_for_editors() -> None:
    assert json.loads(equipoise("suites", "schema").stdout)["title"] == "A suite of equipoise"


def test_rules_are_listed_with_their_cards() -> None:
    cards = {card["name"]: card for card in json.loads(equipoise("rules", "--json").stdout)}
    assert {"grpo", "gigpo", "hcapo", "carl", "replay", "random", "exact", "reinforce"} <= set(cards)
    assert all(card["source"] and card["formula"] for card in cards.values())
    one = json.loads(equipoise("rules", "gigpo", "--json").stdout)
    assert one == cards["gigpo"]
    assert "arXiv" in equipoise("rules", "gigpo").stdout
    assert equipoise("rules", "gipgo").returncode == ExitCode.USAGE


def test_environments_are_listed() -> None:
    answer = json.loads(equipoise("environments", "--json").stdout)
    assert {"household", "bifurcation"} <= {row["name"] for row in answer}
    assert all(row["about"] and row["words"] > 0 for row in answer)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (SuiteError("x"), 2),
        (RuleError("x"), 2),
        (UndeclaredNeed("x"), 2),
        (ChainError("x"), 3),
        (NotRegisteredError("x"), 4),
        (BudgetError("x"), 5),
        (HomeError("x"), 7),
        (StoreError("x"), 7),
        (OSError(28, "No space left on device"), 7),
        (KeyboardInterrupt(), 130),
        (ZeroDivisionError("x"), None),
        (OSError(2, "No such file"), None),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(error: BaseException, code: int | None) -> None:
    assert exit_code(error) == code


def test_only_what_nobody_expected_is_shown_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert report_error(SuiteError("the message")) == ExitCode.USAGE
    assert capsys.readouterr().err == "equipoise: this cannot be used as it is:\nthe message\n"
    with pytest.raises(ZeroDivisionError) as caught:
        1 / 0  # noqa: B018
    assert report_error(caught.value) == ExitCode.CODE
    assert "Traceback" in capsys.readouterr().err


def test_a_closed_pipe_is_no_traceback() -> None:
    done = subprocess.run(
        f"{sys.executable} -c 'from equipoise.cli import main; main()' rules --json | head -c 10",
        shell=True,
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "Traceback" not in done.stderr


def test_the_cards_are_found_by_the_names_of_the_survey_and_the_field() -> None:
    assert json.loads(equipoise("rules", "show", "VinePPO", "--json").stdout)["name"] == "vineppo"
    assert "dr_grpo is the rule grpo with preset: dr-grpo" in equipoise("rules", "show", "dr_grpo").stdout
    assert json.loads(equipoise("rules", "rloo", "--json").stdout)["name"] == "reinforce"
    assert "QLLM: written anew for each task" in equipoise("rules", "show", "QLLM").stdout
    shown = equipoise("rules", "show", "pilotrl")
    assert shown.returncode == 0
    assert "PilotRL: formula not recovered" in shown.stdout
    nothing = equipoise("rules", "show", "xyzzy")
    assert nothing.returncode == ExitCode.USAGE
    assert "did you mean" not in nothing.stderr
