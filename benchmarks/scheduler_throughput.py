"""No-op jobs a second through the store with several claiming processes on one SQLite file.

`python benchmarks/scheduler_throughput.py [--jobs 800] [--workers 8]` prints JSON. Each worker claims jobs
and commits their results durably, like the scheduler. `ratio` compares them with one worker in the same run.
`queue_seconds_per_job`: a no-op job through `run_queue`: claim, fork, result file, commit.
"""

import argparse
import json
import multiprocessing
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

SUITE = "eq1:0000000000000000"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=800)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument(
        "--folder", type=Path, default=Path.cwd(), help="where the database is made and removed"
    )
    options = parser.parse_args()
    one = throughput(options.folder, options.jobs // 4, 1)
    many = throughput(options.folder, options.jobs, options.workers)
    answer = {
        "jobs": options.jobs,
        "workers": options.workers,
        "jobs_per_second": round(many, 1),
        "jobs_per_second_one_worker": round(one, 1),
        "ratio": round(many / one, 2),
        "fsync_ms": round(1000 * fsync_seconds(options.folder), 2),
        "queue_seconds_per_job": round(queue_seconds(options.folder), 4),
        "cores": len(os.sched_getaffinity(0)),
    }
    print(json.dumps(answer, indent=2))


def throughput(folder: Path, jobs: int, workers: int) -> float:
    from equipoise.store import JobSpec, open_store

    home = Path(tempfile.mkdtemp(dir=folder))
    try:
        store = open_store(home)
        store.add_suite(SUITE, "no-op", {}, "2026-01-01T00:00:00Z")
        store.add_jobs(SUITE, [JobSpec(f"b{number}/noop", "noop", {}, (), number) for number in range(jobs)])
        store.close()
        context = multiprocessing.get_context("spawn")
        barrier = context.Barrier(workers + 1)
        processes = [context.Process(target=claim_all, args=(home, barrier)) for _ in range(workers)]
        for process in processes:
            process.start()
        barrier.wait()
        began = time.perf_counter()
        for process in processes:
            process.join()
        seconds = time.perf_counter() - began
        ends = open_store(home).progress(SUITE).ends
        if ends != {"done": jobs}:
            message = f"expected every one of {jobs} jobs done once, came {ends}"
            raise SystemExit(message)
        return jobs / seconds
    finally:
        shutil.rmtree(home)


def claim_all(home: Path, barrier: Barrier) -> None:
    from equipoise.store import open_store, this_worker

    store = open_store(home)
    worker = this_worker()
    barrier.wait()
    while (lease := store.claim(worker)) is not None:
        store.finish(lease, {"kind": "noop"})


def fsync_seconds(folder: Path) -> float:
    with tempfile.TemporaryFile(dir=folder) as file:
        times = []
        for _ in range(30):
            began = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def no_op(_payload: dict[str, Any], _folder: Path, _inputs: Mapping[str, Path]) -> dict[str, Any]:
    return {"kind": "noop"}


def queue_seconds(folder: Path, jobs: int = 60) -> float:
    from equipoise.scheduler import run_queue
    from equipoise.store import JobSpec, open_store

    home = Path(tempfile.mkdtemp(dir=folder))
    try:
        store = open_store(home)
        store.add_suite(SUITE, "no-op", {}, "2026-01-01T00:00:00Z")
        store.add_jobs(SUITE, [JobSpec(f"b{number}/noop", "noop", {}, (), number) for number in range(jobs)])
        began = time.perf_counter()
        run_queue(store, SUITE, no_op, home=home, slots=1)
        return (time.perf_counter() - began) / jobs
    finally:
        shutil.rmtree(home)


if __name__ == "__main__":
    main()
