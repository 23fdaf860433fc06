"""A suite's queue is run: one single-threaded parent claims jobs, keeps children at work, commits results."""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from equipoise.errors import CodeError, HomeError, StoreError
from equipoise.scheduler.child import Execute, Order
from equipoise.scheduler.ends import End, end_of, last_lines
from equipoise.scheduler.errors import Interrupted
from equipoise.scheduler.files import LOG_FILE, damage, empty_folder, read_artifacts, work_folder
from equipoise.scheduler.isolation import Way, prepare
from equipoise.scheduler.settings import OnProgress, Settings, Summary, Tuning, Update, default_slots
from equipoise.scheduler.slots import Running, start
from equipoise.scheduler.system import (
    Signals,
    frozen,
    kill_group,
    oom_kills,
    reap,
    wait_any,
)
from equipoise.store import BadResult, Lease, NotReproduced, StaleLease, Store, Usage, this_worker

__all__ = ["run_queue"]

_BEATS_PER_LEASE = 6
_TELL_SECONDS = 0.2
_IDLE_SECONDS = 0.5


def run_queue(
    store: Store,
    suite_hash: str,
    execute: Execute | str,
    *,
    home: Path,
    slots: int | None = None,
    preload: Callable[[], None] | None = None,
    on_progress: OnProgress | None = None,
    **tuning: Unpack[Tuning],
) -> Summary:
    """Run what is left of a suite's queue and return when nothing more can be run.

    Calling it again continues: finished jobs are kept, jobs of dead workers are taken back at once, jobs that
    failed are tried again. Every job runs in a child of its own; forked ones share what `preload` loaded.

    Args:
        store: the store that holds the suite and its jobs.
        suite_hash: the suite.
        execute: `execute(payload, folder, inputs) -> result`, run in the child with its own folder and those
            of the jobs it needs; or its name `module:function`. What it raises ends the attempt; what it
            writes into the folder, apart from the log, must depend on the payload and the inputs alone.
        home: the project folder.
        slots: children at a time; by default as many as there are cores for.
        preload: loads heavy modules in the parent before the first fork.
        on_progress: told now and then where the suite stands.
        **tuning: see `Settings`.

    Raises:
        CodeError: the code of a job failed; the suite stopped early.
        Interrupted: a signal stopped it; run it again to continue.
        HomeError: the project folder is full or cannot be written.
        StoreError: the database failed.
        ExecutionError: a setting is impossible.
    """
    settings = Settings(**tuning)
    queue = _Queue(store, suite_hash, home.absolute(), slots or default_slots(settings.threads), settings)
    queue.on_progress = on_progress
    with Signals() as signals:
        queue.prepare(execute, preload)
        with frozen():
            return queue.run(signals)


