import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from equipoise.store import JobSpec, StaleLease, open_store, this_worker

SUITE = "eq1:0123456789abcdef"
JOBS = 120


def _work(home: Path) -> None:
    store = open_store(home)
    worker = this_worker()
    while True:
        store.reclaim()
        lease = store.claim(worker, 30.0)
        if lease is None:
            if store.progress(SUITE).by_state.get("running", 0) == 0:
                return
            time.sleep(0.05)
            continue
        try:
            store.heartbeat(lease)
            time.sleep(0.01)
            store.finish(lease, {"kind": "cell", "outcomes": [], "token": lease.token})
        except StaleLease:
            continue


def test_eight_workers_under_random_kills_finish_every_job_exactly_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.add_suite(SUITE, "suite", {}, "2026-01-01T00:00:00Z")
    store.add_jobs(SUITE, [JobSpec(f"b{number}/cell", "cell", order=number) for number in range(JOBS)])
    draw = np.random.default_rng(1)
    context = multiprocessing.get_context("spawn")

    def start() -> multiprocessing.process.BaseProcess:
        process = context.Process(target=_work, args=(tmp_path,))
        process.start()
        return process

    workers = [start() for _ in range(8)]
    deadline = time.monotonic() + 20
    while store.progress(SUITE).done < JOBS // 2 and time.monotonic() < deadline:
        time.sleep(float(draw.uniform(0.05, 0.3)))
        victim = int(draw.integers(8))
        pid = workers[victim].pid
        assert pid is not None
        if workers[victim].is_alive():
            os.kill(pid, signal.SIGKILL)
            workers[victim].join()
            workers[victim] = start()
    for worker in workers:
        worker.join(120)
    states = Counter(job.state for job in store.jobs(SUITE))
    assert states == {"done": JOBS}
    done = Counter(attempt.key for attempt in store.attempts(SUITE) if attempt.end == "done")
    assert set(done.values()) == {1}
    messages = Counter(message.key for message in store.outbox_pending(10 * JOBS))
    assert set(messages.values()) == {1}
    assert len(messages) == JOBS
    tokens = {attempt.key: attempt.token for attempt in store.attempts(SUITE) if attempt.end == "done"}
    results = store.results_by_key(SUITE)
    assert {key: result["token"] for key, result in results.items()} == tokens
    store.close()


def test_a_worker_killed_in_the_middle_of_a_commit_leaves_nothing_of_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.add_suite(SUITE, "suite", {}, "2026-01-01T00:00:00Z")
    store.add_jobs(SUITE, [JobSpec("b0/cell", "cell")])
    store.close()
    # The message is the last row of the transaction: everything else is written by then.
    code = (
        "import os, signal, sys\n"
        "from sqlalchemy import Engine, event\n"
        "from equipoise.store import Artifact, open_store, this_worker\n"
        "def strike(connection, cursor, statement, *rest):\n"
        "    if statement.startswith('INSERT INTO outbox'):\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "store = open_store(sys.argv[1])\n"
        "lease = store.claim(this_worker())\n"
        "event.listen(Engine, 'after_cursor_execute', strike)\n"
        "row = {'split': 'pool', 'task': 0, 'successes': 1, 'episodes': 2}\n"
        "store.finish(lease, {'outcomes': [row]}, {'f': Artifact('a' * 64, 1)})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    (job,) = store.jobs(SUITE)
    assert job.state == "running"
    assert store.results(SUITE) == []
    assert store.artifacts(SUITE, "b0/cell") == {}
    assert store.outbox_pending() == []
    assert "finished" not in [event.kind for event in store.events(SUITE)]
    assert store.reclaim() == ["b0/cell"]
    lease = store.claim(this_worker())
    assert lease is not None
    store.finish(lease, {"outcomes": []})
    assert [attempt.end for attempt in store.attempts(SUITE)] == ["lost", "done"]
    store.close()
