"""The nine invariants of a tree with six source roots."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.tree

TOP = Path(__file__).parents[2]
ROOTS = {
    "platform": "equipoise",
    "conditions": "equipoise_conditions",
    "budget": "equipoise_budget",
    "stats": "equipoise_stats",
    "reports": "equipoise_reports",
    "preregistration": "equipoise_preregistration",
}
CONFIG = tomllib.loads((TOP / "pyproject.toml").read_text())
HIDDEN = {"build", "dist"}


def sources() -> list[Path]:
    return [file for root in ROOTS for file in (TOP / root).rglob("*.py")]


def test_nothing_importable_lies_at_the_top() -> None:
    assert not list(TOP.glob("*.py"))
    packages = [
        f for f in TOP.iterdir() if f.is_dir() and (f / "__init__.py").exists() and f.name not in HIDDEN
    ]
    assert not packages


@pytest.mark.parametrize(("root", "package"), ROOTS.items())
def test_each_root_holds_its_one_package_and_no_other_code(root: str, package: str) -> None:
    inside = {f.name for f in (TOP / root).iterdir() if f.name != "__pycache__"}
    assert inside == {package}
    assert (TOP / root / package / "py.typed").exists()
    assert (TOP / root / package / "__init__.py").exists()


def test_no_importable_name_hides_the_standard_library() -> None:
    names = set(ROOTS.values())
    assert not names & set(sys.stdlib_module_names)
    assert not (TOP / "platform" / "__init__.py").exists()


@pytest.mark.parametrize("where", [".", *ROOTS, *(f"{r}/{p}" for r, p in ROOTS.items()), "tests"])
def test_the_standard_platform_module_is_found_from(where: str) -> None:
    code = "import platform; print(platform.system())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=TOP / where, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == os.uname().sysname


def test_all_lists_of_the_configuration_name_the_same_roots() -> None:
    tool = CONFIG["tool"]
    paths = {f"{root}/{package}" for root, package in ROOTS.items()}
    assert set(tool["hatch"]["build"]["targets"]["wheel"]["packages"]) == paths
    assert set(tool["hatch"]["build"]["dev-mode-dirs"]) == set(ROOTS)
    assert set(tool["mypy"]["mypy_path"]) == set(ROOTS)
    assert set(tool["pyright"]["include"]) == set(ROOTS)
    assert set(tool["ruff"]["src"]) == set(ROOTS)
    assert set(tool["coverage"]["run"]["source_pkgs"]) == set(ROOTS.values())
    assert set(tool["importlinter"]["root_packages"]) == set(ROOTS.values())


def test_no_source_imports_a_folder_by_its_bare_name() -> None:
    bare = "|".join(root for root in ROOTS if root != "platform")
    found = [
        f"{file.relative_to(TOP)}: {line}"
        for file in sources()
        for line in file.read_text().splitlines()
        if re.match(rf"\s*(from|import)\s+({bare})(\.|\s|$)", line)
    ]
    assert not found


def test_files_are_small_rooms() -> None:
    long = {str(f.relative_to(TOP)): n for f in sources() if (n := len(f.read_text().splitlines())) > 400}
    assert not long


def test_the_layers_and_the_ban_on_circles_are_contracts() -> None:
    kinds = [contract["type"] for contract in CONFIG["tool"]["importlinter"]["contracts"]]
    assert kinds.count("layers") == 2
    assert "acyclic_siblings" in kinds


def test_continuous_integration_runs_python_m_pytest_and_the_wheel() -> None:
    makefile, run = (TOP / "Makefile").read_text(), (TOP / ".ci" / "run").read_text()
    assert "python -m pytest" in makefile
    assert not re.search(r"(?<!python -m )\bpytest -", makefile)
    assert "make test" in run
    assert "make wheel" in run
