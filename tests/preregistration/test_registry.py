"""Registrations: the same suite is one hash and one line, and a changed line is found."""

import errno
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from equipoise_preregistration import (
    ChainError,
    LoadedSuite,
    Registration,
    SuiteError,
    canonical,
    find_registration,
    load_suite,
    register,
    registrations,
    verify_chain,
)
from equipoise_preregistration.canon import digest
from equipoise_preregistration.chain import FILE, GENESIS, entry_hash
from equipoise_preregistration.code import CodeVersion
from equipoise_preregistration.registration import Surroundings, identity


def filled(parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    return parameters


RULES = dict.fromkeys(("grpo", "gigpo"), filled)
AROUND = Surroundings(
    CodeVersion("0.1.0", "c0ffee", dirty=False, sources=None), ("numpy==2.2",), "3.11.7", "x86_64"
)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)

TEXT = """\
name: tiny
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo}
budget: {examples: 64, optimizer_steps: 4}
blocks: 2
"""


def load(folder: Path, text: str = TEXT) -> LoadedSuite:
    path = folder / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return load_suite(path, rules=RULES)


def register_three(home: Path) -> list[Registration]:
    made = []
    for seed in range(3):
        loaded = load(home, f"{TEXT}seed: {seed}\n")
        made.append(register(loaded, home, around=AROUND, now=NOON + timedelta(hours=seed)))
    return made


