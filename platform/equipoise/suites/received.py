"""What a run's result says of its rounds and of the limits of generation, as the report shows it."""

from collections.abc import Mapping
from typing import Any

from equipoise.suites.judge import Results
from equipoise_budget import Cost
from equipoise_preregistration import Suite
from equipoise_reports import GenerationUse, RoundRecord

__all__ = ["generation_of", "rounds_of"]


def rounds_of(result: Mapping[str, Any]) -> tuple[RoundRecord, ...]:
    """Each round that a run began; none of a run of one round."""
    return tuple(_round(told) for told in result.get("rounds", ()))


def _round(told: Mapping[str, Any]) -> RoundRecord:
    dose, credit = told["dose"], told["credit"]
    collected = told.get("collected")  # not told by an earlier version
    return RoundRecord(
        number=told["round"],
        slots=dose["slots"],
        steps=dose["optimizer_steps"],
        unique_examples=dose["unique_examples"],
        examples=credit["examples"],
        undefined=None if collected is None else collected["turns"] - credit["examples"],
        episodes=None if collected is None else collected["episodes"],
        success=None if collected is None else collected["success"],
        planned=told["digests"]["plan"] != "none",
    )


def generation_of(result: Mapping[str, Any], suite: Suite, results: Results) -> GenerationUse | None:
    """Limits of generation beside what a run used of them; None of a run that keeps to none.

    Limits hold for a round: those of the rounds that a run began are added up, and so is what it used.

    Args:
        result: of a cell.
        suite: as registered.
        results: of all jobs, by key; a run that refills is charged for its block's collection too.
    """
    limits, cell = suite.budget.generation.limits, result["cell"]
    if not limits or not (cell["arm"] == "native" or suite.budget.doubly):
        return None
    rounds = result.get("rounds") or [{"round": 1, **result}]
    used = [_used(told, limits, cell, results) for told in rounds]
    prompts = [(told.get("generation") or {}).get("prompts") for told in rounds]
    known = [each for each in prompts if each is not None]
    binding = [each["binding"] for each in known if each["binding"] is not None]
    binding += [
        name
        for each, spent in zip(prompts, used, strict=True)
        for name in limits
        if each is None and spent[name] > limits[name]
    ]
    return GenerationUse(
        limits={name: limit * len(rounds) for name, limit in limits.items()},
        used={name: sum(spent[name] for spent in used) for name in limits},
        binding=tuple(dict.fromkeys(binding)),
        prompts=sum(len(each["prompts"]) for each in known) if known else None,
        of=sum(each["of"] for each in known) if known else None,
    )


def _used(
    told: Mapping[str, Any], limits: Mapping[str, float], cell: Mapping[str, Any], results: Results
) -> dict[str, float]:
    """What the affordable prompts cost in a round; of a run that refills, all that it generated."""
    generation = told.get("generation") or {}
    if generation.get("prompts") is not None:
        return {name: float(generation["prompts"]["used"][name]) for name in limits}
    refill = generation.get("refill")
    spent = Cost.from_json(refill["cost"]) if refill else Cost()
    if told["round"] == 1:
        block = f"b{cell['block']}"
        for key in (f"{block}/collect", f"{block}/signals/{cell['condition']}"):
            spent += Cost.from_json(results[key]["cost"])
        return {name: float(getattr(spent, name)) for name in limits}
    # Later rounds are collected and measured by the run itself; what is not training is generation.
    whole, trained = Cost.from_json(told["cost"]), Cost.from_json(told["trained"])
    return {name: float(getattr(whole, name)) - float(getattr(trained, name)) for name in limits}
