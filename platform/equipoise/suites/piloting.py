"""What a pilot measured of a suite's conditions: examples, costs and times, read from its store."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from equipoise.errors import HomeError, PilotError
from equipoise.store import Store, open_store
from equipoise.suites.judge import Results
from equipoise_budget import Cost
from equipoise_preregistration import Suite
from equipoise_preregistration.registration import thaw

__all__ = ["Measured", "Pilot", "earlier_run", "read_pilot"]


@dataclass(frozen=True)
class Measured:
    """Means over the blocks in which a condition's credit was measured.

    Attributes:
        blocks: how many there are.
        examples: turns that the rule leaves in a block.
        generation: what collection and measurement cost in a block; counts are rounded.
        flops_per_slot: of training on one slot; None before any cell ended.
        seconds_per_slot: the same in seconds.
        seconds_per_episode: of judging a trained policy; None before any cell ended.
    """

    blocks: int
    examples: float
    generation: Cost
    flops_per_slot: float | None
    seconds_per_slot: float | None
    seconds_per_episode: float | None


@dataclass(frozen=True)
class Pilot:
    """A suite that was run, at least in part, and its results by job key.

    Attributes:
        name: of the suite, with the first digits of its hash.
        suite: as it was run.
        results: no outcome is read from them.
    """

    name: str
    suite: Suite
    results: Results

    def measured(self, condition: str) -> Measured | None:
        """What is known of a condition; None before its credit was measured in any block."""
        signals = [
            result
            for result in self.results.values()
            if result["kind"] == "signals" and result["condition"] == condition
        ]
        if not signals:
            return None
        spent = [
            Cost.from_json(result["cost"])
            + Cost.from_json(self.results[f"b{result['block']}/collect"]["cost"])
            for result in signals
        ]
        own = list(self._cells(condition)) or list(self._cells(None))
        slots, flops, trained, judged, episodes = (
            (sum(column) for column in zip(*own, strict=True)) if own else (0,) * 5
        )
        return Measured(
            blocks=len(signals),
            examples=fmean(result["credit"]["examples"] for result in signals),
            generation=_mean(spent),
            flops_per_slot=flops / slots if slots else None,
            seconds_per_slot=trained / slots if slots else None,
            seconds_per_episode=judged / episodes if episodes else None,
        )

    def differs(self, suite: Suite) -> tuple[str, ...]:
        """Where the pilot is another experiment, so that its numbers are no measure of the suite's."""
        here, there = (_circumstances(each) for each in (suite, self.suite))
        return tuple(name for name, value in here.items() if value != there[name])

    def _cells(self, condition: str | None) -> Iterator[tuple[float, float, float, float, float]]:
        """Slots, operations and seconds of training, seconds of judging and its episodes, of each trained cell."""
        for result in self.results.values():
            if result["kind"] != "cell" or condition not in (None, result["cell"]["condition"]):
                continue
            if not result["dose"]["slots"]:
                continue
            seconds = result["seconds"]
            episodes = sum(int(outcome["episodes"]) for outcome in result["outcomes"])
            trained = _flops_of_training(result)
            yield result["dose"]["slots"], trained, seconds["train"], seconds["evaluate"], episodes


def read_pilot(home: Path, suite: Suite) -> Pilot:
    """The newest suite in a project folder that measured the credit of this suite's conditions, on other blocks.

    Blocks are seeded by the seed of their suite and their number: under one seed, the blocks of two suites are the
    same, and a plan that is made after a look at them is no plan.

    Raises:
        HomeError: if there is none.
        PilotError: if there are only ones that ran under the suite's own seed.
        StoreError: if there is no store.
    """
    store = open_store(home.expanduser(), create=False)
    known, own = [], []
    for pilot in _newest_first(store):
        if all(condition in _rules(pilot.suite) for condition in _rules(suite)) and _has_signals(pilot):
            if pilot.suite.seed != suite.seed:
                return pilot
            own.append(pilot.name)
        known.append(pilot.name)
    if own:
        message = (
            f"expected a pilot on blocks that the suite does not use, found {', '.join(own)} in {home}, run under the "
            f"suite's own seed ({suite.seed}): its blocks are those of the comparison, which nobody may look at before "
            "it is registered; run a few blocks under another `seed` in a folder of their own, or give the suite "
            "another one"
        )
        raise PilotError(message)
    wanted = ", ".join(condition.id for condition in suite.conditions)
    message = (
        f"expected a suite in {home} that measured the conditions {wanted} with the same rules and parameters, found "
        f"{', '.join(known) or 'none'}; run a few blocks of this suite under another `seed` there first"
    )
    raise HomeError(message)


def earlier_run(home: Path, suite: Suite) -> Pilot | None:
    """The suite itself where it has run in a project folder already; None where it has not, or there is no store."""
    if not (home.expanduser() / "equipoise.db").is_file():
        return None
    store = open_store(home.expanduser(), create=False)
    return next((p for p in _newest_first(store) if p.suite == suite and _has_signals(p)), None)


def _newest_first(store: Store) -> Iterator[Pilot]:
    for record in reversed(store.suites()):
        model = thaw(record.spec, record.spec["previous"]).model
        name = f"{record.name} @ {record.hash.rpartition(':')[2][:8]}"
        yield Pilot(name, model, store.results_by_key(record.hash))


def _has_signals(pilot: Pilot) -> bool:
    return any(result["kind"] == "signals" for result in pilot.results.values())


def _flops_of_training(result: Mapping[str, Any]) -> float:
    """Operations of a cell's training alone: without what it collected and measured itself."""
    if "rounds" in result:
        return sum(float(told["trained"]["flops"]) for told in result["rounds"])
    refill = (result.get("generation") or {}).get("refill")
    return float(result["cost"]["flops"]) - (float(refill["cost"]["flops"]) if refill else 0.0)


def _rules(suite: Suite) -> list[tuple[str, str, dict[str, object]]]:
    return [(condition.id, condition.rule, dict(condition.parameters)) for condition in suite.conditions]


def _circumstances(suite: Suite) -> dict[str, object]:
    """What examples, costs and times depend on beside the rules; how many tasks there are is scaled."""
    return {
        "environment": suite.environment.model_dump(exclude={"tasks"}),
        "policy": suite.policy.model_dump(),
        "training.path": suite.training.path,
        "collection.temperature": suite.collection.temperature,
    }


def _mean(costs: list[Cost]) -> Cost:
    total = sum(costs, Cost())
    counts = {
        name: round(value / len(costs))
        for name, value in vars(total).items()
        if name not in ("seconds", "flops")
    }
    return Cost(flops=total.flops / len(costs), **counts)
