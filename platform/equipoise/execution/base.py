"""The base policy of a block: an expert cloned to the registered band, and judged untrained."""

from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.execution.evaluation import evaluate
from equipoise.execution.warm import keep, kept
from equipoise.execution.world import World
from equipoise.policies.episodes import Start
from equipoise.policies.model import save_weights, weights_digest
from equipoise.policies.rollout import opening
from equipoise.policies.transcripts import Transcripts
from equipoise.policies.warm_start import Cloning, WarmStart, clone, demonstrate

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["make_base"]

_PROBES_PER_TASK = 8


def make_base(world: World, folder: Path) -> dict[str, object]:
    """Clone (or take the kept result of an equal recipe), evaluate, and write `base.safetensors` into the folder.

    Raises:
        ExecutionError: if cloning misses the registered band.
    """
    model = world.fresh_model()
    cloning = kept(world, model)
    if cloning is None:
        cloning = _clone(world, model)
        keep(world, model, cloning)
    save_weights(model, folder / "base.safetensors")
    return {
        "kind": "base",
        "block": world.block,
        "outcomes": evaluate(world, model),
        "cloning": {"steps": cloning.steps, "probes": list(cloning.probes)},
        "digests": {"weights": weights_digest(model)},
    }


def _clone(world: World, model: "Qwen3ForCausalLM") -> Cloning:
    chosen = world.suite.policy.warm_start
    settings = WarmStart(
        demonstrations=chosen.demonstrations,
        epsilon=chosen.epsilon,
        success=chosen.success,
        learning_rate=chosen.learning_rate,
        batch=chosen.batch,
        max_epochs=chosen.max_epochs,
        probe_every=chosen.probe_every,
    )
    sampler = world.sampler(model, world.suite.collection.temperature)
    rng = world.rng("demonstrations")
    episodes = demonstrate(world.env, sampler, settings.demonstrations, settings.epsilon, rng)
    starts = []
    for task in range(world.env.tasks("pool")):
        state = world.env.reset("pool", task)
        starts.extend([Start(state, opening(world.words, state))] * _PROBES_PER_TASK)
    return clone(
        model,
        sampler,
        Transcripts.of(episodes, world.bank),
        settings,
        (starts, world.uniforms(len(starts), "probe")),
        world.rng("cloning"),
        normalisation=world.suite.policy.normalisation,
    )
