"""MT-GRPO: the outcome's advantage for all, and a turn's own advantage up to the first tool result."""

from dataclasses import dataclass

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, Reason, credit_where, on_tokens
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, GAMMA, SINGLETON, STD, group_advantage
from equipoise_conditions.trajectories import Trajectories

__all__ = ["COEFFICIENT", "MT_GRPO", "Scores", "assign_advantages", "before_segment", "mt_grpo"]

COEFFICIENT = Parameter(
    "turn_advantage_coef", 1.0, "float", "weight of the turn's advantage beside the outcome's"
)


@dataclass(frozen=True)
class Scores:
    """Group-relative advantages of N trajectories.

    Attributes:
        turn: (N,) of the turn reward.
        outcome: (N,) of the outcome.
        combined: (N,) of their sum, for trajectories without a tool result.
    """

    turn: FloatArray
    outcome: FloatArray
    combined: FloatArray


def mt_grpo(  # noqa: PLR0913 - one keyword for each convention in which published versions differ
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    turn_advantage_coef: float = 1.0,
    estimate: str = "additive",
    split: str = "turns",
    gamma: float = 0.95,
    std: str = "sample",
    eps: float = 1e-6,
    singleton: str = "zero",
) -> Credit:
    """Return (K,) A^O + c A^T on the first turn and A^O after it; one-turn trajectories get one advantage.

    A^T compares rewards of the first turn in the group, A^O outcomes. A trajectory of one turn used no tool:
    its turn reward is 0 and it gets the advantage of turn reward plus outcome.

    Source: arXiv 2505.11821; SiliangZeng/Multi-Turn-RL-Agent 7dbdd08b
    verifiers/trainers/mt_grpo_env_trainer.py:172-208, "cumulative": 7860de6e of the same file.

    Args:
        trajectories: the batch; forked trajectories are neither voters nor examples.
        context: not read.
        turn_advantage_coef: c; "cumulative" does not use it.
        estimate: "additive", or "cumulative": the first turn gets the advantage of turn reward + gamma outcome.
        split: "turns" ends the first turn where it ends, "mask" where the loss mask first changes.
        gamma: discount of the outcome as the first turn sees it; only "cumulative".
        std: "sample", "population" or "none", for all advantages.
        eps: added to the standard deviations.
        singleton: "zero", "raw" or "undefined" for a group with one trajectory.
    """
    several = trajectories.lengths > 1
    first = np.where(several, trajectories.reward[trajectories.turn_offsets[:-1]], 0.0)

    def advantage(score: FloatArray) -> tuple[FloatArray, BoolArray]:
        use = trajectories.collected
        value, alone = np.zeros(score.size), np.zeros(score.size, dtype=np.bool_)
        value[use], alone[use] = group_advantage(
            score[use], trajectories.group[use], std=std, eps=eps, singleton=singleton
        )
        return value, alone

    outcome, alone = advantage(trajectories.outcome)
    offsets, owner = trajectories.token_offsets_of_trajectory, trajectories.trajectory_of_token
    if split == "mask":
        before = before_segment(trajectories.mask, offsets, np.where(several, 1, -1))
    else:
        before = (trajectories.turn_index[trajectories.turn_of_token] == 0) & several[owner]
    if estimate == "cumulative":
        joint = advantage(first + gamma * trajectories.outcome)[0]
        value = np.where(before | ~several[owner], joint[owner], outcome[owner])
    else:
        scores = Scores(advantage(first)[0], outcome, advantage(first + trajectories.outcome)[0])
        value = assign_advantages(scores, before & trajectories.mask, several, owner, turn_advantage_coef)
    reason = on_tokens(trajectories)
    if singleton == "undefined":
        reason = np.where((reason == Reason.DEFINED) & alone[owner], int(Reason.NO_GROUP), reason)
    return credit_where(value, reason, "token")


