"""What a run looks like in MLflow: a pure function of the stored record and the suite's facts."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import cast

from equipoise.tracking.facts import EndedJob, SuiteFacts
from equipoise.tracking.scalars import curve, flatten, numbers, text

__all__ = ["Curve", "DatasetUse", "Evaluation", "RunView", "Table", "cell_name", "is_complete", "run_view"]

Curve = tuple[tuple[int, float], ...]
Table = Mapping[str, Sequence[object]]

STATUSES = {"done": "FINISHED", "failed": "FAILED", "cancelled": "KILLED"}
DIGEST_WIDTH = 36  # MLflow's column for the digest of a dataset

# What is drawn per optimizer step; the whole ledger of the steps is in a table, far cheaper to write.
_CURVES = {
    "loss": "train/loss",
    "grad_norm": "train/grad_norm",
    "kl_from_start": "train/kl",
    "clip_fraction": "train/clip_fraction",
    "tokens": "budget/tokens_by_step",
    "ess": "budget/ess_by_step",
}


@dataclass(frozen=True)
class DatasetUse:
    """The trajectories a run was trained on; the digest is cut to 36 characters, a tag holds all of it."""

    name: str
    digest: str
    context: str = "training"


@dataclass(frozen=True)
class Evaluation:
    """The part of a run that would break the blinding if it were shown before its block is complete."""

    metrics: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of all that is shown."""
        return _digest(asdict(self))


@dataclass(frozen=True)
class RunView:
    """One MLflow run, ready to be written.

    Attributes:
        key: The job's key; the tag `equipoise.key` by which the run is found again.
        name: The name in the list of runs.
        status: "FINISHED", "FAILED" or "KILLED"; a run that diverged FINISHED, because that is a result.
        start: Start in milliseconds since 1970.
        end: End in milliseconds since 1970.
        params: Names and values; condition, rule, arm, twin, block, and the rule's own under `rule.`.
        tags: Names and values.
        metrics: Scalars by name, under `budget/`, `train/`, `sys/`.
        curves: Values by optimizer step (from 1), by name.
        tables: Artifact path -> columns.
        inputs: Data sets used.
        evaluation: Outcomes; None while the block is incomplete.
        note: Markdown at the top of the run's page.
    """

    key: str
    name: str
    status: str
    start: int
    end: int
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    inputs: tuple[DatasetUse, ...] = ()
    evaluation: Evaluation | None = None
    note: str = ""

    @property
    def digest(self) -> str:
        """Hexadecimal SHA-256 of all but the evaluation, which may come later to the same run."""
        return _digest({**asdict(self), "evaluation": None})


def is_complete(block: int, facts: SuiteFacts, records: Mapping[str, EndedJob]) -> bool:
    """Say whether every cell of a block is done.

    A failed cell keeps its block blind: it may be retried, and nobody should decide that seeing outcomes.
    """
    cells = facts.blocks.get(block, frozenset())
    return bool(cells) and all(key in records and records[key].state == "done" for key in cells)


def run_view(record: EndedJob, facts: SuiteFacts, *, reveal: bool) -> RunView:
    """Lay out a record of kind "cell" or "base" as a run.

    Args:
        record: The job's last word.
        facts: The suite it belongs to.
        reveal: Whether its block is complete, so that outcomes may be shown.
    """
    result = record.result
    cell = _cell(record)
    view = RunView(
        key=record.key,
        name=cell_name(cell),
        status=STATUSES.get(record.state, "FAILED"),
        start=record.started_at,
        end=max(record.finished_at, record.started_at),
        params=_params(cell, facts) | _searched(record),
        tags=_tags(record, facts),
        metrics=_metrics(result),
        curves=_curves(_section(result, "steps")),
        tables=_tables(result),
        inputs=_inputs(cell, result),
        evaluation=_evaluation(result) if reveal and "outcomes" in result else None,
        note=_note(record),
    )
    broken = sorted(name for name, points in view.curves.items() if any(math.isnan(v) for _, v in points))
    return replace(view, tags={**view.tags, "equipoise.not_finite": ", ".join(broken)}) if broken else view


def cell_name(cell: Mapping[str, object]) -> str:
    """Name a cell for the list of runs: block first, so that names sort as the blocks do."""
    twin = f" {cell['twin']}" if cell["arm"] == "twin" else ""
    arm = "" if cell["arm"] == "base" else f" {cell['arm']}{twin}"
    return f"b{cell['block']} {cell['condition']}{arm}"


def _cell(record: EndedJob) -> dict[str, object]:
    """Name the coordinates of the run; a base policy is a run of no rule in the arm `base`."""
    found = record.result.get("cell") or record.payload.get("cell") or {**record.payload, **record.result}
    given = cast("Mapping[str, object]", found)
    if record.kind == "base":
        given = {"condition": "base", "arm": "base", "block": given.get("block", 0)}
    fallback = {"condition": record.key, "arm": "unknown", "twin": 0, "block": 0}
    return {name: given.get(name, default) for name, default in fallback.items()}


