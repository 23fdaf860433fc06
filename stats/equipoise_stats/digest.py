"""Name the data of an analysis by their SHA-256, whatever their order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple

from equipoise_stats.records import RunScore, TaskScore


def data_sha256(runs: Sequence[RunScore], tasks: Sequence[TaskScore], base: Mapping[int, float]) -> str:
    """The SHA-256 of all records as sorted JSON lines."""
    records = [("run", *astuple(run)) for run in runs] + [("task", *astuple(task)) for task in tasks]
    records += [("base", block, float(score)) for block, score in base.items()]
    lines = sorted(json.dumps(record, allow_nan=False) for record in records)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
