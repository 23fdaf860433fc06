"""Fresh episodes of a trained policy on the registered tasks, under random numbers that all cells of a block share."""

from typing import TYPE_CHECKING

from equipoise.execution.world import World
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import opening

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["evaluate"]


def evaluate(world: World, model: "Qwen3ForCausalLM") -> list[dict[str, object]]:
    """Successes of each task of the pool and of the held-out split.

    Returns:
        One record a task: `split`, `task`, `successes`, `episodes`.
    """
    settings = world.suite.evaluation
    sampler = world.sampler(model, settings.temperature)
    outcomes: list[dict[str, object]] = []
    for split, repeats in (("pool", settings.episodes_per_task), ("held_out", settings.held_out_episodes)):
        tasks = world.env.tasks(split) if repeats else 0
        starts = []
        for task in range(tasks):
            state = world.env.reset(split, task)
            starts.extend([Start(state, opening(world.words, state))] * repeats)
        uniforms = world.uniforms(len(starts), "evaluate", split)
        won = [episode.won for episode in sampler.play(starts, uniforms)]
        outcomes.extend(
            {
                "split": split,
                "task": task,
                "successes": sum(won[task * repeats : (task + 1) * repeats]),
                "episodes": repeats,
            }
            for task in range(tasks)
        )
    return outcomes
