"""What is shipped is what the tree holds."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = [pytest.mark.tree, pytest.mark.slow]

TOP = Path(__file__).parents[2]
ROOTS = ("platform", "conditions", "budget", "stats", "reports", "preregistration")


def build(where: Path, *options: str) -> set[str]:
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(where), *options, str(TOP)]
    subprocess.run(command, check=True, capture_output=True)
    wheel = next(where.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def test_the_wheel_holds_the_tracked_files_and_the_way_by_the_sdist_changes_nothing(tmp_path: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *ROOTS],
        cwd=TOP, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    expected = {name.split("/", 1)[1] for name in listed if (TOP / name).exists()}
    straight = build(tmp_path / "straight", "--wheel")
    assert straight == expected
    assert build(tmp_path / "through_sdist") == expected
