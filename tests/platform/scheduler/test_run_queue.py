import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest


def test_jobs_run_in_order_each_once_with_the_files_of_those_they_need(bench: Any) -> None:
    bench.add("b0/base", order=0)
    bench.add("b0/cell1", needs=["b0/base"], order=2)
    bench.add("b0/cell0", needs=["b0/base"], order=1)
    ended = bench.run(slots=1)
    assert ended["error"] is None
    assert bench.order() == ["b0/base", "b0/cell0", "b0/cell1"]
    base = hashlib.sha256(b"b0/base").digest()
    cell = hashlib.sha256(base + b"b0/cell0").hexdigest()
    assert bench.store.results_by_key(bench.suite)["b0/cell0"]["digest"] == cell
    summary = ended["summary"]
    assert (summary["done"], summary["total"], summary["ran"], summary["isolation"]) == (3, 3, 3, "fork")
    assert summary["notes"] == []
    assert ended["updates"][-1] == 3


def test_blocks_are_honoured_in_the_order_that_was_drawn(bench: Any) -> None:
    drawn = {"b1/cell2": 0, "b1/cell0": 1, "b1/cell1": 2, "b0/cell1": 3, "b0/cell0": 4, "b0/cell2": 5}
    for key in sorted(drawn):
        bench.add(key, order=drawn[key])
    bench.run(slots=1)
    assert bench.order() == list(drawn)


def test_a_fresh_interpreter_gives_the_same_result_as_a_fork(bench: Any) -> None:
    bench.add("b0/cell0")
    bench.add("b0/cell1", needs=["b0/cell0"])
    ended = bench.run(isolation="subprocess")
    assert ended["summary"]["isolation"] == "subprocess"
    base = hashlib.sha256(b"b0/cell0").digest()
    digests = {key: result["digest"] for key, result in bench.store.results_by_key(bench.suite).items()}
    assert digests == {"b0/cell0": base.hex(), "b0/cell1": hashlib.sha256(base + b"b0/cell1").hexdigest()}


def test_what_a_job_prints_is_in_its_log_and_its_files_are_known_by_their_sums(bench: Any) -> None:
    bench.add("b0/cell0")
    bench.run()
    content = hashlib.sha256(b"b0/cell0").digest()
    assert bench.folder("b0/cell0").joinpath("log.txt").read_text() == f"made {content.hex()}\n"
    artifacts = bench.store.artifacts(bench.suite, "b0/cell0")
    assert sorted(artifacts) == ["out.bin", "result.json"]
    assert artifacts["out.bin"].sha256 == hashlib.sha256(content).hexdigest()
    assert artifacts["out.bin"].bytes == 32


def test_what_is_not_a_number_becomes_null(bench: Any) -> None:
    bench.add("b0/cell0")
    bench.run()
    assert bench.store.results(bench.suite)[0]["loss"] is None


def test_wall_time_and_memory_of_each_attempt_are_kept(bench: Any) -> None:
    bench.add("b0/cell0", sleep=0.2)
    bench.run()
    (attempt,) = bench.store.attempts(bench.suite)
    assert 0.2 <= attempt.usage.seconds < 30
    assert attempt.usage.maxrss > 1000


@pytest.mark.parametrize("trouble", ["kill", "segfault", "exit 0", "exit 3", "memory", "terminate"])
def test_a_child_that_dies_once_is_run_again_and_others_are_not_touched(bench: Any, trouble: str) -> None:
    bench.add("b0/cell0", trouble, once=True)
    bench.add("b0/cell1")
    ended = bench.run()
    assert ended["summary"]["done"] == 2
    end = {"memory": "oom", "terminate": "preempted"}.get(trouble, "lost")
    assert bench.ends("b0/cell0") == [end, "done"]
    assert bench.ends("b0/cell1") == ["done"]
    assert bench.ran() == {"b0/cell0": 1, "b0/cell1": 1}


def test_a_child_that_always_dies_is_given_up_and_what_needs_it_stays_blocked(bench: Any) -> None:
    bench.add("b0/base", "segfault")
    bench.add("b0/cell", needs=["b0/base"])
    bench.add("b1/cell")
    summary = bench.run()["summary"]
    assert (summary["done"], summary["exhausted"], summary["blocked"]) == (1, 1, 1)
    assert bench.ends("b0/base") == ["lost", "lost", "lost"]
    message = bench.store.attempts(bench.suite, "b0/base")[0].message
    assert "SIGSEGV" in message
    assert "Segmentation fault" in bench.folder("b0/base").joinpath("log.txt").read_text()


def test_a_child_over_its_time_is_killed_with_all_that_it_started(bench: Any) -> None:
    bench.add("b0/cell0", "grandchild", once=True)
    began = time.monotonic()
    ended = bench.run(time_limit=3.0)
    assert time.monotonic() - began < 60
    assert ended["summary"]["done"] == 1
    assert bench.ends("b0/cell0") == ["timeout", "done"]


def test_grandchildren_do_not_outlive_their_attempt(bench: Any) -> None:
    bench.add("b0/cell0", "grandchild")
    parent = bench.start(ttl=60)
    note = bench.folder("b0/cell0") / "grandchild.pid"
    _until(lambda: note.exists() and note.read_text())
    pid = int(note.read_text())
    parent.terminate()
    assert bench.end(parent)["error"] == "Interrupted"
    _until(lambda: not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text())