def assign_advantages(
    scores: Scores, before: BoolArray, used_tool: BoolArray, owner: IntArray, coefficient: float
) -> FloatArray:
    """Return (K,) outcome + coefficient turn before the result, outcome after it, combined without a tool.

    Args:
        scores: advantages of the trajectories.
        before: (K,) tokens that the turn's advantage belongs to.
        used_tool: (N,) which trajectories have a tool result.
        owner: (K,) trajectory of each token.
        coefficient: weight of the turn's advantage.
    """
    split = scores.outcome[owner] + coefficient * scores.turn[owner] * before
    return np.where(used_tool[owner], split, scores.combined[owner])


def before_segment(mask: BoolArray, offsets: IntArray, segment: IntArray) -> BoolArray:
    """Return (K,) which tokens stand before a segment, segments being counted by changes of the loss mask.

    With a mask that begins outside the loss every segment is one too early, as in the published code.

    Args:
        mask: (K,) loss mask.
        offsets: (N+1,) tokens of each trajectory.
        segment: (N,) number of the segment from 0; 0 and below mean none, and nothing stands before it.

    Raises:
        RuleError: when a mask changes too seldom for its segment.
    """
    change = np.zeros(mask.size, dtype=np.int64)
    change[1:] = mask[1:] != mask[:-1]
    change[offsets[:-1]] = 0
    total = np.cumsum(change)
    lengths = np.diff(offsets)
    seen = total - np.repeat(total[offsets[:-1]], lengths)
    changes = total[offsets[1:] - 1] - total[offsets[:-1]]
    lacking = segment > changes + 1
    if lacking.any():
        which = int(np.argmax(lacking))
        message = (
            f"trajectory {which}: expected a loss mask with at least {int(segment[which]) - 1} changes, one at "
            f"each message, got {int(changes[which])}; mask tool output, or split by turns"
        )
        raise RuleError(message)
    return seen < np.repeat(segment, lengths)


MT_GRPO = Rule(
    name="mt_grpo",
    assign=mt_grpo,
    needs=frozenset(),
    parameters=(
        COEFFICIENT,
        Parameter(
            "estimate",
            "additive",
            ("additive", "cumulative"),
            "turn advantage added to the outcome's, or one advantage of turn reward + γ outcome",
        ),
        Parameter(
            "split",
            "turns",
            ("turns", "mask"),
            "where the first turn ends: by the batch's turns, or at the first change of the loss mask",
        ),
        GAMMA,
        STD,
        EPS,
        SINGLETON,
    ),
    presets={
        "multi-turn-rl-agent": {"estimate": "additive", "split": "mask", "std": "sample", "eps": 1e-4},
        "multi-turn-rl-agent-cumulative": {
            "estimate": "cumulative",
            "split": "mask",
            "gamma": 1.0,
            "std": "sample",
            "eps": 1e-4,
        },
    },
    card=Card(
        name="mt_grpo",
        title="Turn and outcome advantages up to the first tool result (MT-GRPO)",
        formula="A = A^O + c A^T on the first turn, A^O after it; A^T, A^O: (x − mean)/(std + ε) of first-turn "
        "rewards and of outcomes by group; one-turn trajectories: that of their sum",
        source="Multi-turn credit for tool use (MT-GRPO), arXiv 2505.11821",
        granularity="token",
        methodology="outcome",
        evidence="code",
        cost="none beyond the collected trajectories; needs a reward for the first turn",
        drops="nothing; a group with one trajectory only when singleton is undefined",
        zeroes="A^T where first-turn rewards are equal, as in sparse environments; A^O where outcomes are",
        edge="group of one: 0 (the published code gives NaN); one-turn trajectories count with turn reward 0; a "
        "mask that begins outside the loss moves the split of `mask` one segment ahead: A^T vanishes",
        caveats="Only the first turn has credit of its own, however many follow; turn_rewards extends the idea "
        "to every turn. The published code finds the split by counting changes of the loss mask; that a mask "
        "changes once a message is assumed, not checked. Which message holds the tool result is read from its "
        "text there; here it is the reply to the first turn. `cumulative` is a later commit's.",
        reference_code="SiliangZeng/Multi-Turn-RL-Agent 7dbdd08b verifiers/trainers/mt_grpo_env_trainer.py:172-208, "
        "grpo_env_trainer.py:261-275",
    ),
)
