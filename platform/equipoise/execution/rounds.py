"""Rounds: a cell collects with its own policy, measures, assigns credit, plans and trains, again and again.

Round 1 takes the trajectories and signals that the block's cells share, which its base policy collected. In each later
round the policy of the cell collects; the random numbers are those of the block and round, so that two cells whose
policies are equal meet the same trajectories. One optimizer goes through all rounds: its moments are carried on, and so
rounds change what is trained on, and never how.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.execution.material import Material, collected_again, material_of
from equipoise.execution.plans import plan_of, registered_budget
from equipoise.execution.received import received
from equipoise.execution.untrained import nothing_received
from equipoise.execution.world import World
from equipoise.training.settings import TrainingSettings
from equipoise_budget import Budget, BudgetRefused, Cost, Plan
from equipoise_conditions.projection import to_turns
from equipoise_conditions.trajectories import Trajectories

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

    from equipoise.training.trainer import Training

__all__ = ["Round", "collected_of", "plan_file", "round_folder", "train_in_rounds"]


@dataclass(frozen=True, eq=False)
class Round:
    """One round of a cell.

    Attributes:
        number: from 1.
        material: what it trained from.
        budget: its share, of a matched or twin cell; None for a native one.
        plan, training: None where nothing was trained.
        told: what it received, as `received` and `nothing_received` say it.
        seconds: of collecting and measuring, and of planning and training.
    """

    number: int
    material: Material
    budget: Budget | None
    plan: Plan | None
    training: "Training | None"
    told: Mapping[str, Any]
    seconds: tuple[float, float]

    @property
    def trained_for(self) -> Cost:
        """What training cost."""
        return Cost.from_json(self.told["cost"])

    @property
    def credit_told(self) -> dict[str, object]:
        """What a result says of the credit."""
        credit, batch = self.material.credit, self.material.batch
        return {
            "examples": len(to_turns(credit, batch.trajectories).examples),
            "reasons": credit.counts_by_reason(),
            "digest": credit.digest(),
        }

    @property
    def plan_digest(self) -> str:
        """Of its plan; "none" where there is none."""
        return "none" if self.plan is None else self.plan.digest()

    def to_json(self) -> dict[str, object]:
        """Return what a result says of one round of several."""
        names = ("end", "message", "planned", "dose", "breaches", "reached")
        supplied = self.material.supplied
        return {
            "round": self.number,
            **{name: self.told[name] for name in names},
            "cost": (self.trained_for + self.material.cost).to_json(),
            "trained": self.trained_for.to_json(),
            "generation": self.material.to_json(),
            "supplied": None if supplied is None else {need: dict(n) for need, n in supplied.items()},
            "credit": self.credit_told,
            "collected": collected_of(self.material.batch.trajectories),
            "digests": {"plan": self.plan_digest, **self.material.batch.digests()},
        }


def collected_of(trajectories: Trajectories) -> dict[str, float]:
    """Trajectories collected and the mean of their outcomes, without forks; own turns, those of forks included."""
    outcome, turns = trajectories.outcome[trajectories.collected], int(trajectories.own.sum())
    return {"episodes": int(outcome.size), "turns": turns, "success": float(outcome.mean())}


def plan_file(number: int) -> str:
    """Name of the file that holds the plan of a round."""
    return "plan.npz" if number == 1 else f"plan-{number}.npz"


def round_folder(folder: Path, number: int) -> Path:
    """Where a round's trajectories and credit lie that no earlier job has."""
    return folder if number == 1 else folder / f"round-{number}"


def train_in_rounds(
    world: World,
    cell: Mapping[str, object],
    folders: Mapping[str, Path],
    folder: Path,
    models: tuple["Qwen3ForCausalLM", "Qwen3ForCausalLM"],
) -> list[Round]:
    """Train a policy in the registered rounds; return those that were begun.

    A matched or twin cell that cannot fill a round ends there: it cannot receive its budget any more. A native one
    trains nothing in such a round and goes on: it takes what its rule leaves. A run that diverges ends.

    Args:
        world: the block.
        cell: `condition`, `arm`, `twin`.
        folders: see `run_cell`.
        folder: where plans, and the trajectories and credit of later rounds, are written.
        models: the base policy, and its copy, which is trained in place.
    """
    rounds, moments = list[Round](), None
    for number in range(1, world.suite.collection.rounds + 1):
        here = world if number == 1 else world.in_round(number)
        done = _round(here, cell, folders, folder, models, moments)
        rounds.append(done)
        if done.training is None and cell["arm"] == "native":
            continue
        if done.training is None or done.training.diverged is not None:
            break
        moments = done.training.moments
    return rounds


def _round(
    world: World,
    cell: Mapping[str, object],
    folders: Mapping[str, Path],
    folder: Path,
    models: tuple["Qwen3ForCausalLM", "Qwen3ForCausalLM"],
    moments: dict[str, Any] | None,
) -> Round:
    from equipoise.training.trainer import train_on_plan

    number, (base, model), opened = world.round, models, time.perf_counter()
    if number == 1:
        start, material = base, material_of(world, cell, folders, base)
    else:
        start = _copy(world, model)
        material = collected_again(world, cell, start)
    material.save(round_folder(folder, number))
    batch = material.batch
    budget = None if cell["arm"] == "native" else registered_budget(world, batch.trajectories)
    began = time.perf_counter()
    try:
        plan = _plan(world, cell, material)
    except BudgetRefused as error:
        seconds = began - opened, time.perf_counter() - began
        return Round(number, material, budget, None, None, nothing_received(error, budget), seconds)
    plan.save(folder / plan_file(number))
    training = train_on_plan(
        model, world.words, batch.transcripts, plan, _settings(world), folder / "trl", moments
    )
    told = received(budget, training, (start, model), plan, batch, world.suite.budget.tolerance)
    return Round(
        number, material, budget, plan, training, told, (began - opened, time.perf_counter() - began)
    )


def _copy(world: World, model: "Qwen3ForCausalLM") -> "Qwen3ForCausalLM":
    """The policy as it is now, which collects while the other is trained on."""
    copy = world.fresh_model()
    copy.load_state_dict(model.state_dict())
    return copy


def _plan(world: World, cell: Mapping[str, object], material: Material) -> Plan:
    if material.refill is not None and material.refill.refusal is not None:
        raise material.refill.refusal
    return plan_of(world, cell, material.batch.trajectories, material.credit, material.generation)


def _settings(world: World) -> TrainingSettings:
    training = world.suite.training
    return TrainingSettings(
        learning_rate=training.learning_rate,
        max_grad_norm=training.max_grad_norm,
        weight_decay=training.weight_decay,
        normalisation=world.suite.policy.normalisation,
        temperature=world.suite.collection.temperature,
        clip=training.clip,
        loss=training.loss,
        measure_every=training.measure_every,
        seed=world.seed("trainer") % 2**31,
    )
