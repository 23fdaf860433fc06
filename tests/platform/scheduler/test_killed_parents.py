import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

JOBS = [f"b{block}/cell{number}" for block in range(3) for number in range(4)]


def _add_all(bench: Any, sleep: float) -> None:
    for order, key in enumerate(JOBS):
        block = key.split("/")[0]
        if key.endswith("cell0"):
            bench.add(f"{block}/base", order=order)
        # Of unlike length, so that there is no moment at which the parent's children have all ended together.
        bench.add(key, needs=[f"{block}/base"], order=order, sleep=sleep * (1 + 0.4 * (order % 3)))


def _digests(bench: Any) -> dict[str, str]:
    return {key: result["digest"] for key, result in bench.store.results_by_key(bench.suite).items()}


def _until(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def _holds_a_cell(bench: Any) -> bool:
    """Whether two leases are held just now; cells sleep, so one is still held when the parent is killed."""
    held = [key for key, state in bench.states().items() if state == "running" and "cell" in key]
    return len(held) == 2


def test_a_killed_parent_started_again_at_once_finishes_every_job_once(bench: Any) -> None:
    _add_all(bench, sleep=0.6)
    parent = bench.start()
    _until(lambda: len(bench.ran()) >= 4 and _holds_a_cell(bench))
    parent.kill()
    parent.wait()
    began = time.monotonic()
    ended = bench.run()
    assert time.monotonic() - began < 30, "leases of a dead process are not waited for"
    assert ended["summary"]["done"] == 15
    assert any("left behind by a worker that has ended" in note for note in ended["summary"]["notes"])
    assert all(ends.count("done") == 1 for ends in map(bench.ends, bench.states()))
    assert all(job.tries == 0 for job in bench.store.jobs(bench.suite)), "its end is not the jobs' fault"
    assert len(bench.store.outbox_pending()) == 15


def test_children_die_with_their_parent(bench: Any) -> None:
    bench.add("b0/cell0", "grandchild", once=True)
    bench.add("b0/cell1", "hang", once=True)
    parent = bench.start()
    _until((bench.folder("b0/cell0") / "grandchild.pid").exists)
    children = _children(parent.pid)
    assert len(children) == 2
    parent.kill()
    parent.wait()
    _until(lambda: not any(_alive(child) for child in children))
    with contextlib.suppress(ProcessLookupError):
        os.kill(int((bench.folder("b0/cell0") / "grandchild.pid").read_text()), signal.SIGKILL)


def test_interrupted_results_are_the_same_as_undisturbed_ones(bench: Any, tmp_path_factory: Any) -> None:
    _add_all(bench, sleep=0.05)
    for _ in range(4):
        parent = bench.start()
        time.sleep(0.9)
        parent.kill()
        parent.wait()
    bench.run()
    undisturbed = type(bench)(tmp_path_factory.mktemp("undisturbed"))
    _add_all(undisturbed, sleep=0.0)
    undisturbed.run()
    assert _digests(bench) == _digests(undisturbed)
    assert len(_digests(bench)) == 15
    undisturbed.store.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_gives_running_jobs_back_and_says_how_to_go_on(bench: Any, number: signal.Signals) -> None:
    bench.add("b0/cell0")
    bench.add("b0/cell1", "hang", order=1, once=True)
    bench.add("b0/cell2", "hang", order=2, once=True)
    parent = bench.start()
    _until(lambda: bench.began("b0/cell1") and bench.began("b0/cell2"))
    children = _children(parent.pid)
    parent.send_signal(number)
    began = time.monotonic()
    ended = bench.end(parent)
    assert time.monotonic() - began < 20
    assert ended["error"] == "Interrupted"
    assert f"stopped by {number.name}: 1 of 3 jobs are done and kept, 2 running ones" in ended["message"]
    assert not any(_alive(child) for child in children)
    assert list(bench.states().values()) == ["done", "queued", "queued"]
    assert bench.ends("b0/cell1") == ["released"]
    assert bench.run()["summary"]["done"] == 3


def test_two_parents_share_a_queue_without_doing_anything_twice(bench: Any) -> None:
    _add_all(bench, sleep=0.05)
    first, second = bench.start(), bench.start()
    ended = [bench.end(first), bench.end(second)]
    assert [one["summary"]["done"] for one in ended] == [15, 15]
    assert sum(one["summary"]["ran"] for one in ended) == 15
    assert set(bench.ran().values()) == {1}


def test_a_frozen_parent_that_wakes_up_too_late_is_fenced_off(bench: Any) -> None:
    bench.add("b0/cell0", sleep=2.0)
    first = bench.start(ttl=1.0, slots=1)
    _until(lambda: bench.states()["b0/cell0"] == "running")
    children = _children(first.pid)
    os.kill(first.pid, signal.SIGSTOP)
    second = bench.start(ttl=1.0, slots=1)
    assert bench.end(second)["summary"]["ran"] == 1
    os.kill(first.pid, signal.SIGCONT)
    ended = bench.end(first)
    assert ended["summary"]["ran"] == 0
    assert any("is refused" in note for note in ended["summary"]["notes"])
    assert bench.ends("b0/cell0") == ["lost", "done"]
    assert len(bench.store.outbox_pending()) == 1
    assert not any(_alive(child) for child in children)


def test_random_kills_of_parents_and_children_lose_nothing(bench: Any) -> None:
    _add_all(bench, sleep=0.1)
    draw = np.random.default_rng(7)
    parents = [bench.start(), bench.start()]
    for _ in range(8):
        time.sleep(float(draw.uniform(0.3, 0.8)))
        number = int(draw.integers(2))
        victims = [*_children(parents[number].pid)[:1], parents[number].pid]
        victim = victims[int(draw.integers(len(victims)))]
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGKILL)
        if parents[number].poll() is not None:
            parents[number] = bench.start()
    for parent in parents:
        parent.wait(30)  # and so without waiting for a lease of a dead parent to run out
    # A job whose children were hit three times is given up; a new run tries it again.
    assert bench.run()["summary"]["done"] == 15
    assert all(bench.ends(key).count("done") == 1 for key in bench.states())
    assert len(bench.store.outbox_pending()) == 15


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(path.parent.name))
    return found


def _alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    return False
