"""How far a suite is: counts, speed and time left, without a word about outcomes."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, select

from equipoise.store.models import Attempts, Jobs

__all__ = ["Progress", "finished", "progress"]

_RECENT_SECONDS = 600.0


@dataclass(frozen=True)
class Progress:
    """Where a suite stands.

    Attributes:
        suite: its hash.
        counts: number of jobs by kind and state.
        seconds: wall seconds of the finished jobs so far, by kind.
        ends: number of ended attempts by end (done, lost, ...).
        blocks_complete: blocks all of whose jobs are done.
        blocks: all blocks.
        per_minute: jobs finished a minute, over the last ten minutes.
        eta_seconds: time left at the present number of running jobs; None when nothing tells.
    """

    suite: str
    counts: dict[str, dict[str, int]]
    seconds: dict[str, float]
    ends: dict[str, int]
    blocks_complete: int
    blocks: int
    per_minute: float
    eta_seconds: float | None

    @property
    def by_state(self) -> dict[str, int]:
        """Number of jobs by state, over all kinds."""
        total: Counter[str] = Counter()
        for states in self.counts.values():
            total.update(states)
        return dict(total)

    @property
    def total(self) -> int:
        """Number of jobs."""
        return sum(self.by_state.values())

    @property
    def done(self) -> int:
        """Number of finished jobs."""
        return self.by_state.get("done", 0)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "suite": self.suite,
            "counts": self.counts,
            "seconds": self.seconds,
            "ends": self.ends,
            "blocks_complete": self.blocks_complete,
            "blocks": self.blocks,
            "per_minute": self.per_minute,
            "eta_seconds": self.eta_seconds,
        }


def progress(connection: Connection, suite: str, now: float) -> Progress:
    """Count where the jobs of a suite stand."""
    counts: dict[str, dict[str, int]] = defaultdict(dict)
    tally = (
        select(Jobs.kind, Jobs.state, func.count()).where(Jobs.suite == suite).group_by(Jobs.kind, Jobs.state)
    )
    for kind, state, number in connection.execute(tally.order_by(func.min(Jobs.position), Jobs.kind)):
        counts[kind][state] = number
    blocks = _blocks(connection, suite)
    seconds, ended = finished(connection, suite)
    return Progress(
        suite=suite,
        counts=dict(counts),
        seconds=seconds,
        ends=_ends(connection, suite),
        blocks_complete=sum(done == number for done, number in blocks),
        blocks=len(blocks),
        per_minute=_per_minute(connection, suite, now),
        eta_seconds=_eta(counts, seconds, ended),
    )


def _blocks(connection: Connection, suite: str) -> list[tuple[int, int]]:
    rows = connection.execute(
        select(Jobs.block, Jobs.state, func.count())
        .where(Jobs.suite == suite, Jobs.block.is_not(None))
        .group_by(Jobs.block, Jobs.state)
    )
    done: Counter[int] = Counter()
    number: Counter[int] = Counter()
    for block, state, count in rows:
        number[block or 0] += count
        done[block or 0] += count if state == "done" else 0
    return [(done[block], number[block]) for block in sorted(number)]


def finished(connection: Connection, suite: str) -> tuple[dict[str, float], dict[str, int]]:
    """Wall seconds and number of the attempts that ended with a result, by kind of job."""
    rows = connection.execute(
        select(Jobs.kind, func.sum(Attempts.seconds), func.count())
        .join(Attempts, Attempts.job == Jobs.id)
        .where(Jobs.suite == suite, Attempts.end == "done")
        .group_by(Jobs.kind)
    ).all()
    return {kind: float(total or 0.0) for kind, total, _ in rows}, {kind: number for kind, _, number in rows}


def _ends(connection: Connection, suite: str) -> dict[str, int]:
    rows = connection.execute(
        select(Attempts.end, func.count())
        .join(Jobs, Attempts.job == Jobs.id)
        .where(Jobs.suite == suite, Attempts.end.is_not(None))
        .group_by(Attempts.end)
        .order_by(Attempts.end)
    )
    return {str(end): number for end, number in rows}


def _per_minute(connection: Connection, suite: str, now: float) -> float:
    row = connection.execute(
        select(func.count(), func.min(Attempts.started_at))
        .join(Jobs, Attempts.job == Jobs.id)
        .where(Jobs.suite == suite, Attempts.end == "done", Attempts.ended_at > now - _RECENT_SECONDS)
    ).one()
    number, begin = row
    if not number:
        return 0.0
    return 60.0 * float(number) / max(now - max(begin, now - _RECENT_SECONDS), 1e-3)


def _eta(
    counts: dict[str, dict[str, int]], seconds: dict[str, float], finished: dict[str, int]
) -> float | None:
    running = sum(states.get("running", 0) for states in counts.values())
    if not finished or not running:
        return None
    overall = sum(seconds.values()) / sum(finished.values())
    left = 0.0
    for kind, states in counts.items():
        mean = seconds[kind] / finished[kind] if finished.get(kind) else overall
        # A running job is on average half done.
        left += mean * (states.get("queued", 0) + states.get("running", 0) / 2)
    return left / running
