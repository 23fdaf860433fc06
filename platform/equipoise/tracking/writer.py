"""The one writer: it drains the store's outbox into MLflow, or tells why that must wait."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.errors import TrackingError
from equipoise.tracking.client import check_reachable, is_refusal, open_client, short
from equipoise.tracking.facts import EndedJob, Notice, OutboxSource, SuiteFacts
from equipoise.tracking.locks import locked
from equipoise.tracking.model import RunView, is_complete, run_view
from equipoise.tracking.runs import RunWriter
from equipoise.tracking.suite_run import ensure_experiment, write_suite_run

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

__all__ = ["SyncSummary", "Writer"]

SHOWN = frozenset({"cell", "base"})
BATCH = 100


@dataclass
class SyncSummary:
    """What a sync did and what it had to leave.

    Attributes:
        written: Runs created, completed or extended.
        unchanged: Runs found as they should be.
        acknowledged: Notices done with.
        pending: Whether notices are left for the next sync.
        problems: One sentence per thing that went wrong; empty if nothing did.
    """

    written: int = 0
    unchanged: int = 0
    acknowledged: int = 0
    pending: bool = False
    problems: list[str] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The summary for a person."""
        done = f"{self.written} runs written, {self.unchanged} already there"
        if not self.problems:
            new = self.written or self.unchanged
            return f"MLflow is up to date: {done}." if new else "MLflow is up to date: nothing was new."
        wait = (
            " Nothing is lost: the store keeps what is left, `equipoise sync` continues."
            if self.pending
            else ""
        )
        return f"MLflow is behind: {done}; {'; '.join(self.problems)}.{wait}"


class Writer:
    """Projects a store onto a tracking server; a file lock keeps others out."""

    def __init__(
        self,
        source: OutboxSource,
        uri: str,
        *,
        lock: Path,
        artifacts: str | None = None,
        unblind: bool = False,
        on_written: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Bind a source to a server.

        Args:
            source: The store.
            uri: The tracking server or database.
            lock: File that keeps a second writer out.
            artifacts: Root URI for artifacts, or None to leave the place to the server.
            unblind: Show outcomes of incomplete blocks; the caller must have logged this decision.
            on_written: Called with the key of every run looked after.
        """
        self._source = source
        self._uri = uri
        self._lock = lock
        self._artifacts = artifacts
        self._unblind = unblind
        self._on_written = on_written
        self._experiments: dict[str, str] = {}

    def has_pending(self) -> bool:
        """Say whether anything waits to be shown."""
        return bool(self._source.pending(1))

    def sync(self) -> SyncSummary:
        """Show what has ended since the last sync; a server that fails leaves the rest for the next one."""
        return self._guarded(self._drain)

    def rebuild(self, suites: Iterable[str] | None = None) -> SyncSummary:
        """Delete the runs of the suites (all, by default) and show everything again from the store.

        The notices are made pending before anything is deleted, so that a later `sync` ends what this began.
        """
        return self._guarded(lambda client, summary: self._rebuild(client, summary, suites))

    def _guarded(self, work: "Callable[[MlflowClient, SyncSummary], None]") -> SyncSummary:
        client = open_client(self._uri)
        from mlflow.exceptions import MlflowException

        summary = SyncSummary()
        self._experiments.clear()
        with locked(self._lock, "another sync writes to MLflow"):
            try:
                check_reachable(client, self._uri)
                work(client, summary)
            except TrackingError as error:
                summary.problems.append(str(error))
            except (MlflowException, OSError) as error:
                summary.problems.append(f"the tracking server at {self._uri} failed ({short(error)})")
            summary.pending = self.has_pending()
        return summary

    def _drain(self, client: "MlflowClient", summary: SyncSummary) -> None:
        stuck: set[int] = set()
        while notices := [n for n in self._source.pending(BATCH + len(stuck)) if n.id not in stuck]:
            for suite in dict.fromkeys(notice.suite for notice in notices):
                mine = [notice for notice in notices if notice.suite == suite]
                refused = self._show_batch(client, suite, mine, summary)
                done = [notice.id for notice in mine if notice.key not in refused]
                self._source.acknowledge(done)
                summary.acknowledged += len(done)
                stuck.update(notice.id for notice in mine if notice.key in refused)
        for suite in self._source.suites():
            facts = self._source.facts(suite)
            write_suite_run(client, self._experiment(client, facts), facts, self._source.records(suite))

    def _show_batch(
        self, client: "MlflowClient", suite: str, notices: Sequence[Notice], summary: SyncSummary
    ) -> set[str]:
        """Show the jobs of some notices and of every block they complete; return the keys refused."""
        facts = self._source.facts(suite)
        keys = {notice.key for notice in notices}
        related = keys.union(*map(facts.runs_of, facts.blocks_of(keys)))
        return self._show(client, facts, self._source.records(suite, related), keys, summary)

    def _show(
        self,
        client: "MlflowClient",
        facts: SuiteFacts,
        records: Mapping[str, EndedJob],
        keys: Iterable[str],
        summary: SyncSummary,
    ) -> set[str]:
        """Show the jobs with these keys and all of complete blocks; return the keys refused."""
        writer = RunWriter(client, self._experiment(client, facts))
        complete = {block for block in facts.blocks if is_complete(block, facts, records)}
        revealed = frozenset[str]().union(*map(facts.runs_of, complete))
        refused: set[str] = set()
        for record in sorted(records.values(), key=lambda record: (record.finished_at, record.key)):
            if record.kind in SHOWN and record.key in revealed.union(keys):
                view = run_view(record, facts, reveal=self._unblind or record.key in revealed)
                if not self._show_run(writer, view, summary):
                    refused.add(record.key)
        return refused

    def _show_run(self, writer: RunWriter, view: RunView, summary: SyncSummary) -> bool:
        """Show one run; return whether MLflow took it. Other failures are the server's, and raised."""
        from mlflow.exceptions import MlflowException

        try:
            wrote = writer.write(view)
        except MlflowException as error:
            if not is_refusal(error):
                raise
            summary.problems.append(f"MLflow refuses run {view.key} ({short(error)})")
            return False
        summary.written += wrote
        summary.unchanged += not wrote
        self._on_written(view.key)
        return True

    def _rebuild(self, client: "MlflowClient", summary: SyncSummary, suites: Iterable[str] | None) -> None:
        for suite in self._source.suites() if suites is None else suites:
            self._source.rewind(suite)
            experiment = self._experiment(client, self._source.facts(suite))
            while page := client.search_runs(
                [experiment], "tags.`equipoise.suite_hash` != ''", max_results=1000
            ):
                for run in page:
                    client.delete_run(run.info.run_id)
        self._drain(client, summary)

    def _experiment(self, client: "MlflowClient", facts: SuiteFacts) -> str:
        if facts.hash not in self._experiments:
            self._experiments[facts.hash] = ensure_experiment(client, facts, self._artifacts)
        return self._experiments[facts.hash]
