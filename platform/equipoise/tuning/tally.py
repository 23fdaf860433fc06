"""What a search came to: the value of each trial, the steps that were granted and counted, and the choice."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from equipoise.tuning.curves import best_so_far, expected_best
from equipoise_preregistration import Suite
from equipoise_preregistration.points import Point

__all__ = ["Search", "Trial", "searches", "trial_key"]

Results = Mapping[str, Mapping[str, Any]]
"""Results of jobs by key."""


def trial_key(condition: str, number: int, block: int) -> str:
    """Key of the job that trains and judges one trial in one tuning block."""
    return f"tuning/trial/{condition}/{number}/{block}"


@dataclass(frozen=True)
class Trial:
    """One point tried in every tuning block.

    Attributes:
        number: from 0.
        values: what was tried, by dimension.
        value: mean success on the primary split over the tuning blocks.
        steps: optimizer steps in the ledgers of its runs.
        forgone: steps that its runs did not take because they diverged, which is a result, or because the registered
            displacement was reached.
        diverged: how many of its runs did.
        breaches: where a run did not receive what was planned.
    """

    number: int
    values: Point
    value: float
    steps: int
    forgone: int = 0
    diverged: int = 0
    breaches: tuple[str, ...] = ()


@dataclass(frozen=True)
class Search:
    """The trials of one condition.

    Attributes:
        condition: its id.
        trials: by number, all of them done.
        granted: optimizer steps that the registration grants every condition.
        adaptive: whether a trial depends on those before it.
    """

    condition: str
    trials: tuple[Trial, ...]
    granted: int
    adaptive: bool = False

    @property
    def chosen(self) -> Trial:
        """The best trial; of equal ones the first."""
        return max(self.trials, key=lambda trial: (trial.value, -trial.number))

    @property
    def counted(self) -> int:
        """Optimizer steps in the ledgers of all trial runs."""
        return sum(trial.steps for trial in self.trials)

    @property
    def forgone(self) -> int:
        """Steps that diverged runs, and those at their registered displacement, did not take."""
        return sum(trial.forgone for trial in self.trials)

    @property
    def curve(self) -> tuple[float, ...]:
        """Success that n trials find: expected over their order, or, where trials build on others, as it came."""
        values = [trial.value for trial in self.trials]
        return best_so_far(values) if self.adaptive else expected_best(values)

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return {
            "condition": self.condition,
            "chosen": self.chosen.number,
            "values": dict(self.chosen.values),
            "granted": self.granted,
            "counted": self.counted,
            "curve": list(self.curve),
            "breaches": list(self.breaches),
            "trials": [asdict(trial) for trial in self.trials],
        }

    @property
    def breaches(self) -> tuple[str, ...]:
        """Where the condition did not get the search that every condition was granted."""
        found = [f"trial {trial.number}: {sentence}" for trial in self.trials for sentence in trial.breaches]
        if self.counted + self.forgone != self.granted:
            found.append(
                f"{self.granted} optimizer steps were granted, the ledgers count {self.counted}"
                + (f" and runs that ended early left {self.forgone}" if self.forgone else "")
            )
        return tuple(found)


def searches(suite: Suite, results: Results) -> tuple[Search, ...] | None:
    """The searches of all conditions in the suite's order; None without a search, and before all trials are done.

    Args:
        suite: as registered.
        results: of its jobs, by key.
    """
    tuning = suite.tuning
    if not tuning.trials:
        return None
    found = []
    for condition in suite.conditions:
        trials = [trial_of(suite, results, condition.id, number) for number in range(tuning.trials)]
        done = tuple(trial for trial in trials if trial is not None)
        if len(done) < tuning.trials:
            return None
        granted = tuning.trials * tuning.blocks * suite.budget.optimizer_steps
        found.append(Search(condition.id, done, granted, tuning.sampler == "tpe"))
    return tuple(found)


def trial_of(suite: Suite, results: Results, condition: str, number: int) -> Trial | None:
    """One trial from the results of its runs; None before all of them are done."""
    keys = [trial_key(condition, number, block) for block in range(suite.tuning.blocks)]
    if not all(key in results for key in keys):
        return None
    runs = [results[key] for key in keys]
    steps = [len(run["steps"]["slots"]) for run in runs]
    diverged = [run["end"] != "ok" for run in runs]
    due = suite.budget.optimizer_steps
    rates = [_rate(run["outcomes"], suite.evaluation.primary) for run in runs]
    return Trial(
        number=number,
        values=dict(runs[0]["values"]),
        value=sum(rates) / len(rates),
        steps=sum(steps),
        forgone=sum(
            max(0, due - taken) for taken, run in zip(steps, runs, strict=True) if _may_end(suite, run)
        ),
        diverged=sum(diverged),
        breaches=tuple(
            f"block {block}: {sentence}" for block, run in enumerate(runs) for sentence in run["breaches"]
        ),
    )


def _may_end(suite: Suite, run: Mapping[str, Any]) -> bool:
    """Whether a run may have taken fewer steps than it was granted."""
    stopped = "displacement" in suite.budget.match and not run["breaches"]
    return run["end"] != "ok" or stopped


def _rate(outcomes: Sequence[Mapping[str, Any]], split: str) -> float:
    chosen = [outcome for outcome in outcomes if outcome["split"] == split]
    return sum(int(o["successes"]) for o in chosen) / sum(int(o["episodes"]) for o in chosen)
