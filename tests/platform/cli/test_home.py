"""The project's folder is created, and refused where it cannot be written."""

from pathlib import Path

import pytest

from equipoise.cli.home import open_home
from equipoise.errors import HomeError


def test_a_missing_folder_is_created_with_its_parents(tmp_path: Path) -> None:
    home = open_home(tmp_path / "a" / "b")
    assert home.is_dir()
    assert list(home.iterdir()) == []


def test_the_tilde_is_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_home(Path("~/project")) == tmp_path / "project"


def test_a_file_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match="choose another one with --home"):
        open_home(tmp_path / "file")


def test_a_folder_on_a_disk_that_takes_no_files_is_refused() -> None:
    with pytest.raises(HomeError, match="can be written"):
        open_home(Path("/proc/equipoise"))
