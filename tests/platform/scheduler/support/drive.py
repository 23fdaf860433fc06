"""A parent: runs the queue of the suite in a project folder, and says how that ended as a line of JSON."""

import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from equipoise.errors import EquipoiseError
from equipoise.scheduler import run_queue
from equipoise.store import open_store

# Found on the path that the tests set, by a fresh interpreter too.
workload: Any = importlib.import_module("workload")


def main() -> None:
    home = Path(sys.argv[1])
    options: dict[str, Any] = json.loads(sys.argv[2])
    store = open_store(home)
    (suite,) = store.suites()
    updates: list[int] = []
    ended: dict[str, Any] = {"error": None, "message": "", "summary": None}
    try:
        summary = run_queue(
            store,
            suite.hash,
            workload.execute,
            home=home,
            preload=workload.preload,
            on_progress=lambda update: updates.append(update.progress.done),
            **options,
        )
        ended["summary"] = asdict(summary)
    except EquipoiseError as error:
        ended.update(error=type(error).__name__, message=str(error))
    sys.stdout.write(json.dumps({**ended, "updates": updates}) + "\n")


if __name__ == "__main__":
    main()
