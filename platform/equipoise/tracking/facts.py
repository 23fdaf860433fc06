"""What the projection must be told: the facts of a registered suite and the record of each of its jobs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

__all__ = ["EndedJob", "Notice", "OutboxSource", "SuiteFacts"]


@dataclass(frozen=True)
class SuiteFacts:
    """A registered suite as far as a tracking server shows it.

    Attributes:
        name: The suite's name.
        hash: Hash of the registration, with the version of its making in front (`eq1:`).
        question: The question the suite was registered to answer.
        hypotheses: Pairs (id, sentence) in the registered order.
        rules: Condition id -> (rule name, rule parameters).
        blocks: Block -> keys of all its cell jobs; outcomes of a block stay hidden until each is done.
        bases: Block -> keys of the jobs that evaluate its base policy.
        registered_at: Time of registration in milliseconds since 1970.
        files: Artifact path of the `suite` run -> a file of this machine, or its content.
        note: Markdown put below the suite's facts, such as the verdicts.
    """

    name: str
    hash: str
    question: str = ""
    hypotheses: Sequence[tuple[str, str]] = ()
    rules: Mapping[str, tuple[str, Mapping[str, object]]] = field(default_factory=dict)
    blocks: Mapping[int, frozenset[str]] = field(default_factory=dict)
    bases: Mapping[int, frozenset[str]] = field(default_factory=dict)
    registered_at: int = 0
    files: Mapping[str, Path | bytes] = field(default_factory=dict)
    note: str = ""

    @property
    def experiment(self) -> str:
        """The experiment's name: the suite's, cut to what a page shows, and eight digits of its hash."""
        return f"{self.name[:400]} @ {self.hash8}"

    @property
    def hash8(self) -> str:
        """The first eight digits of the hash, without the version in front of it."""
        return self.hash.rpartition(":")[2][:8]

    def runs_of(self, block: int) -> frozenset[str]:
        """Return the keys of all runs of a block: its cells and its base policy."""
        return self.blocks.get(block, frozenset()) | self.bases.get(block, frozenset())

    def blocks_of(self, keys: Iterable[str]) -> frozenset[int]:
        """Return the blocks to which any of the keys belongs."""
        wanted = frozenset(keys)
        return frozenset(block for block in {*self.blocks, *self.bases} if wanted & self.runs_of(block))


@dataclass(frozen=True)
class EndedJob:
    """A job's last word: what it returned, or how it failed.

    Attributes:
        key: The job's key, unique in its suite.
        kind: "collect", "signals", "base" or "cell".
        state: "done", or how it ended instead: "failed", "exhausted", "cancelled".
        payload: The job's payload; of a failed cell it is all that tells which cell it was.
        result: The result as the store holds it; empty if there is none.
        attempt: Number of the attempt that had the last word, from 1.
        started_at: Start of that attempt in milliseconds since 1970.
        finished_at: Its end.
        message: Why it failed; empty if it did not.
    """

    key: str
    kind: str
    state: str
    payload: Mapping[str, object] = field(default_factory=dict)
    result: Mapping[str, object] = field(default_factory=dict)
    attempt: int = 1
    started_at: int = 0
    finished_at: int = 0
    message: str = ""


@dataclass(frozen=True)
class Notice:
    """An outbox row: the named job of the named suite has ended since the projection last looked.

    A notice carries no data. The writer shows the job as the store holds it when it writes, so that notices
    may be repeated, late or superseded without harm.
    """

    id: int
    suite: str
    key: str


class OutboxSource(Protocol):
    """The store, as far as the writer needs it."""

    def pending(self, limit: int) -> Sequence[Notice]:
        """Return at most `limit` unacknowledged notices, oldest first."""
        ...

    def acknowledge(self, ids: Iterable[int]) -> None:
        """Forget these notices: what they announce is shown."""
        ...

    def rewind(self, suite: str) -> None:
        """Make every notice of a suite pending again."""
        ...

    def suites(self) -> Sequence[str]:
        """Return the hashes of all suites, oldest first."""
        ...

    def facts(self, suite: str) -> SuiteFacts:
        """Return the facts of a suite."""
        ...

    def records(self, suite: str, keys: Iterable[str] | None = None) -> Mapping[str, EndedJob]:
        """Return the ended jobs of a suite by key: all, or those among `keys`."""
        ...
