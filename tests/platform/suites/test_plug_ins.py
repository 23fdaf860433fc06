"""Rules of packages from outside: built by pip, found by their entry points, run like ours, refused when faulty."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from equipoise.store import open_store
from equipoise_preregistration import registrations

PLUGINS = Path(__file__).parents[2] / "plugins"
COMMAND = [sys.executable, "-c", "from equipoise.cli import main; main()"]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both packages, built and installed into a folder of their own."""
    target = tmp_path_factory.mktemp("site")
    arguments = [
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--no-build-isolation",
        "--target",
        str(target),
    ]
    packages = [str(PLUGINS / name) for name in ("newcomer", "faulty")]
    done = subprocess.run(
        [sys.executable, "-m", "pip", *arguments, *packages], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture
def equipoise(installed: Path) -> Run:
    def call(*arguments: object) -> "subprocess.CompletedProcess[str]":
        names = ("OMP_", "OPENBLAS_", "MKL_", "MLFLOW_", "EQUIPOISE_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
        environment |= {"PYTHONPATH": str(installed), "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
        return subprocess.run(
            [*COMMAND, *map(str, arguments)],
            check=False,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return call


def suite_with(rule: str, small: Path, tmp_path: Path) -> Path:
    text = small.read_text("utf-8").replace("budget:", f"  - {{id: theirs, rule: {rule}}}\nbudget:", 1)
    path = tmp_path / "suite.yaml"
    path.write_text(text.replace("blocks: 2", "blocks: 1").replace("hypotheses:", "#"), "utf-8")
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("  - {id: H1")]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.mark.slow
def test_a_rule_from_outside_is_registered_run_and_reported(
    equipoise: Run, small: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    suite_file = suite_with("late-turns", small, tmp_path)
    for command in ("register", "run"):
        done = equipoise(command, suite_file, "--home", home)
        assert done.returncode == 0, done.stderr
    store = open_store(home, create=False)
    (suite,) = store.suites()
    results = store.results_by_key(suite.hash)
    credit = results["b0/signals/theirs"]["credit"]
    assert set(credit["reasons"]) == {"DEFINED"}
    matched = results["b0/cell/theirs/matched/0"]
    assert (matched["dose"]["slots"], matched["dose"]["optimizer_steps"]) == (16, 2)
    page = next(home.glob("reports/*/report.html")).read_text("utf-8")
    assert "a package from outside" in page


def test_its_card_is_shown_beside_ours_and_faulty_ones_say_why_they_are_not(equipoise: Run) -> None:
    assert "decay" in equipoise("rules", "show", "late-turns").stdout
    listed = equipoise("rules").stdout
    assert "late-turns" in listed
    assert "of faulty 1.2" in listed
    assert "No module named 'faulty_absent'" in listed
    asked = equipoise("rules", "show", "too-short")
    assert asked.returncode == 2
    assert "expected credit for 3 units" in asked.stderr


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("too-short", "fails on a small batch: RuleError"),
        ("unimportable", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_suite_that_names_a_faulty_rule_is_refused_and_nothing_is_run(
    equipoise: Run, rule: str, said: str, small: Path, tmp_path: Path
) -> None:
    home, suite = tmp_path / "home", suite_with(rule, small, tmp_path)
    for command in (("check", suite), ("register", suite, "--home", home), ("run", suite, "--home", home)):
        refused = equipoise(*command)
        assert refused.returncode == 2, refused.stderr
        assert said in refused.stderr
        assert "conditions[2].rule" in refused.stderr
        assert "Traceback" not in refused.stderr
    assert not home.exists() or not registrations(home)


def test_a_faulty_rule_spoils_no_suite_that_does_not_name_it(equipoise: Run, small: Path) -> None:
    assert equipoise("check", small).returncode == 0
