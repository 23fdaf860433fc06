"""How much faster episodes are played in batches than one by one.

    OMP_NUM_THREADS=1 python benchmarks/rollouts.py [--episodes 128] [--alone 24] [--hidden 64] [--repeats 3]

Prints one JSON object. Both sides play the same starts under the same numbers; what they did is compared before it
is timed. The environment's steps are part of the time.
"""

import argparse
import json
import time
from collections.abc import Callable

import numpy as np
import torch

from equipoise.environments.registry import make_environment
from equipoise.policies.episodes import Episode, Start
from equipoise.policies.model import tiny_qwen3
from equipoise.policies.rollout import Sampler, opening
from equipoise.policies.tokens import WordTokens
from equipoise.policies.tries import TrieBank


def fastest(call: Callable[[], object], repeats: int) -> float:
    """Processor seconds of the fastest of some calls: others may use the machine meanwhile."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        call()
        found.append(time.process_time() - began)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("episodes", 128), ("alone", 24), ("hidden", 64), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    env = make_environment("household", {"tasks": {"pool": 16, "held_out": 1, "demonstrations": 1}}, 0)
    words = WordTokens(env.vocabulary())
    model = tiny_qwen3(len(words), hidden=chosen.hidden, layers=2, seed=0)
    sampler = Sampler(model, words, TrieBank(words), env, horizon=15)
    states = [env.reset("pool", task % 16) for task in range(chosen.episodes)]
    starts = [Start(state, opening(words, state)) for state in states]
    uniforms = np.random.default_rng(0).random((chosen.episodes, 60))

    def together() -> list[Episode]:
        return sampler.play(starts, uniforms)

    def alone() -> list[Episode]:
        return [sampler.play([starts[k]], uniforms[k : k + 1])[0] for k in range(chosen.alone)]

    same = [a.actions == b.actions for a, b in zip(together(), alone(), strict=False)]
    assert all(same), f"{same.count(False)} of {len(same)} episodes differ"
    batched = chosen.episodes / fastest(together, chosen.repeats)
    single = chosen.alone / fastest(alone, chosen.repeats)
    told = {
        "episodes": chosen.episodes,
        "turns": sum(len(episode.actions) for episode in together()),
        "batched_episodes_per_s": round(batched, 1),
        "single_episodes_per_s": round(single, 1),
        "ratio": round(batched / single, 2),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
