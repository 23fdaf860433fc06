"""A registered suite and its results as the study that a report shows."""

from collections.abc import Mapping
from typing import Any

from equipoise import __version__
from equipoise.execution.conditions import condition_of, twin_of
from equipoise.suites.jobs import cells_of
from equipoise.suites.judge import Results, base_scores, judge, rate
from equipoise.suites.looking import look_reached, seen_at
from equipoise.suites.received import generation_of, rounds_of
from equipoise.suites.tuning_record import tuning_record
from equipoise.tuning.space import settle
from equipoise.tuning.tally import searches
from equipoise_budget import Cost, Dose, PlannedDose
from equipoise_preregistration import Registration, Suite
from equipoise_reports import BaseScore, ConditionCard, Design, RunRecord, Slot, Study, numbers
from equipoise_reports import Registration as Frozen

__all__ = ["study_of"]


def study_of(
    registration: Registration,
    raw: str,
    results: Results,
    *,
    exploratory: bool = False,
    deviations: tuple[str, ...] = (),
    amended: tuple[str, ...] = (),
) -> Study:
    """Put together what a report shows; the analysis only when the blocks of a registered look are complete.

    At a look nothing is shown of the blocks that come after it.

    Args:
        registration: the frozen suite.
        raw: its YAML as it was written.
        results: of its jobs, by key.
        exploratory: whether it was run without a registration that precedes it.
        deviations: what a reader must know besides.
        amended: amendments made after a run had ended, a sentence each.
    """
    suite = registration.model
    look = look_reached(suite, results)
    early = look is not None and look < suite.blocks
    if look is not None:
        results = seen_at(look, results)
    runs = tuple(
        _record(key, result, suite, results) for key, result in results.items() if result["kind"] == "cell"
    )
    settled = {
        s.condition: settle(suite, s.condition, s.chosen.values) for s in searches(suite, results) or ()
    }
    return Study(
        name=suite.name,
        question=suite.question,
        registration=_frozen(registration, suite, raw),
        conditions=tuple(_card(settled.get(c.id, suite), c.id, results) for c in suite.conditions),
        design=_design(suite),
        runs=runs,
        base=_base(results, suite),
        analysis=None
        if look is None
        else judge(suite, results, look=_named(suite, look), deviations=amended),
        deviations=(*_own_deviations(registration), *deviations, *map(numbers.sentence, amended)),
        exploratory=exploratory,
        look=look if early else None,
        generated_by=f"equipoise {__version__}",
        tuning=tuning_record(suite, results),
    )


def _named(suite: Suite, look: int) -> int | None:
    """The look as the analysis names it: the only one has no name."""
    return look if suite.analysis.looks else None


def _frozen(registration: Registration, suite: Suite, raw: str) -> Frozen:
    code = registration.code
    return Frozen(
        hash=registration.hash,
        registered_at=registration.registered_at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        previous=registration.previous,
        code_version=" ".join(str(value) for value in code.as_json().values() if value),
        lock=registration.lock,
        python=registration.python,
        threads=suite.execution.threads,
        cpu_capability=suite.execution.cpu_capability,
        seeds={"suite": suite.seed, **registration.seeds},
        suite_yaml=raw,
    )


def _card(suite: Suite, name: str, results: Results) -> ConditionCard:
    condition = next(c for c in suite.conditions if c.id == name)
    rule, parameters = condition_of(suite, name)
    return ConditionCard(
        id=name,
        card=rule.card,
        baseline=condition.baseline,
        control=condition.control,
        parameters=parameters,
        twin=str(twin_of(suite, name)) if suite.arms.twins else None,
        active_share=_active_share(results, name),
    )


def _active_share(results: Results, condition: str) -> float | None:
    """Mean over blocks of the share of trajectories in which a twin could change anything; None before any ran."""
    shares = [
        float(result["credit"]["shuffle_active_share"])
        for result in results.values()
        if result["kind"] == "signals"
        and result["condition"] == condition
        and "shuffle_active_share" in result["credit"]  # runs of an earlier version did not measure it
    ]
    return sum(shares) / len(shares) if shares else None


def _design(suite: Suite) -> Design:
    environment, policy = suite.environment, suite.policy
    return Design(
        blocks=tuple(range(suite.blocks)),
        cells=tuple(Slot(cell.condition, cell.arm, cell.twin) for cell in cells_of(suite) if cell.block == 0),
        twins=suite.arms.twins,
        examples=suite.budget.examples,
        optimizer_steps=suite.budget.optimizer_steps,
        under=suite.budget.under,
        over=suite.budget.over,
        alpha=suite.analysis.alpha,
        smallest_effect=suite.analysis.smallest_effect,
        multiplicity=suite.analysis.multiplicity,
        primary=suite.evaluation.primary,
        held_out="held_out" if suite.evaluation.held_out_episodes and environment.tasks.held_out else None,
        environment=(
            f"{environment.name}, {environment.tasks.pool} pool and {environment.tasks.held_out} held-out tasks, "
            f"at most {environment.horizon} turns"
        ),
        rounds=suite.collection.rounds,
        policy=f"{policy.name}, width {policy.hidden}, {policy.layers} layers",
    )


def _base(results: Results, suite: Suite) -> dict[int, BaseScore]:
    primary = base_scores(results, suite.evaluation.primary)
    held_out = base_scores(results, "held_out")
    return {
        block: BaseScore(score, held_out[block][0] if block in held_out else None)
        for block, (score, _) in sorted(primary.items())
    }


def _record(key: str, result: Mapping[str, Any], suite: Suite, results: Results) -> RunRecord:
    cell = result["cell"]
    primary = rate(result["outcomes"], suite.evaluation.primary)
    held_out = rate(result["outcomes"], "held_out")
    assert primary is not None
    planned = {name: value for name, value in result["planned"].items() if name not in ("fill", "batch")}
    return RunRecord(
        key=key,
        condition=cell["condition"],
        arm=cell["arm"],
        twin=cell["twin"],
        block=cell["block"],
        primary=primary[0],
        held_out=held_out[0] if held_out else None,
        examples=result["credit"]["examples"],
        planned=PlannedDose.from_json(planned),
        dose=Dose.from_json(result["dose"]),
        cost=_cost(result, results),
        breaches=tuple(result["breaches"]),
        end=result["end"],
        plan_digest=result["digests"]["plan"],
        weights_digest=result["digests"]["weights"],
        seconds=sum(result["seconds"].values()),
        rounds=rounds_of(result),
        generation=generation_of(result, suite, results),
    )


def _cost(result: Mapping[str, Any], results: Results) -> Cost:
    """What a run cost: the block's collection, its rule's own measurements, and the training."""
    cell = result["cell"]
    collected = results[f"b{cell['block']}/collect"]["cost"]
    signals = results[f"b{cell['block']}/signals/{cell['condition']}"]["cost"]
    return Cost.from_json(collected) + Cost.from_json(signals) + Cost.from_json(result["cost"])


def _own_deviations(registration: Registration) -> tuple[str, ...]:
    if registration.code.as_json().get("dirty"):
        sentence = (
            "The program's source tree held uncommitted changes when the suite was registered: "
            "its code cannot be recovered from the commit alone."
        )
        return (sentence,)
    return ()