class _Queue:
    """The parent's state: children at work, leases claimed for children not yet started, remarks."""

    def __init__(self, store: Store, suite: str, home: Path, slots: int, settings: Settings) -> None:
        self._store = store
        self._suite = suite
        self._home = home
        self._slots = slots
        self._settings = settings
        self._worker = this_worker()
        self._way = Way(settings.isolation)
        self._running: list[Running] = []
        self._claimed: list[Lease] = []
        self._notes: list[str] = []
        self._failures: Counter[str] = Counter()
        self._sums: dict[Path, tuple[int, int, str]] = {}
        self._ran = 0
        self._next_beat = 0.0
        self._next_tell = 0.0
        self._changed = True
        self.on_progress: OnProgress | None = None

    def prepare(self, execute: Execute | str, preload: Callable[[], None] | None) -> None:
        """Load what the children share, and take back what earlier runs left behind."""
        self._way = prepare(execute, preload, self._settings)
        if self._way.note:
            self._note(self._way.note)
        self._reclaim()
        if self._settings.retry:
            self._store.retry(self._suite)

    def run(self, signals: Signals) -> Summary:
        """Claim, start, wait and commit until nothing is left that can be run."""
        began = time.monotonic()
        self._next_beat = began + self._settings.ttl / _BEATS_PER_LEASE
        try:
            while not self._turn():
                if signals.received:
                    self._interrupt(signals.received)
                self._wait(signals)
                self._settle()
            return self._summary(time.monotonic() - began)
        finally:
            self._give_back()
            self._store.close()

    def _turn(self) -> bool:
        """Keep leases alive and slots full; say whether the queue has come to its end."""
        self._beat()
        # Looked at before claiming: if nobody works and nothing can be claimed, nothing ever will be.
        full = len(self._running) >= self._slots
        others_run = full or self._store.progress(self._suite).by_state.get("running", 0) > len(self._running)
        self._fill()
        self._tell()
        if others_run and not self._running:
            self._reclaim()
        return not self._running and not others_run

    def _wait(self, signals: Signals) -> None:
        now = time.monotonic()
        ends = [self._next_beat, now + _IDLE_SECONDS]
        if self._settings.time_limit is not None:
            ends += [child.began + self._settings.time_limit for child in self._running]
        pidfds = [child.pidfd for child in self._running]
        wait_any(pidfds, signals.wake, min(ends) - now, self._settings.poll)

    def _fill(self) -> None:
        while len(self._running) + len(self._claimed) < self._slots:
            lease = self._store.claim(self._worker, self._settings.ttl, suite=self._suite)
            if lease is None:
                break
            if self._is_sound(lease):
                self._claimed.append(lease)
        if self._claimed:
            # A connection must not be open across a fork.
            self._store.close()
        while self._claimed:
            self._running.append(self._start(self._claimed[0]))
            del self._claimed[0]
            self._changed = True

    def _is_sound(self, lease: Lease) -> bool:
        """Whether the files that a job reads are as they were written; if not, have them made again first."""
        for need in lease.needs:
            folder = work_folder(self._home, self._suite, need)
            why = damage(folder, self._store.artifacts(self._suite, need), self._sums)
            if why is not None:
                self._note(f"job {need} runs again because {why}")
                self._store.reopen(self._suite, need, why)
                self._store.release(lease)
                return False
        return True

    def _start(self, lease: Lease) -> Running:
        folder = work_folder(self._home, self._suite, lease.key)
        try:
            empty_folder(folder)
            order = Order(
                payload=lease.payload,
                folder=str(folder),
                inputs={need: str(work_folder(self._home, self._suite, need)) for need in lease.needs},
                threads=self._settings.threads,
                parent=os.getpid(),
                execute=self._way.name,
            )
            return start(lease, order, self._way.execute)
        except OSError as error:
            message = (
                f"{folder}: cannot be written ({error.strerror or error}); free space or mend its permissions"
            )
            raise HomeError(message) from error

    def _beat(self) -> None:
        now = time.monotonic()
        limit = self._settings.time_limit
        for child in self._running:
            if limit is not None and now - child.began >= limit and not child.timed_out:
                child.timed_out = True
                kill_group(child.pid)
        if now < self._next_beat:
            return
        self._next_beat = now + self._settings.ttl / _BEATS_PER_LEASE
        for child in list(self._running):
            try:
                self._store.heartbeat(child.lease, self._settings.ttl)
            except StaleLease as stale:
                self._note(str(stale))
                self._kill(child)
        self._reclaim()

    def _reclaim(self) -> None:
        """Take back the jobs of workers that have ended or fallen silent."""
        for key in self._store.reclaim():
            self._note(f"job {key} was left behind by a worker that has ended: queued again")
        for key in self._store.expire():
            self._note(f"job {key}: its worker gave no sign of life: queued again")

    def _settle(self) -> None:
        for child in list(self._running):
            ended = reap(child.pid)
            if ended is not None:
                self._running.remove(child)
                child.close()
                self._commit(child, *ended)
                self._changed = True

    def _commit(self, child: Running, code: int, maxrss: int) -> None:
        usage = Usage(time.monotonic() - child.began, maxrss)
        memory_ran_out = oom_kills() > child.ooms
        end = end_of(code, child.folder, timed_out=child.timed_out, memory_ran_out=memory_ran_out)
        try:
            if end.result is not None:
                end = self._finish(child, end, usage)
            if end.result is None:
                self._store.fail(child.lease, end.end, end.message, usage)
        except StaleLease as stale:
            self._note(str(stale))
            return
        self._judge(child, end)

    def _finish(self, child: Running, end: End, usage: Usage) -> End:
        try:
            self._store.finish(child.lease, end.result or {}, read_artifacts(child.folder), usage)
        except (BadResult, NotReproduced) as error:
            return End("code_error", str(error))
        self._ran += 1
        return end

    def _judge(self, child: Running, end: End) -> None:
        if end.end == "no_space":
            message = (
                f"the disk of {self._home} is full ({end.message}, job {child.lease.key}); finished jobs"
                " are kept: free some space and run the same command again"
            )
            raise HomeError(message)
        if end.end == "code_error":
            self._failures[end.message] += 1
            if self._failures[end.message] >= self._settings.stop_after:
                message = (
                    f"the code of job {child.lease.key} failed: {end.message}\n{last_lines(child.folder)}\n"
                    f"log: {child.folder / LOG_FILE}\nFinished jobs are kept: mend the code and run the same"
                    " command again."
                )
                raise CodeError(message)

    def _interrupt(self, signal: str) -> None:
        self._settle()
        released = len(self._running)
        self._give_back()
        progress = self._store.progress(self._suite)
        raise Interrupted(signal, progress.done, progress.total, released)

    def _give_back(self) -> None:
        """Kill the children and give leases back; the next run reclaims what cannot be given back now."""
        leases = [*self._claimed, *(child.lease for child in self._running)]
        self._claimed.clear()
        for child in list(self._running):
            self._kill(child)
        for lease in leases:
            with contextlib.suppress(StoreError):
                self._store.release(lease)

    def _kill(self, child: Running) -> None:
        kill_group(child.pid)
        while reap(child.pid) is None:
            wait_any([child.pidfd], None, _IDLE_SECONDS, self._settings.poll)
        child.close()
        self._running.remove(child)

    def _note(self, text: str) -> None:
        self._notes.append(text)
        self._changed = True

    def _tell(self) -> None:
        now = time.monotonic()
        if self.on_progress is None or now < self._next_tell or not self._changed:
            return
        self._next_tell = now + _TELL_SECONDS
        self._changed = False
        running = tuple(child.lease.key for child in self._running)
        self.on_progress(Update(self._store.progress(self._suite), running, tuple(self._notes)))

    def _summary(self, seconds: float) -> Summary:
        progress = self._store.progress(self._suite)
        if self.on_progress is not None:
            self.on_progress(Update(progress, (), tuple(self._notes)))
        states = progress.by_state
        return Summary(
            suite=self._suite,
            total=progress.total,
            done=progress.done,
            ran=self._ran,
            failed=states.get("failed", 0),
            exhausted=states.get("exhausted", 0),
            blocked=states.get("queued", 0),
            attempts=progress.ends,
            seconds=seconds,
            isolation=self._way.isolation,
            notes=tuple(self._notes),
        )
