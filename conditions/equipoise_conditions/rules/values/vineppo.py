"""VinePPO: the value of a step's two ends by fresh rollouts, instead of by a critic."""

import numpy as np
from numpy.typing import ArrayLike

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Continuations, Need
from equipoise_conditions.credit import Credit, Reason, credit_where, on_collected
from equipoise_conditions.errors import RuleError
from equipoise_conditions.groups import discounted
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import CONTINUED, check_length
from equipoise_conditions.rules.values.backups import inside
from equipoise_conditions.trajectories import Trajectories

__all__ = ["VINEPPO", "monte_carlo_value", "step_advantages", "token_advantages", "vineppo"]


def vineppo(trajectories: Trajectories, context: Context, *, unmeasured: str = "undefined") -> Credit:
    """Return A_t = r_t + V_{t+1} - V_t with V the mean outcome of rollouts, and V = 0 after the last turn.

    Source: Kazemnejad et al. 2024 (arXiv 2410.01679); `unmeasured="fill"` is what their code does.

    Args:
        trajectories: the batch; forked trajectories get no credit.
        context: holds the continuations from the states before the turns.
        unmeasured: "undefined" leaves a turn without credit, for the continuation's reason, where either end
            has no value; "fill" gives 0 to the turns after the last value and refuses a gap before it.

    Raises:
        RuleError: with "fill", when a value is missing before one that was measured.
    """
    measured = context.need(Need.CONTINUATIONS, Continuations)
    check_length("continuations", measured.reason.size, trajectories)
    reason, value = on_collected(trajectories).copy(), measured.value
    if unmeasured == "undefined":
        same = inside(trajectories.trajectory_of_turn)
        following = np.zeros_like(measured.reason)
        following[:-1] = np.where(same[:-1], measured.reason[1:], int(Reason.DEFINED))
        missing = np.where(measured.reason == Reason.DEFINED, following, measured.reason)
        reason = np.where(reason == Reason.DEFINED, missing, reason)
    else:
        value = np.where(reason == Reason.DEFINED, value, 0.0)  # what no credit is given for is no gap
    boundary = np.full(trajectories.n_turns + trajectories.n, np.nan)
    boundary[np.arange(trajectories.n_turns) + trajectories.trajectory_of_turn] = value
    advantage = step_advantages(
        trajectories.reward, boundary, trajectories.turn_offsets, fill=unmeasured == "fill"
    )
    return credit_where(advantage, reason)


def step_advantages(
    reward: FloatArray, boundary: FloatArray, offsets: IntArray, *, fill: bool = False
) -> FloatArray:
    """Return (T,) r_t + V_{t+1} - V_t of the steps of N responses, undiscounted; the end is worth 0.

    Args:
        reward: (T,) reward of each step.
        boundary: (T + N,) value at each response's steps' beginnings and at its end, NaN where not
            estimated. The end's must be NaN: nothing is left to roll out from there.
        offsets: (N+1,) steps of each response.
        fill: take the rewards to come for the values after the last estimated one, so that those steps get
            exactly 0, and refuse a gap before it; otherwise a step without both its values is NaN.

    Raises:
        RuleError: when the lengths do not fit, an end has a value, or (with `fill`) there is a gap.
    """
    n, turns = offsets.size - 1, reward.size
    if boundary.size != turns + n:
        message = f"values: expected one for each of {turns} steps and {n} ends, got {boundary.size}"
        raise RuleError(message)
    ends = offsets[1:] + np.arange(n)
    given = np.flatnonzero(~np.isnan(boundary[ends]))
    if given.size:
        message = f"values: response {int(given[0])} has {boundary[ends[given[0]]]} at its end, where nothing is left"
        raise RuleError(f"{message} to estimate; expected no value there")
    response = np.repeat(np.arange(n), np.diff(offsets))
    start = np.arange(turns) + response
    value, tail = boundary.copy(), np.zeros(turns, dtype=np.bool_)
    if fill:
        tail = _tail(boundary[start], response, n)
        value[start[tail]] = discounted(reward, offsets, 1.0)[tail]
    value[ends] = 0.0
    return np.where(tail, 0.0, reward + value[start + 1] - value[start])