@pytest.mark.parametrize("trouble", ["raise", "sys.exit"])
def test_a_code_error_stops_the_suite_and_shows_where(bench: Any, trouble: str) -> None:
    bench.add("b0/cell0", trouble, once=True)
    for number in range(1, 5):
        bench.add(f"b0/cell{number}", order=number)
    ended = bench.run(slots=1)
    assert ended["error"] == "CodeError"
    assert "b0/cell0" in ended["message"]
    assert str(bench.folder("b0/cell0") / "log.txt") in ended["message"]
    assert {"raise": "the rule divides by nothing", "sys.exit": "SystemExit"}[trouble] in ended["message"]
    assert "in execute" in ended["message"], "the last lines of the traceback"
    assert bench.states() == {
        "b0/cell0": "failed",
        **{f"b0/cell{number}": "queued" for number in range(1, 5)},
    }
    # The second time the code is mended.
    assert bench.run()["summary"]["done"] == 5


def test_several_code_errors_may_be_asked_for_before_the_suite_stops(bench: Any) -> None:
    bench.add("b0/cell0", "raise")
    bench.add("b0/cell1", order=1)
    bench.add("b0/cell2", "raise", order=2)
    bench.add("b0/cell3", order=3)
    ended = bench.run(slots=1, stop_after=2)
    assert ended["error"] == "CodeError"
    assert bench.states() == {
        "b0/cell0": "failed",
        "b0/cell1": "done",
        "b0/cell2": "failed",
        "b0/cell3": "queued",
    }


@pytest.mark.parametrize("trouble", ["no space", "wrapped no space"])
def test_a_full_disk_stops_the_queue_and_loses_nothing(bench: Any, trouble: str) -> None:
    bench.add("b0/cell0")
    bench.add("b0/cell1", trouble, order=1, once=True)
    bench.add("b0/cell2", order=2)
    ended = bench.run(slots=1)
    assert ended["error"] == "HomeError"
    assert "free some space and run the same command again" in ended["message"]
    assert bench.states() == {"b0/cell0": "done", "b0/cell1": "queued", "b0/cell2": "queued"}
    assert bench.run()["summary"]["done"] == 3
    assert bench.ends("b0/cell1") == ["no_space", "done"]


def test_an_attempt_finds_nothing_that_an_earlier_one_left(bench: Any) -> None:
    folder = bench.folder("b0/cell0")
    folder.mkdir(parents=True)
    (folder / "result.json").write_text('{"kind": "stale"}')
    (folder / "left.bin").write_bytes(b"x")
    bench.add("b0/cell0", "exit 0", once=True)
    bench.run()
    assert bench.ends("b0/cell0") == ["lost", "done"]
    assert sorted(bench.store.artifacts(bench.suite, "b0/cell0")) == ["out.bin", "result.json"]


@pytest.mark.parametrize("harm", ["damaged", "missing"])
def test_a_damaged_file_is_made_again_before_it_is_read(bench: Any, harm: str) -> None:
    bench.add("b0/base")
    bench.run()
    path = bench.folder("b0/base") / "out.bin"
    good = path.read_bytes()
    if harm == "damaged":
        path.write_bytes(b"?" * len(good))
    else:
        path.unlink()
    bench.add("b0/cell", needs=["b0/base"], order=1)
    ended = bench.run()
    assert ended["summary"]["done"] == 2
    assert any(harm in note for note in ended["summary"]["notes"])
    assert path.read_bytes() == good
    assert bench.ran() == {"b0/base": 2, "b0/cell": 1}
    assert bench.ends("b0/cell") == ["released", "done"]


def test_a_process_with_threads_does_not_fork_and_says_why(bench: Any) -> None:
    bench.add("b0/cell0")
    code = (
        "import json, sys, threading, time; from pathlib import Path\n"
        "import workload; from equipoise.scheduler import run_queue; from equipoise.store import open_store\n"
        "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
        "store = open_store(sys.argv[1]); suite = store.suites()[0].hash\n"
        "summary = run_queue(store, suite, workload.execute, home=Path(sys.argv[1]), slots=1)\n"
        "sys.exit(summary.isolation != 'subprocess' or 'threads that a fork' not in summary.notes[0])\n"
    )
    assert _python(code, bench.home) == 0
    assert bench.states() == {"b0/cell0": "done"}


def test_numeric_libraries_loaded_before_the_limit_keep_to_it_and_do_not_forbid_a_fork(bench: Any) -> None:
    bench.add("b0/cell0")
    code = (
        "import os, sys; os.environ.pop('OMP_NUM_THREADS', None); from pathlib import Path\n"
        "import numpy as np; square = np.ones((300, 300)); square @ square\n"
        "import workload; from equipoise.scheduler import run_queue; from equipoise.store import open_store\n"
        "store = open_store(sys.argv[1]); suite = store.suites()[0].hash\n"
        "def execute(payload, folder, inputs):\n"
        "    square @ square\n"
        "    return {'threads': len(os.listdir('/proc/self/task'))}\n"
        "summary = run_queue(store, suite, execute, home=Path(sys.argv[1]), slots=1)\n"
        "sys.exit(summary.isolation != 'fork')\n"
    )
    assert _python(code, bench.home) == 0
    assert bench.store.results(bench.suite) == [{"threads": 1}]


def _python(code: str, home: Path) -> int:
    import subprocess
    import sys

    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent / "support")}
    return subprocess.run([sys.executable, "-c", code, str(home)], check=False, env=environment).returncode


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
