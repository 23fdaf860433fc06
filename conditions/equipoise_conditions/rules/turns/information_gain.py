"""What a turn tells about the known answer: gains in its probability, and where they stand as rewards."""

from collections.abc import Mapping

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.context import Boundary, Context, Need
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Parameter
from equipoise_conditions.trajectories import Trajectories

__all__ = ["GAIN", "MISSING", "gain_needs", "information_gain", "place_rewards", "turn_gains"]

GAIN = Parameter(
    "gain",
    "probability",
    ("probability", "log", "recorded"),
    "difference of exp(mean log-probability) of the known answer, of the mean log-probability, or the turn "
    "rewards as the batch recorded them",
)
MISSING = Parameter(
    "missing",
    "undefined",
    ("undefined", "outcome"),
    "a trajectory without every gain: no credit (NO_GOLD), or credit of its outcome alone",
)


def gain_needs(values: Mapping[str, object]) -> frozenset[Need]:
    """Return the needs under these parameters: the known answer's scores, unless gains were recorded."""
    return frozenset() if values["gain"] == "recorded" else frozenset({Need.GOLD})


def information_gain(trajectories: Trajectories, gold: Boundary, kind: str) -> FloatArray:
    """Return (T,) what each turn adds to the known answer's probability; not finite where not measured.

    With L_t the mean log-probability of the answer's tokens after turn t and L_0 before the first turn, the
    gain is exp(L_t) - exp(L_{t-1}) or, as `kind` "log", L_t - L_{t-1}. exp of a mean is the answer's
    inverse perplexity, not its probability. The log form weighs early gains from tiny probabilities more.

    Source: IGPO's released code (GuoqingWang1/IGPO bff163b7 scrl/llm_agent/generation.py:413-425); the log
    form is that of debajoycs98/IGPO 86601963 and of the survey (arXiv 2604.09459).

    Raises:
        RuleError: when `gold` was measured on another batch.
    """
    for name, got, expected in (
        ("before", gold.before.size, trajectories.n),
        ("after", gold.after.size, trajectories.n_turns),
    ):
        if got != expected:
            message = f"gold: expected {expected} entries {name}, got {got}; measure it on this batch"
            raise RuleError(message)
    # The probability of an absurd score may overflow, and a log of 0 has no differences: both stay not finite.
    with np.errstate(over="ignore", invalid="ignore"):
        before, after = (
            (gold.before, gold.after) if kind == "log" else (np.exp(gold.before), np.exp(gold.after))
        )
        gain = np.empty_like(after)
        np.subtract(after[1:], after[:-1], out=gain[1:])
        first = trajectories.turn_offsets[:-1]
        gain[first] = after[first] - before
        return gain


def turn_gains(trajectories: Trajectories, context: Context, kind: str) -> tuple[FloatArray, BoolArray]:
    """Return (T,) gains, 0 on last turns and where unknown, and (N,) which trajectories have all of theirs.

    The last turn answers: it carries the outcome and has no gain. A trajectory of one turn needs none.

    Raises:
        MissingNeed: when the known answer was not scored.
        RuleError: when it was scored on another batch.
    """
    if kind == "recorded":
        gain = np.array(trajectories.reward)
    else:
        gain = information_gain(trajectories, context.need(Need.GOLD, Boundary), kind)
    gain[trajectories.turn_offsets[1:] - 1] = 0.0
    finite = np.isfinite(gain)
    if bool(finite.all()):
        return gain, np.ones(trajectories.n, dtype=np.bool_)
    known = np.logical_and.reduceat(finite, trajectories.turn_offsets[:-1])
    return np.where(known[trajectories.trajectory_of_turn], gain, 0.0), known


def place_rewards(trajectories: Trajectories, reward: FloatArray) -> FloatArray:
    """Return (K,) turn rewards on the last token of each turn that is in the loss, or on its last token.

    Args:
        trajectories: the batch.
        reward: (T,) rewards of the turns: gains, and outcomes on last turns.
    """
    placed = np.zeros(trajectories.n_tokens)
    last = trajectories.token_offsets[1:] - 1
    if not bool(trajectories.mask.all()):
        inside = np.where(trajectories.mask, np.arange(trajectories.n_tokens), -1)
        latest = np.maximum.reduceat(inside, trajectories.token_offsets[:-1])
        last = np.where(latest >= 0, latest, last)
    placed[last] = reward
    return placed