def rewrite(home: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Changes the lines of the chain as a text editor would."""
    lines = (home / FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    (home / FILE).write_text("".join(change(lines)), encoding="utf-8")


def test_comments_order_and_written_out_defaults_do_not_change_the_hash(tmp_path: Path) -> None:
    other = """\
# the same suite, written another way
budget: {optimizer_steps: 4, examples: 64, under: resample}
blocks: 2
seed: 0
name: "tiny"
training: {learning_rate: 0.001}
analysis: {looks: [2], alpha: 5.0e-2}
conditions:
  - {baseline: true, rule: grpo, id: outcome}
  - {id: gigpo, rule: gigpo, control: null}
"""
    one, two = load(tmp_path), load(tmp_path, other)
    assert canonical(one.suite) == canonical(two.suite)
    assert identity(one.suite, AROUND) == identity(two.suite, AROUND)


def test_time_and_folder_do_not_enter_the_hash(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    first.mkdir()
    second.mkdir()
    one = register(load(first), first, around=AROUND, now=NOON)
    two = register(load(second), second, around=AROUND, now=NOON + timedelta(days=9))
    assert one.hash == two.hash
    assert one.seeds == two.seeds


def test_every_part_of_the_identity_changes_the_hash(tmp_path: Path) -> None:
    suite = load(tmp_path).suite
    others = [
        replace(AROUND, code=replace(AROUND.code, commit="beef")),
        replace(AROUND, code=replace(AROUND.code, dirty=True)),
        replace(AROUND, lock=("numpy==2.3",)),
        replace(AROUND, python="3.12.0"),
        replace(AROUND, machine="arm64"),
    ]
    hashes = {identity(suite, around) for around in (AROUND, *others)}
    more = {
        identity(load(tmp_path, TEXT + line).suite, AROUND)
        for line in ("seed: 1\n", "execution: {threads: 2}\n", "execution: {cpu_capability: avx512}\n")
    }
    assert len(hashes | more) == 9


def test_an_identity_is_the_hash_of_sorted_keys_and_shortest_numbers() -> None:
    written = b'{"a":[1,0.001,1e+21],"b":"\xc3\xbc"}'
    assert digest({"b": "ü", "a": [1.0, 1e-3, 1e21]}) == f"eq1:{sha256(written).hexdigest()}"


def test_the_seeds_of_blocks_do_not_depend_on_the_question(tmp_path: Path) -> None:
    one = register(load(tmp_path), tmp_path, around=AROUND, now=NOON)
    two = register(load(tmp_path, TEXT + "question: why\n"), tmp_path, around=AROUND, now=NOON)
    assert one.hash != two.hash
    assert one.seeds == two.seeds
    assert list(one.seeds) == ["root", "block/0", "block/1"]


def test_the_same_suite_again_is_the_same_registration(tmp_path: Path) -> None:
    one = register(load(tmp_path), tmp_path, around=AROUND, now=NOON)
    two = register(load(tmp_path, "# again\n" + TEXT), tmp_path, around=AROUND, now=NOON + timedelta(days=1))
    assert one == two
    assert len((tmp_path / FILE).read_text().splitlines()) == 1


def test_a_registration_reads_back_as_it_was_written(tmp_path: Path) -> None:
    made = register_three(tmp_path)
    assert list(registrations(tmp_path)) == made
    assert made[2].model == load(tmp_path, f"{TEXT}seed: 2\n").suite
    assert made[0].previous == GENESIS
    assert made[0].registered_at == NOON


def test_the_raw_file_is_kept_read_only(tmp_path: Path) -> None:
    made = register(load(tmp_path, "# mine\n" + TEXT), tmp_path, around=AROUND, now=NOON)
    copy = tmp_path / "registered" / f"{made.hash8}.yaml"
    assert copy.read_text(encoding="utf-8") == "# mine\n" + TEXT
    assert stat.S_IMODE(copy.stat().st_mode) == 0o444


def test_a_time_is_kept_in_utc_and_one_without_a_zone_is_refused(tmp_path: Path) -> None:
    east = datetime(2026, 1, 2, 14, tzinfo=timezone(timedelta(hours=2)))
    made = register(load(tmp_path), tmp_path, around=AROUND, now=east)
    assert made.registered_at == NOON
    assert made.as_json()["registered_at"] == "2026-01-02T12:00:00Z"
    with pytest.raises(SuiteError, match="without"):
        register(load(tmp_path, TEXT + "seed: 5\n"), tmp_path, around=AROUND, now=datetime(2026, 1, 2))


def test_a_registration_is_found_by_hash_name_or_suite(tmp_path: Path) -> None:
    first, _, last = register_three(tmp_path)
    assert find_registration(tmp_path, first.hash) == first
    assert find_registration(tmp_path, first.hash8) == first
    assert find_registration(tmp_path, "tiny") == last
    assert find_registration(tmp_path, first.model, around=AROUND) == first
    assert find_registration(tmp_path, first.model, around=replace(AROUND, python="3.12.1")) is None
    assert find_registration(tmp_path, "nobody") is None


def test_a_chain_that_does_not_exist_yet_is_whole(tmp_path: Path) -> None:
    report = verify_chain(tmp_path)
    assert (report.registrations, report.broken, report.head) == ((), None, GENESIS)


def test_an_untouched_chain_is_whole(tmp_path: Path) -> None:
    made = register_three(tmp_path)
    report = verify_chain(tmp_path)
    assert list(report.registrations) == made
    assert report.broken is None


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda lines: [lines[0], lines[2]], 2, "removed, added or moved"),
        (lambda lines: [lines[1], lines[0], lines[2]], 1, "removed, added or moved"),
        (lambda lines: [*lines, lines[1]], 4, "removed, added or moved"),
        (lambda lines: [lines[0], lines[1].replace("T13:00", "T11:00"), lines[2]], 2, "the line was changed"),
        (lambda lines: [lines[0], lines[1].replace("64", "65", 1), lines[2]], 2, "expected"),
        (lambda lines: [lines[0], lines[1][:40], "\n", lines[2]], 2, "got something else"),
        (lambda lines: [lines[0], lines[1], lines[2].rstrip("\n")], 3, "it was cut"),
        (lambda lines: [lines[0], "\n", *lines[1:]], 2, "got something else"),
        (lambda lines: [lines[0], "[]\n", *lines[1:]], 2, "got something else"),
        (lambda lines: [lines[0], "{}\n", *lines[1:]], 2, "got something else"),
    ],
)
def test_the_first_broken_line_is_named(
    tmp_path: Path, change: Callable[[list[str]], list[str]], line: int, words: str
) -> None:
    register_three(tmp_path)
    rewrite(tmp_path, change)
    broken = verify_chain(tmp_path).broken
    assert broken is not None
    assert broken.line == line
    assert words in broken.reason


def test_a_line_that_was_hashed_anew_still_breaks_the_next(tmp_path: Path) -> None:
    register_three(tmp_path)

    def forge(lines: list[str]) -> list[str]:
        record = json.loads(lines[0])
        record["entry"]["registered_at"] = "2020-01-01T00:00:00Z"
        record["entry_hash"] = entry_hash(record["previous"], record["entry"])
        return [json.dumps(record) + "\n", *lines[1:]]

    rewrite(tmp_path, forge)
    broken = verify_chain(tmp_path).broken
    assert broken is not None
    assert broken.line == 2


def test_a_changed_copy_of_a_suite_is_found(tmp_path: Path) -> None:
    made = register_three(tmp_path)
    copy = tmp_path / "registered" / f"{made[1].hash8}.yaml"
    copy.chmod(0o644)
    copy.write_text("name: other\n", encoding="utf-8")
    broken = verify_chain(tmp_path).broken
    assert broken is not None
    assert broken.line == 2
    assert "it was changed" in broken.reason
    copy.unlink()
    broken = verify_chain(tmp_path).broken
    assert broken is not None
    assert "no such file" in broken.reason


def test_nothing_is_added_to_a_broken_chain(tmp_path: Path) -> None:
    register_three(tmp_path)
    rewrite(tmp_path, lambda lines: lines[1:])
    before = (tmp_path / FILE).read_bytes()
    with pytest.raises(ChainError, match=r"registrations\.jsonl:1: .*removed"):
        register(load(tmp_path, TEXT + "seed: 9\n"), tmp_path, around=AROUND, now=NOON)
    assert (tmp_path / FILE).read_bytes() == before


def test_a_copy_left_by_a_crash_before_its_line_is_replaced(tmp_path: Path) -> None:
    made = register(load(tmp_path), tmp_path, around=AROUND, now=NOON)
    (tmp_path / FILE).unlink()
    again = register(load(tmp_path, "# second try\n" + TEXT), tmp_path, around=AROUND, now=NOON)
    assert again.hash == made.hash
    assert verify_chain(tmp_path).broken is None


RACE = """
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from equipoise_preregistration import load_suite, register
home = Path(sys.argv[1])
for seed in range(4):
    register(load_suite(home / f"{seed}.yaml"), home)
"""


def test_processes_that_register_at_once_leave_one_whole_chain(tmp_path: Path) -> None:
    for seed in range(4):
        (tmp_path / f"{seed}.yaml").write_text(f"{TEXT}seed: {seed}\n", encoding="utf-8")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    racers = [
        subprocess.Popen([sys.executable, "-c", RACE, str(tmp_path)], env=environment) for _ in range(3)
    ]
    assert [racer.wait(timeout=60) for racer in racers] == [0, 0, 0]
    report = verify_chain(tmp_path)
    assert report.broken is None
    assert len(report.registrations) == 4


def test_a_suite_is_registered_under_what_this_process_has(tmp_path: Path) -> None:
    made = register(load(tmp_path), Path(tmp_path))
    assert any(entry.startswith("numpy==") for entry in made.lock)
    assert any(entry.startswith("torch==") for entry in made.lock)
    assert not [entry for entry in made.lock if entry.startswith(("equipoise==", "pytest=="))]
    assert list(made.lock) == sorted(made.lock)
    assert register(load(tmp_path), tmp_path) == made


FULL = """
import resource, sys
from pathlib import Path
from equipoise_preregistration import load_suite, register
home = Path(sys.argv[1])
limit = (home / "registrations.jsonl").stat().st_size + 100
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    register(load_suite(home / "suite.yaml"), home)
except OSError as error:
    sys.exit(error.errno)
"""


def test_a_full_disk_leaves_no_half_line_in_the_chain(tmp_path: Path) -> None:
    register_three(tmp_path)
    load(tmp_path, TEXT + "seed: 9\n")
    before = (tmp_path / FILE).read_bytes()
    done = subprocess.run([sys.executable, "-c", FULL, str(tmp_path)], check=False, timeout=60)
    assert done.returncode == errno.ENOSPC
    assert (tmp_path / FILE).read_bytes() == before
