"""Ways to change a finished suite from outside: carelessly, or with the sums put right again."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.suites.verifying import Verdict, verify_home
from equipoise_preregistration.amendment import Amendment
from equipoise_preregistration.chain import GENESIS, ChainReport, chain_line, verify_chain
from equipoise_preregistration.registration import Registration, Surroundings


@dataclass(frozen=True)
class Copy:
    """A copy of a finished suite that a test may change."""

    home: Path

    def work(self, key: str) -> Path:
        """The folder of a job."""
        (folder,) = (path for path in (self.home / "work").glob("*") if path.is_dir())
        return folder / key

    @contextmanager
    def database(self) -> Iterator[sqlite3.Connection]:
        """The database as anyone can open it, without foreign keys."""
        connection = sqlite3.connect(self.home / "equipoise.db")
        with connection:
            yield connection
        connection.close()

    def execute(self, statement: str, key: str) -> None:
        """Change rows; `:job` is the job of this key."""
        with self.database() as connection:
            ((job,),) = connection.execute("SELECT id FROM jobs WHERE key=?", (key,)).fetchall()
            changed = connection.execute(statement, {"job": job})
            assert changed.rowcount > 0

    def columns(self, key: str, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the columns of a .npz file."""
        path = self.work(key) / name
        with np.load(path) as stored:
            columns = {column: stored[column] for column in stored.files}
        change(columns)
        with path.open("wb") as file:
            np.savez(file, **columns)

    def result(self, key: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the result in the database."""
        with self.database() as connection:
            ((text,),) = connection.execute("SELECT result FROM jobs WHERE key=?", (key,)).fetchall()
            content = json.loads(text)
            change(content)
            connection.execute("UPDATE jobs SET result=? WHERE key=?", (json.dumps(content), key))

    def reseal(self, key: str, *names: str) -> None:
        """Put the sums of files right, and that of the result, as somebody would who knows how it is done."""
        with self.database() as connection:
            ((job, text),) = connection.execute("SELECT id, result FROM jobs WHERE key=?", (key,)).fetchall()
            content = json.dumps(json.loads(text), ensure_ascii=False).encode()
            (self.work(key) / "result.json").write_bytes(content)
            for name in (*names, "result.json"):
                raw = (self.work(key) / name).read_bytes()
                row = (hashlib.sha256(raw).hexdigest(), len(raw), job, name)
                connection.execute("UPDATE artifacts SET sha256=?, bytes=? WHERE job=? AND name=?", row)
            listed = connection.execute(
                "SELECT name, sha256, bytes FROM artifacts WHERE job=?", (job,)
            ).fetchall()
        sums = {name: {"sha256": sha256, "bytes": size} for name, sha256, size in listed}
        (self.work(key) / "artifacts.json").write_text(json.dumps(sums))

    def text(self, path: str, change: Callable[[str], str]) -> None:
        """Change a file of text, by its path in the folder; the change must change something."""
        before = (self.home / path).read_text()
        after = change(before)
        assert after != before
        (self.home / path).write_text(after)

    @contextmanager
    def studies(self) -> Iterator[sqlite3.Connection]:
        """Optuna's database."""
        connection = sqlite3.connect(self.home / "tuning.db")
        with connection:
            yield connection
        connection.close()

    def rechain(self, change: Callable[[Registration | Amendment], Registration | Amendment | None]) -> None:
        """Change lines of the chain, or drop them, and put all hashes right."""
        lines, head = list[bytes](), GENESIS
        items: list[Registration | Amendment] = [*self.chain.registrations, *self.chain.amendments]
        for item in items:
            changed = change(item)
            if changed is not None:
                lines.append(chain_line(replace(changed, previous=head)))
                head = json.loads(lines[-1])["entry_hash"]
        (self.home / "registrations.jsonl").write_bytes(b"".join(lines))

    @property
    def chain(self) -> ChainReport:
        """The chain as it is."""
        return verify_chain(self.home)

    def verdict(self, *, same_code: bool = True) -> Verdict:
        """What a verification comes to, by default under the code that was registered."""
        registration = verify_chain(self.home).registrations[0]
        around = Surroundings(registration.code, registration.lock, registration.python, registration.machine)
        return verify_home(self.home, around=around if same_code else replace(around, python="2.7"))

    def faults(self) -> list[str]:
        """Sentences of all faults."""
        verdict = self.verdict()
        found = [fault.sentence for fault in verdict.faults]
        found += [fault.sentence for suite in verdict.suites for fault in suite.findings.faults]
        assert verdict.whole == (not found and verdict.chain.broken is None)
        return found
