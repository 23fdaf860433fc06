"""Name the data of an analysis by their SHA-256, whatever their order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from operator import attrgetter

from equipoise_stats.records import RunScore, TaskScore


def data_sha256(runs: Sequence[RunScore], tasks: Sequence[TaskScore], base: Mapping[int, float]) -> str:
    """The SHA-256 of all records as sorted JSON lines."""
    of_run, of_task = (attrgetter(*(f.name for f in fields(kind))) for kind in (RunScore, TaskScore))
    records = [("run", *of_run(run)) for run in runs] + [("task", *of_task(task)) for task in tasks]
    records += [("base", block, float(score)) for block, score in base.items()]
    lines = sorted(json.dumps(record, allow_nan=False) for record in records)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
