"""How much a step of each trainer costs beside a plain torch loop on the same rows.

    OMP_NUM_THREADS=1 python benchmarks/training.py [--steps 60] [--batch 16] [--hidden 64] [--repeats 5]

Prints one JSON object. All sides collate the same slots, take the same gradient and the same AdamW step (the on-policy
trainer under `dr_grpo`, whose gradient is that of the weighted likelihood); their weights are compared before they are
timed. `ratio` is of the processor time of a further step, `ratio_of_runs` of whole runs, what is set up before the
first step included; `ratio` is to stay under 1.5 for the tiny policy. The sides take turns in one process and are
compared within a turn; the median of the turns counts, and `ratio_range` is what they span.
"""

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

from equipoise.environments.registry import make_environment
from equipoise.policies.episodes import Start
from equipoise.policies.model import tiny_qwen3
from equipoise.policies.rollout import Sampler, opening
from equipoise.policies.rows import collate_rows, token_logprobs
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts
from equipoise.policies.tries import TrieBank
from equipoise.training.settings import TrainingSettings
from equipoise.training.trainer import train_on_plan
from equipoise_budget import Plan

SETTINGS = TrainingSettings(learning_rate=1e-3, max_grad_norm=1.0, normalisation="admissible")


def household(hidden: int) -> tuple[WordTokens, Transcripts]:
    """Transcripts of an untrained policy: 64 episodes of 15 turns."""
    env = make_environment("household", {"tasks": {"pool": 8, "held_out": 1, "demonstrations": 1}}, 0)
    words = WordTokens(env.vocabulary())
    bank = TrieBank(words)
    sampler = Sampler(tiny_qwen3(len(words), hidden=hidden, layers=2, seed=0), words, bank, env, horizon=15)
    states = [env.reset("pool", task) for task in range(8) for _ in range(8)]
    starts = [Start(state, opening(words, state)) for state in states]
    return words, Transcripts.of(sampler.play(starts, np.random.default_rng(0).random((64, 60))), bank)


def plan_of(turns: int, steps: int, batch: int) -> Plan:
    rng = np.random.default_rng(1)
    slots = steps * batch
    example = np.concatenate([rng.permutation(turns) for _ in range(-(-slots // turns))])[:slots]
    presentation = np.arange(slots) // turns
    return Plan(example, presentation, rng.normal(size=slots), np.arange(slots) // batch, batch, "native")


def plain_loop(model: Any, transcripts: Transcripts, plan: Plan) -> None:
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=SETTINGS.learning_rate, weight_decay=0.0)
    for begin in range(0, plan.slots, plan.batch):
        slots = slice(begin, begin + plan.batch)
        rows = collate_rows(transcripts, [[int(turn)] for turn in plan.example[slots]])
        logits = model(input_ids=rows.ids, attention_mask=rows.mask, use_cache=False).logits
        weight = torch.from_numpy(plan.weight[slots].copy()).float()[rows.row]
        loss = -(weight * token_logprobs(logits, rows, "admissible")).sum() / plan.batch
        optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), SETTINGS.max_grad_norm)
        optimizer.step()
    model.eval()


def main() -> None:
    parser = argparse.ArgumentParser()
    for name, default in (("steps", 60), ("batch", 16), ("hidden", 64), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    words, transcripts = household(chosen.hidden)
    turns = len(transcripts.trajectory)

    def fresh() -> Any:
        return tiny_qwen3(len(words), hidden=chosen.hidden, layers=2, seed=0)

    def ours(loss: str | None, plan: Plan, model: Any = None) -> None:
        with tempfile.TemporaryDirectory() as folder:
            settings = replace(SETTINGS, loss=loss)
            train_on_plan(model or fresh(), words, transcripts, plan, settings, Path(folder))

    def plain(plan: Plan, model: Any = None) -> None:
        plain_loop(model or fresh(), transcripts, plan)

    short, long = (plan_of(turns, steps, chosen.batch) for steps in (chosen.steps // 3, chosen.steps))
    sides: dict[str, Callable[..., None]] = {
        "sft": partial(ours, None),
        "on_policy": partial(ours, "dr_grpo"),
        "plain": plain,
    }
    gaps = weight_gaps(sides, short, fresh)
    gc.freeze()  # as a worker does before it forks
    seconds = alternated(sides, (short, long), chosen.repeats)
    steps = long.steps - short.steps
    step = {name: [(b - a) / steps for a, b in turns] for name, turns in seconds.items()}
    whole = {name: [b for _, b in turns] for name, turns in seconds.items()}
    ratios = {name: within_turns(step[name], step["plain"]) for name in gaps}
    told = {
        "parameters": sum(p.numel() for p in fresh().parameters()),
        "batch": chosen.batch,
        "steps": chosen.steps,
        "step_ms": {name: round(1e3 * median(values), 2) for name, values in step.items()},
        "ratio": {name: round(median(values), 3) for name, values in ratios.items()},
        "ratio_range": {name: [round(min(v), 3), round(max(v), 3)] for name, v in ratios.items()},
        "ratio_of_runs": {name: round(median(within_turns(whole[name], whole["plain"])), 3) for name in gaps},
        "largest_weight_gap": gaps,
    }
    print(json.dumps(told))


def weight_gaps(
    sides: dict[str, Callable[..., None]], plan: Plan, fresh: Callable[[], Any]
) -> dict[str, float]:
    """How far each trainer's weights end from the plain loop's; AssertionError if it is more than rounding."""
    ended = {}
    for name, train in sides.items():
        model = fresh()
        train(plan, model)
        ended[name] = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    plain = ended.pop("plain")
    gaps = {name: float((weights - plain).abs().max()) for name, weights in ended.items()}
    assert max(gaps.values()) < 1e-4, f"the loops ended {gaps} apart"
    return gaps


def within_turns(ours: list[float], plain: list[float]) -> list[float]:
    """One ratio a turn: what slows the machine for a while slows both sides of a turn."""
    return [one / other for one, other in zip(ours, plain, strict=True)]


def alternated(
    sides: dict[str, Callable[..., None]], plans: tuple[Plan, Plan], repeats: int
) -> dict[str, list[tuple[float, float]]]:
    """Processor seconds of each side on both plans, by turn; each turn begins with another side."""
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for turn in range(repeats):
        names = list(sides)[turn % len(sides) :] + list(sides)[: turn % len(sides)]
        for name in names:
            taken = []
            for plan in plans:
                began = time.process_time()
                sides[name](plan)
                taken.append(time.process_time() - began)
            found[name].append((taken[0], taken[1]))
    return found


if __name__ == "__main__":
    main()
