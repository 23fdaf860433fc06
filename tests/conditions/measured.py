"""A batch with everything in it and a context with everything measured, and both in another order."""

from dataclasses import fields
from typing import Any

import numpy as np

from equipoise_conditions import (
    Boundary,
    Coalitions,
    Context,
    Continuations,
    Cuts,
    Replays,
    Trajectories,
    Verdicts,
)

_PER_TRAJECTORY = ("task", "outcome", "branch", "group")
_PER_TURN = ("state", "action", "n_actions", "reward", "agent")
_PER_TOKEN = ("logprob", "entropy", "mask", "token", "token_reward", "sum_pi_squared")


def enriched(t: Trajectories, seed: int) -> Trajectories:
    """Return the batch with one to three tokens a turn, two agents, holes in the mask and token rewards."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, t.n_turns)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    tokens = int(offsets[-1])
    mask = rng.random(tokens) < 0.9
    mask[offsets[:-1]] = True  # a turn keeps a token of its own
    return Trajectories(
        **{
            name: getattr(t, name)
            for name in ("task", "outcome", "turn_offsets", "parent", "branch", "group")
        },
        **{name: getattr(t, name) for name in ("state", "action", "n_actions", "reward")},
        agent=rng.integers(0, 2, t.n_turns),
        token_offsets=offsets,
        logprob=-rng.exponential(size=tokens),
        entropy=rng.exponential(size=tokens),
        mask=mask,
        token=rng.integers(0, 5, tokens),
        sum_pi_squared=rng.random(tokens),
    )


def full_context(t: Trajectories, seed: int = 0, players: str = "agents") -> Context:
    """Return a context in which everything was measured, some of it undefined."""
    rng = np.random.default_rng(seed)
    reason = rng.choice([0, 3, 4], t.n_turns)
    measured = (reason == 0)[:, None]
    factual = np.where(measured, rng.integers(0, 2, (t.n_turns, 3)), np.nan)
    alternative = np.where(measured[..., None], rng.integers(0, 2, (t.n_turns, 4, 3)), np.nan)
    pairs = t.agent_units[0].size

    def holed(size: int) -> Any:
        return np.where(rng.random(size) < 0.1, np.nan, rng.normal(size=size))

    return Context(
        generator=np.random.default_rng(7),
        hindsight=-np.abs(holed(t.n_turns)),
        replays=Replays(reason, factual, alternative),
        truth=holed(t.n_turns),
        outcome_scores=-np.abs(holed(t.n_turns)),
        continuations=Continuations(np.zeros(t.n_turns, dtype=int), rng.random((t.n_turns, 3))),
        cuts=_cuts(t, rng),
        values=rng.random(t.n_turns),
        token_values=rng.random(t.n_tokens),
        step_scores=rng.random(t.n_turns),
        progress=Boundary(rng.random(t.n), rng.random(t.n_turns)),
        token_progress=rng.random(t.n_tokens),
        gold=Boundary(-rng.random(t.n), -rng.random(t.n_turns)),
        judge=Verdicts(rng.choice([-1.0, 0.0, 1.0], (t.n_turns, 3)), rng.random(t.n_turns) < 0.9),
        greedy=rng.random(t.n),
        masked_agents=rng.random(pairs),
        tool_reward=rng.random(pairs),
        coalitions=_coalitions(t, rng, players),
        planning=rng.random(t.n_tokens) < 0.3,
        log_ratio=rng.normal(size=t.n_tokens),
        contrast=rng.normal(size=t.n_tokens),
    )


def reordered(t: Trajectories, context: Context, order: Any) -> tuple[Trajectories, Context, dict[str, Any]]:
    """Return batch and context with the trajectories in another order, and where each unit came from."""
    place = np.argsort(order)
    turns = _spans(t.turn_offsets, order)
    tokens = _spans(t.token_offsets, turns)
    parent = t.parent[order]
    moved = Trajectories(
        **{name: getattr(t, name)[order] for name in _PER_TRAJECTORY},
        **{name: getattr(t, name)[turns] for name in _PER_TURN},
        **{name: getattr(t, name)[tokens] for name in _PER_TOKEN},
        parent=np.where(parent >= 0, place[parent], -1),
        turn_offsets=np.concatenate(([0], np.cumsum(t.lengths[order]))),
        token_offsets=np.concatenate(([0], np.cumsum(t.tokens_of_turn[turns]))),
    )
    owner, agent, _ = moved.agent_units
    known = {pair: index for index, pair in enumerate(zip(*t.agent_units[:2], strict=True))}
    pairs = np.array([known[order[i], a] for i, a in zip(owner, agent, strict=True)])
    came = {"episode": np.asarray(order), "turn": turns, "token": tokens, "agent": pairs}
    return moved, _moved(context, came), came


def _moved(context: Context, came: dict[str, Any]) -> Context:
    kinds = {"greedy": "episode", "masked_agents": "agent", "tool_reward": "agent"}
    kinds |= dict.fromkeys(("token_values", "token_progress", "planning", "log_ratio", "contrast"), "token")
    values: dict[str, Any] = {}
    for field in fields(Context):
        value, name = getattr(context, field.name), field.name
        if isinstance(value, np.ndarray):
            values[name] = value[came[kinds.get(name, "turn")]]
        elif isinstance(value, Boundary):
            values[name] = Boundary(value.before[came["episode"]], value.after[came["turn"]])
        elif isinstance(value, Replays | Continuations | Verdicts):
            columns = {f.name: getattr(value, f.name)[came["turn"]] for f in fields(value)}
            values[name] = type(value)(**columns)
        elif isinstance(value, Cuts | Coalitions):
            inside = _spans(value.offsets, came["episode"])
            sizes = np.diff(value.offsets)[came["episode"]]
            columns = {f.name: getattr(value, f.name) for f in fields(value)}
            for key, column in columns.items():
                columns[key] = (
                    column[came["episode"] if key == "players" else inside] if key != "offsets" else None
                )
            values[name] = type(value)(**columns | {"offsets": np.concatenate(([0], np.cumsum(sizes)))})
    return Context(**values)


def _cuts(t: Trajectories, rng: Any) -> Cuts:
    sizes = np.diff(t.token_offsets_of_trajectory)
    position = [np.flatnonzero(rng.random(size) < 0.5) for size in sizes]
    counts = [len(p) for p in position]
    return Cuts(
        np.concatenate(([0], np.cumsum(counts))), np.concatenate(position), rng.random(int(np.sum(counts)))
    )


def _coalitions(t: Trajectories, rng: Any, players: str) -> Coalitions:
    count = t.lengths if players == "turns" else np.bincount(t.agent_units[0], minlength=t.n)
    offsets = np.concatenate(([0], np.cumsum(2**count)))
    return Coalitions(count, offsets, rng.random(int(offsets[-1])))


def _spans(offsets: Any, chosen: Any) -> Any:
    return np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in chosen])