def _tail(value: FloatArray, response: IntArray, n: int) -> BoolArray:
    """Return the steps after the last estimated value of their response; RuleError on a gap before it."""
    missing, step = np.isnan(value), np.arange(value.size)
    last = np.full(n, -1, dtype=np.int64)
    np.maximum.at(last, response[~missing], step[~missing])
    holes = np.flatnonzero(missing & (step < last[response]))
    if holes.size:
        message = (
            f"values: expected gaps only after the last estimated value of a response, got one at step "
            f"{int(holes[0])} of the batch ({holes.size} in all); estimate it or set unmeasured: undefined"
        )
        raise RuleError(message)
    return missing


def monte_carlo_value(
    outcome: ArrayLike, finished: ArrayLike, *, penalty: float = 0.0, none: float = float("nan")
) -> float:
    """Return the mean outcome of rollouts, in which a rollout that was cut off scores the penalty.

    Args:
        outcome: (M,) outcomes as the verifier gives them.
        finished: (M,) whether a rollout ended by itself; a right answer in one that did not counts nothing.
        penalty: score of an unfinished rollout.
        none: what to return without a rollout; undefined by default.

    Raises:
        RuleError: when the two differ in length.
    """
    score, done = np.asarray(outcome, dtype=np.float64), np.asarray(finished, dtype=np.bool_)
    if score.shape != done.shape:
        message = f"rollouts: expected one end for each outcome, got {done.size} for {score.size}"
        raise RuleError(message)
    return float(np.where(done, score, penalty).mean()) if score.size else none


def token_advantages(
    advantage: FloatArray, boundary: IntArray, first_character: IntArray, tokens: int
) -> FloatArray:
    """Return (L,) each token's advantage: that of the step which owns its first character.

    Args:
        advantage: (S,) advantages of the steps.
        boundary: (S+1,) character at which each step begins, and the length of the text.
        first_character: (<=L,) first character of each token that stands for text, in order.
        tokens: L; the tokens after those (an end of sequence) copy the last one's.

    Raises:
        RuleError: when the steps do not cover the text or a token begins outside it.
    """
    if boundary.size != advantage.size + 1 or boundary[0] != 0 or (np.diff(boundary) < 0).any():
        message = (
            f"steps: expected {advantage.size + 1} boundaries from character 0 on, got {boundary.tolist()}"
        )
        raise RuleError(message)
    outside = (first_character < 0) | (first_character >= boundary[-1])
    if not 0 < first_character.size <= tokens or bool(outside.any()):
        message = (
            f"tokens: expected 1 to {tokens} of them to begin inside a text of {int(boundary[-1])} characters, "
            f"got beginnings {first_character.tolist()}"
        )
        raise RuleError(message)
    step = np.searchsorted(boundary, first_character, side="right") - 1
    return advantage[np.concatenate((step, np.repeat(step[-1:], tokens - step.size)))]


VINEPPO = Rule(
    name="vineppo",
    assign=vineppo,
    needs=frozenset({Need.CONTINUATIONS}),
    supply=CONTINUED,
    parameters=(
        Parameter(
            "unmeasured",
            "undefined",
            ("undefined", "fill"),
            "a turn whose ends have not both a value gets no credit; or 0 at the tail, and gaps are refused",
        ),
    ),
    presets={"vineppo": {"unmeasured": "fill", "rollouts": 9}},
    card=Card(
        name="vineppo",
        title="Monte-Carlo values at every step (VinePPO)",
        formula="A_t = r_t + V_{t+1} − V_t, V = mean outcome of M rollouts from the state, V(end) = 0",
        source="Kazemnejad et al. 2024, arXiv 2410.01679",
        granularity="turn",
        cost="M continuations from before every turn, of half a trajectory on average",
        drops="nothing collected; undefined where either end of a turn was not measured",
        zeroes="turns that moved no value; under preset vineppo every turn after the last measured value",
        reference_code=(
            "McGill-NLP/VinePPO efe72284 src/treetune/episode_generators/"
            "math_episode_generator_with_mc_advantages.py"
        ),
        methodology="monte-carlo",
        evidence="code",
        extra_rollouts="M·T partial rollouts",
        edge=(
            "the advantages of a fully measured trajectory sum to its rewards minus V before its first turn. "
            "One turn: its reward minus V. Nothing is discounted or normalised"
        ),
        caveats=(
            "V from M rollouts errs by up to .5/√M and an advantage by √2 times that: .24 at M = 9. A rollout "
            "that was cut off scores the penalty even when its answer is right, which the continuations must "
            "already hold. The published code takes a state without rollouts for worth 0 in one place and for "
            "worth the rewards to come in another; here it is undefined unless the preset asks"
        ),
    ),
)