def _params(cell: Mapping[str, object], facts: SuiteFacts) -> dict[str, str]:
    condition = str(cell["condition"])
    rule, parameters = facts.rules.get(condition, ("none" if cell["arm"] == "base" else condition, {}))
    known = {"condition": condition, "rule": rule, **{k: text(cell[k]) for k in ("arm", "twin", "block")}}
    return known | {f"rule.{name}": text(value) for name, value in flatten(parameters).items()}


def _searched(record: EndedJob) -> dict[str, str]:
    """What the search for hyper-parameters chose: a key of training as it is written, else the rule's parameter."""
    values = _section(record.payload, "values")
    return {name if "." in name else f"rule.{name}": text(value) for name, value in values.items()}


def _tags(record: EndedJob, facts: SuiteFacts) -> dict[str, str]:
    result = record.result
    breaches = [str(sentence) for sentence in cast("Sequence[object]", result.get("breaches") or ())]
    tags = {
        "equipoise.key": record.key,
        "equipoise.suite_hash": facts.hash,
        "equipoise.kind": record.kind,
        "equipoise.attempt": str(record.attempt),
        "equipoise.end": str(result.get("end", "ok")) if record.state == "done" else record.state,
        "equipoise.breach": "; ".join(breaches) or "none",
    }
    digests = _section(result, "digests")
    return tags | {f"equipoise.digest.{name}": str(value) for name, value in digests.items()}


def _metrics(result: Mapping[str, object]) -> dict[str, float]:
    """Dose and counts under `budget/`, gradient figures under `train/`, cost and time under `sys/`."""
    dose = dict(_section(result, "dose"))
    train = {name: dose.pop(name) for name in tuple(dose) if name.startswith(("grad_norm", "l2_", "kl_"))}
    cost = dict(_section(result, "cost"))
    cost.pop("seconds", None)
    credit = _section(result, "credit")
    return {
        **numbers("budget/", {k: v for k, v in dose.items() if k != "repetition"}),
        **numbers("budget/planned_", _section(result, "planned")),
        **numbers("budget/", {f"credit_{k}": credit[k] for k in ("examples", "defined") if k in credit}),
        **numbers("train/", train),
        **numbers("sys/", cost),
        **numbers("sys/seconds_", _section(result, "seconds")),
    }


def _curves(steps: Mapping[str, object]) -> dict[str, Curve]:
    return {shown: curve(steps[name]) for name, shown in _CURVES.items() if steps.get(name)}


def _tables(result: Mapping[str, object]) -> dict[str, Table]:
    tables: dict[str, Table] = {}
    allocated, counted = (_columns(_section(result, name)) for name in ("allocated", "steps"))
    if counted:
        known = {f"allocated_{name}": column for name, column in allocated.items()}
        length = max(len(column) for column in (*known.values(), *counted.values()))
        beside = {
            name: column
            for counts in counted
            for name, column in (
                (f"allocated_{counts}", known.get(f"allocated_{counts}")),
                (counts, counted[counts]),
            )
            if column is not None
        }
        tables["tables/steps.json"] = {"step": list(range(1, length + 1)), **beside}
    for name, section in (("repetition", "dose"), ("reasons", "credit")):
        counts = _section(_section(result, section), name)
        if counts:
            tables[f"tables/{name}.json"] = {name: list(counts), "examples": list(counts.values())}
    return tables


def _columns(section: Mapping[str, object]) -> dict[str, Sequence[object]]:
    return {name: cast("Sequence[object]", column) for name, column in section.items() if column}


def _evaluation(result: Mapping[str, object]) -> Evaluation:
    """Success rates by split, and the outcomes of every task."""
    rows = cast("Sequence[Mapping[str, object]]", result["outcomes"])
    metrics: dict[str, float] = {}
    for split in sorted({str(row["split"]) for row in rows}):
        mine = [row for row in rows if row["split"] == split]
        episodes = sum(int(cast("int", row["episodes"])) for row in mine)
        if episodes:
            successes = sum(int(cast("int", row["successes"])) for row in mine)
            metrics |= {f"eval/{split}": successes / episodes, f"sys/episodes_{split}": float(episodes)}
    columns = ("split", "task", "successes", "episodes")
    return Evaluation(metrics, {"tables/outcomes.json": {c: [row[c] for row in rows] for c in columns}})


def _inputs(cell: Mapping[str, object], result: Mapping[str, object]) -> tuple[DatasetUse, ...]:
    digest = _section(result, "digests").get("trajectories")
    if not digest:
        return ()
    bare = str(digest).removeprefix("sha256:").removeprefix("eq1:")
    return (DatasetUse(f"trajectories of block {cell['block']}", bare[:DIGEST_WIDTH]),)


def _note(record: EndedJob) -> str:
    breaches = cast("Sequence[object]", record.result.get("breaches") or ())
    lines = [f"**Budget breach:** {sentence}" for sentence in breaches]
    if record.result.get("end") == "diverged":
        lines.append("**Diverged.** This is a result: the run is kept as it ended and never repeated.")
    if record.message:
        lines.append(
            f"**{record.state.capitalize()}** at attempt {record.attempt}:\n\n```\n{record.message}\n```"
        )
    return "\n\n".join(lines)


def _section(result: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = result.get(name)
    return cast("Mapping[str, object]", found) if isinstance(found, Mapping) else {}


def _digest(content: object) -> str:
    canonical = json.dumps(content, sort_keys=True, default=str, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()
