"""A registered suite as jobs: complete blocks in random order, and the cells of each block in random order."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from equipoise.execution.conditions import holds_forks
from equipoise.store.records import JobSpec
from equipoise.tuning.space import settle
from equipoise_preregistration import Suite, generator
from equipoise_preregistration.sections import Value

__all__ = ["Cell", "Chosen", "cells_of", "jobs_of"]

Chosen = Mapping[str, Mapping[str, Value]]
"""Values that the search for hyper-parameters chose, by condition and dimension."""

_BLOCK, _STAGE = 1_000_000, 100_000


@dataclass(frozen=True)
class Cell:
    """One run: condition, arm, twin (0 unless the arm is `twin`, then counted from 0) and block."""

    condition: str
    rule: str
    arm: str
    twin: int
    block: int

    @property
    def key(self) -> str:
        """Key of its job."""
        return f"b{self.block}/cell/{self.condition}/{self.arm}/{self.twin}"


def cells_of(suite: Suite) -> list[Cell]:
    """Every cell of a suite, in the order block, condition, arm, twin."""
    arms = [("native", 0)] * suite.arms.native + [("matched", 0)] * suite.arms.matched
    arms += [("twin", k) for k in range(suite.arms.twins)]
    return [
        Cell(condition.id, condition.rule, arm, twin, block)
        for block in range(suite.blocks)
        for condition in suite.conditions
        for arm, twin in arms
    ]


def jobs_of(suite: Suite, chosen: Chosen | None = None) -> list[JobSpec]:
    """Jobs with their dependencies; lower `order` is claimed first.

    Blocks are randomised, and so are the cells within each, from the suite's own seed: whatever drifts, or stops
    early, hits all arms alike.

    Args:
        suite: as registered.
        chosen: what each condition is run with where it is not what the suite says.
    """
    chosen = chosen or {}
    places = generator(suite.seed, "order", "blocks").permutation(suite.blocks).tolist()
    return [job for place, block in enumerate(places) for job in _block(suite, chosen, block, place * _BLOCK)]


def _block(suite: Suite, chosen: Chosen, block: int, order: int) -> Iterator[JobSpec]:
    base, collect = f"b{block}/base", f"b{block}/collect"
    suites = {c.id: settle(suite, c.id, chosen.get(c.id, {})) for c in suite.conditions}

    def job(kind: str, key: str, inputs: dict[str, str], place: int, **more: object) -> JobSpec:
        # Base and collection belong to all conditions; the others are told the suite as it holds for theirs.
        told = suites[key.split("/")[2]] if kind in ("signals", "cell") else suite
        written = told.model_dump(mode="json")
        payload = {"job": kind, "suite": written, "block": block, "inputs": inputs, **more}
        return JobSpec(
            key=key, kind=kind, payload=payload, needs=tuple(dict.fromkeys(inputs.values())), order=place
        )

    yield job("base", base, {}, order)
    yield job("collect", collect, {"base": base}, order + _STAGE)
    for place, condition in enumerate(suite.conditions):
        yield job(
            "signals",
            _signals(block, condition.id),
            {"base": base, "collect": collect},
            order + 2 * _STAGE + place,
            condition=condition.id,
        )
    cells = [cell for cell in cells_of(suite) if cell.block == block]
    shuffled = generator(suite.seed, "order", "cells", block).permutation(len(cells)).tolist()
    for place, index in enumerate(shuffled):
        cell = cells[index]
        signals = _signals(block, cell.condition)
        inputs = {
            "base": base,
            "signals": signals,
            "batch": signals if holds_forks(suites[cell.condition], cell.condition) else collect,
        }
        if suites[cell.condition].budget.under == "refill":
            inputs["collect"] = collect
        more = {"values": dict(chosen[cell.condition])} if chosen.get(cell.condition) else {}
        yield job("cell", cell.key, inputs, order + 3 * _STAGE + place, cell=vars_of(cell), **more)


def vars_of(cell: Cell) -> dict[str, object]:
    """A cell as a mapping."""
    return {
        "condition": cell.condition,
        "rule": cell.rule,
        "arm": cell.arm,
        "twin": cell.twin,
        "block": cell.block,
    }


def _signals(block: int, condition: str) -> str:
    return f"b{block}/signals/{condition}"
