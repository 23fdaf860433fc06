"""Which code a registration names: a commit, the files themselves, or the record of a wheel."""

import subprocess
from pathlib import Path

import pytest

from equipoise_preregistration import SuiteError, code


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in a folder of its own, as the one that code_version looks at."""
    folder = tmp_path / "checkout" / "lib" / "equipoise"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("x = 1\n")
    monkeypatch.setattr(code, "_folders", lambda: (folder,))
    return folder


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit(packages: Path) -> str:
    top = packages.parents[1]
    git(top, "init", "-q")
    git(top, "add", "lib")
    git(top, "commit", "-qm", "first")
    return git(top, "rev-parse", "HEAD")


def test_a_clean_checkout_is_named_by_its_commit(packages: Path) -> None:
    made = commit(packages)
    found = code.code_version()
    assert (found.commit, found.dirty, found.sources) == (made, False, None)


def test_a_file_outside_the_packages_does_not_make_a_checkout_dirty(packages: Path) -> None:
    commit(packages)
    (packages.parents[1] / "notes.txt").write_text("hm")
    assert not code.code_version().dirty


@pytest.mark.parametrize("name", ["__init__.py", "new.py"])
def test_changes_of_a_checkout_are_named_by_their_content(packages: Path, name: str) -> None:
    made = commit(packages)
    (packages / name).write_text("x = 2\n")
    first = code.code_version()
    (packages / name).write_text("x = 3\n")
    second = code.code_version()
    assert (first.commit, first.dirty) == (made, True)
    assert first.sources != second.sources


def test_an_environment_inside_another_checkout_is_not_a_checkout_of_ours(packages: Path) -> None:
    top = packages.parents[1]
    git(top, "init", "-q")
    (top / "theirs.py").write_text("")
    git(top, "add", "theirs.py")
    git(top, "commit", "-qm", "theirs")
    found = code.code_version()
    assert found.commit is None
    assert not found.dirty
    assert found.sources is not None


def test_without_git_the_files_are_the_name(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    # As in a checkout; a wheel has a record, which is looked at first.
    monkeypatch.setattr(code, "_record", lambda: None)
    first = code.code_version()
    (packages / "__pycache__").mkdir()
    (packages / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert code.code_version() == first
    (packages / "__init__.py").write_text("x = 2\n")
    assert code.code_version() != first


def test_a_git_that_is_killed_is_an_error_and_not_another_version(
    packages: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(packages)
    killed = tmp_path / "bin" / "git"
    killed.parent.mkdir()
    killed.write_text("#!/bin/sh\nkill -9 $$\n")
    killed.chmod(0o755)
    monkeypatch.setenv("PATH", str(killed.parent), prepend=":")
    with pytest.raises(SuiteError, match="killed by signal 9; run the same command again"):
        code.code_version()
