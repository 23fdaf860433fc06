"""Credit of one condition in one block: measure what its rule declares to need, then assign."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from equipoise.environments.protocol import Environment, State
from equipoise.errors import ExecutionError
from equipoise.execution.batches import Batch, states_of
from equipoise.execution.conditions import condition_of
from equipoise.execution.forks import with_forks
from equipoise.execution.hindsight import hindsight_scores
from equipoise.execution.replays import replay_turns
from equipoise.execution.world import World
from equipoise.policies.rollout import Sampler
from equipoise_budget import Cost
from equipoise_conditions.context import Context, Need, Replays
from equipoise_conditions.rule import Rule

__all__ = ["assign_credit"]


def assign_credit(world: World, name: str, folders: Mapping[str, Path], folder: Path) -> dict[str, object]:
    """Write `credit.npz` into the folder, and the extended batch where the rule forks.

    Args:
        world: the block.
        name: id of the condition.
        folders: `base` and `collect`.
        folder: where to write.
    """
    rule, params = condition_of(world.suite, name)
    batch = Batch.load(folders["collect"])
    sampler = world.sampler(
        world.model_from(folders["base"] / "base.safetensors"), world.suite.collection.temperature
    )
    spent = Cost()
    if Need.FORKS in rule.needs:
        batch, spent = with_forks(world, sampler, batch, params)
        batch.save(folder)
    context, measured = _measure(world, sampler, batch, rule, params)
    credit = rule.apply(batch.trajectories, context, params)
    credit.save(folder / "credit.npz")
    return {
        "kind": "signals",
        "block": world.block,
        "condition": name,
        "rule": rule.name,
        "credit": {
            "turns": batch.trajectories.n_turns,
            "examples": len(credit.examples),
            "reasons": credit.counts_by_reason(),
            "digest": credit.digest(),
            "constant_within_trajectories": _constant(batch, credit.value),
        },
        "cost": (spent + measured).to_json(),
    }


def _measure(
    world: World, sampler: Sampler, batch: Batch, rule: Rule, params: Mapping[str, object]
) -> tuple[Context, Cost]:
    generator = world.rng("rule", rule.name) if Need.GENERATOR in rule.needs else None
    hindsight: npt.NDArray[np.float64] | None = None
    replays: Replays | None = None
    truth: npt.NDArray[np.float64] | None = None
    spent = Cost()
    if Need.HINDSIGHT in rule.needs:
        hindsight, spent = hindsight_scores(world, sampler, batch)
    if Need.REPLAYS in rule.needs:
        replays, spent = replay_turns(world, sampler, batch, params)
    if Need.TRUTH in rule.needs:
        truth = _truth(world.env, batch)
    return Context(generator, hindsight, replays, truth), spent


def _truth(env: Environment, batch: Batch) -> npt.NDArray[np.float64]:
    """(T,) exact advantage of each action, where the environment can tell."""
    advantage = getattr(env, "advantage", None)
    if advantage is None:
        message = (
            f"the rule 'exact' needs an environment that knows its advantages, got {type(env).__name__}; "
            "use bifurcation, or the rule 'replay', which measures them"
        )
        raise ExecutionError(message)
    before, _ = states_of(env, batch.trajectories)
    known: dict[tuple[int, int], float] = {}

    def of(state: State, action: int) -> float:
        at = (state.key, action)
        if at not in known:
            known[at] = float(advantage(state, action))
        return known[at]

    pairs = zip(before, batch.trajectories.action.tolist(), strict=True)
    return np.array([of(state, action) for state, action in pairs])


def _constant(batch: Batch, value: npt.NDArray[np.float64]) -> bool:
    """Whether no trajectory holds two different credits among its own turns, so that a twin changes nothing."""
    own = batch.trajectories.own
    owner = batch.trajectories.trajectory_of_turn[own]
    marked = np.where(np.isnan(value[own]), np.inf, value[own])
    same = (owner[1:] != owner[:-1]) | (marked[1:] == marked[:-1])
    return bool(same.all())
