"""Whatever is wrong is said once, on standard error, with its exit code, and leaves nothing behind."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.cli.errors import ExitCode

if TYPE_CHECKING:
    from tests.platform.cli.conftest import Command, Said


def assert_said_once(said: "Said", code: ExitCode, *words: str) -> None:
    assert said.code == code, said.err
    assert said.err.startswith("equipoise: ")
    assert said.err.count("equipoise: ") == 1
    assert "Traceback" not in said.err
    for word in words:
        assert word in said.err


FAULTS = {
    "YAML": ("blocks: 2", "blocks: [2", ":16:11: expected YAML 1.2", "expected ',' or ']'"),
    "unknown key": ("blocks: 2", "blocks: 2\nblocs: 3", ":16:1: blocs: ", "did you mean 'blocks'?"),
    "unknown rule": ("rule: exact", "rule: exactt", "conditions[1].rule", "did you mean 'exact'?"),
    "ragged budget": ("examples: 16", "examples: 17", "budget.examples: expected a multiple", "16 (batch 8)"),
    "two baselines": ("control: positive", "baseline: true", "expected exactly one baseline, got 'oracle'"),
    "no baseline": (", baseline: true", "", "expected exactly one condition with `baseline: true`"),
    "twins of nothing": ("blocks: 2", "blocks: 2\narms: {matched: false, twins: 1}", "set `matched: true`"),
    "no blocks": ("blocks: 2", "blocks: 0", "blocks: expected at least 1, got 0"),
    "budget out of reach": ("examples: 16", "examples: 160000", "expected at most 2048, got 160000"),
    "unknown environment": ("name: bifurcation", "name: bifurcaton", "did you mean 'bifurcation'?"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("verb", ["register", "run"])
def test_a_faulty_suite_is_refused_before_anything_is_made(
    verb: str, fault: str, command: "Command", small: Path, tmp_path: Path
) -> None:
    right, wrong, *words = FAULTS[fault]
    text = small.read_text(encoding="utf-8")
    assert right in text
    file = tmp_path / "suite.yaml"
    file.write_text(text.replace(right, wrong), encoding="utf-8")
    explore = ["--exploratory"] if verb == "run" else []
    said = command(verb, file, "--home", tmp_path / "runs", *explore)
    assert_said_once(said, ExitCode.USAGE, str(file), *words)
    assert said.out == ""
    assert not (tmp_path / "runs").exists()


def test_a_suite_without_registration_is_refused(command: "Command", small: Path, tmp_path: Path) -> None:
    said = command("run", small, "--home", tmp_path / "runs")
    assert_said_once(said, ExitCode.REFUSED, f"`equipoise register {small}`", "--exploratory")
    assert not (tmp_path / "runs").exists()


def test_a_suite_that_was_registered_otherwise_is_told_how_it_differs(
    command: "Command", small: Path, tmp_path: Path
) -> None:
    home = tmp_path / "runs"
    assert command("register", small, "--home", home).code == 0
    changed = tmp_path / "changed.yaml"
    changed.write_text(small.read_text().replace("seed: 5", "seed: 6"))
    said = command("run", changed, "--home", home)
    (kept,) = (home / "registered").glob("*.yaml")
    assert_said_once(
        said, ExitCode.REFUSED, f"small @ {kept.stem}", "registered with other contents", str(kept)
    )
    assert not (home / "equipoise.db").exists()


def test_a_suite_that_was_registered_under_other_code_is_told_which(
    command: "Command", small: Path, tmp_path: Path
) -> None:
    from dataclasses import replace

    from equipoise_preregistration import load_suite, register
    from equipoise_preregistration.code import CodeVersion
    from equipoise_preregistration.registration import surroundings

    before = CodeVersion("0.0.1", "0123456789abcdef", dirty=False, sources=None)
    lock = ("numpy==1.0",)
    register(load_suite(small), tmp_path, around=replace(surroundings(), code=before, lock=lock))
    said = command("run", small, "--home", tmp_path)
    assert_said_once(
        said, ExitCode.REFUSED, "other code (commit 0123456789ab, now ", "other libraries (numpy==1.0 then, "
    )


@pytest.mark.parametrize("digits", [8, 64])
def test_the_hash_of_a_registration_leads_to_its_file(
    digits: int, command: "Command", small: Path, tmp_path: Path
) -> None:
    registered = json.loads(command("register", small, "--home", tmp_path, "--json").out)
    wanted = registered["hash"].removeprefix("eq1:")[:digits]
    said = command("run", wanted, "--home", tmp_path)
    file = tmp_path / "registered" / f"{registered['hash8']}.yaml"
    assert_said_once(said, ExitCode.REFUSED, f"`equipoise run {file}`")


def test_what_is_no_suite_is_told_which_there_are(command: "Command", tmp_path: Path) -> None:
    for wanted in ("deadbeef", "nosuch.yaml", tmp_path):
        said = command("run", wanted, "--home", tmp_path / "runs")
        assert_said_once(said, ExitCode.USAGE, "one of the shipped suites demo")
    assert not (tmp_path / "runs").exists()


def test_a_report_before_any_run_is_refused(command: "Command", small: Path, tmp_path: Path) -> None:
    said = command("report", "--home", tmp_path / "runs")
    assert_said_once(said, ExitCode.INCOMPLETE, "run a suite first (`equipoise run SUITE`)")
    assert not (tmp_path / "runs").exists()
    command("register", small, "--home", tmp_path / "runs")
    said = command("report", "--home", tmp_path / "runs")
    assert_said_once(said, ExitCode.INCOMPLETE, "run a suite first")


def test_a_report_of_an_unknown_suite_lists_the_known_ones(command: "Command", tmp_path: Path) -> None:
    from equipoise.store import open_store

    open_store(tmp_path).add_suite("eq1:0123456789abcdef", "mine", {}, "2026-01-01T00:00:00Z")
    said = command("report", "other", "--home", tmp_path)
    assert_said_once(said, ExitCode.REFUSED, "it knows: mine @ 01234567")


@pytest.mark.parametrize("verb", ["run", "report", "status"])
def test_a_database_of_garbage_is_left_untouched(
    verb: str, command: "Command", small: Path, tmp_path: Path
) -> None:
    garbage = bytes(range(256)) * 20
    (tmp_path / "equipoise.db").write_bytes(garbage)
    suite = [small, "--exploratory"] if verb == "run" else []
    said = command(verb, *suite, "--home", tmp_path)
    assert_said_once(said, ExitCode.TROUBLE, "expected an SQLite database", "restore a copy")
    assert (tmp_path / "equipoise.db").read_bytes() == garbage


@pytest.mark.parametrize("verb", ["run", "report"])
def test_a_database_of_a_later_version_is_refused(
    verb: str, command: "Command", small: Path, tmp_path: Path
) -> None:
    from equipoise.store import open_store

    open_store(tmp_path).close()
    with sqlite3.connect(tmp_path / "equipoise.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    suite = [small, "--exploratory"] if verb == "run" else []
    said = command(verb, *suite, "--home", tmp_path)
    assert_said_once(said, ExitCode.TROUBLE, "schema is revision '9999'", "upgrade equipoise")


@pytest.mark.parametrize("verb", ["run", "register", "demo"])
def test_a_folder_that_cannot_be_made_is_named(
    verb: str, command: "Command", small: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    suites: dict[str, list[object]] = {"run": [small, "--exploratory"], "register": [small], "demo": []}
    for home in (file / "runs", Path("/proc/runs")):
        said = command(verb, *suites[verb], "--home", home)
        assert_said_once(said, ExitCode.TROUBLE, f"got {home}", "choose another one with --home")


def test_a_chain_that_was_changed_stops_everything(command: "Command", small: Path, tmp_path: Path) -> None:
    assert command("register", small, "--home", tmp_path).code == 0
    chain = tmp_path / "registrations.jsonl"
    chain.write_text(chain.read_text().replace('"registered_at":"20', '"registered_at":"19'))
    before = chain.read_bytes()
    for verb in ("run", "register"):
        said = command(verb, small, "--home", tmp_path)
        assert_said_once(said, ExitCode.TAMPERED, f"{chain}:1: ", "the line was changed")
    assert chain.read_bytes() == before
    assert not (tmp_path / "equipoise.db").exists()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one MiB; only root can make one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this user cannot mount a small file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


@pytest.mark.slow
def test_a_full_disk_is_named_and_finished_jobs_are_kept(tiny_disk: Path, small: Path) -> None:
    code = "from equipoise.cli import main; main()"
    arguments = ["run", str(small), "--exploratory", "--home", str(tiny_disk / "runs")]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == ExitCode.TROUBLE, done.stderr
    assert "Traceback" not in done.stderr
    assert "full" in done.stderr or "No space left" in done.stderr
    # What was written whole before is still whole.
    subprocess.run(["mount", "-o", "remount,size=64m", str(tiny_disk)], check=True)
    status = subprocess.run(
        [sys.executable, "-c", code, "status", "--json", "--home", str(tiny_disk / "runs")],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert status.returncode == 0, status.stderr
    assert "running" not in json.loads(status.stdout)[0]["counts"].get("cell", {})


def test_impossible_limits_of_generation_are_refused_together_with_what_would_do(
    command: "Command", small: Path, tmp_path: Path
) -> None:
    file = tmp_path / "suite.yaml"
    limits = "generation: {environment_steps: 1, rollout_tokens: 2, flops: 1}, doubly: true"
    text = small.read_text(encoding="utf-8").replace("optimizer_steps: 2", f"optimizer_steps: 2, {limits}")
    file.write_text(text, encoding="utf-8")
    said = command("check", file)
    # Four rollouts a prompt.
    assert_said_once(said, ExitCode.USAGE, ":14:", "environment_steps: expected at least 4, got 1")
    assert "rollout_tokens: expected at least 16, got 2" in said.err
    assert "flops: expected at least " in said.err
    assert said.err.count("write null for no limit") == 3


def test_an_environment_is_asked_about_its_keys_though_others_are_wrong(
    command: "Command", small: Path, tmp_path: Path
) -> None:
    file = tmp_path / "suite.yaml"
    text = small.read_text(encoding="utf-8").replace("pivotal: 1}, horizon: 4", "pivot: 1}, horizon: many")
    file.write_text(text, encoding="utf-8")
    said = command("check", file)
    assert_said_once(said, ExitCode.USAGE, "horizon: expected an integer", "pivot: expected a key out of")
