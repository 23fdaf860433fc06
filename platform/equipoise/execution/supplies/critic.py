"""A critic without training: a ridge regression from the frozen policy's hidden states to the outcome.

The value head of actor-critic methods for language models is a linear map of the last hidden state; here it is
fitted in closed form on a policy that stays as it is, which makes it a linear probe (Alain and Bengio 2016, arXiv
1610.01644). It is cross-fitted over tasks (Chernozhukov et al. 2018, arXiv 1608.00060): the values of a task come from
a fit that never saw that task, so that no turn's value knows its own outcome. The target is the outcome, undiscounted.
"""

from dataclasses import dataclass

import numpy as np
import torch

from equipoise.errors import ExecutionError
from equipoise.execution.batches import Batch, states_of
from equipoise.execution.costs import scored
from equipoise.execution.world import World
from equipoise.policies.rollout import Sampler
from equipoise.policies.rows import ranges
from equipoise_budget import Cost
from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.trajectories import Trajectories

__all__ = ["FOLDS", "RIDGE", "Critic", "Reading", "fit_critic", "read_states"]

FOLDS = 8
"""Most folds of tasks; with fewer tasks each is one."""

RIDGE = 1e-3
"""Penalty on the squared weights, as a share of the features' mean sum of squares in a fit. Of 0.001, 0.01, 0.1, 0.3
and 1 the one with the least squared error on a block of each own environment, added up; it was chosen once."""

_BATCH = 64


@dataclass(frozen=True, eq=False)
class Reading:
    """What the policy has in mind: last hidden states, after the final norm.

    Attributes:
        token: (K, D) before each action token: of a turn's first token, the state before the turn.
        end: (N, D) after each trajectory's last turn, its final observation and one more request to act read too.
    """

    token: FloatArray
    end: FloatArray


@dataclass(frozen=True, eq=False)
class Critic:
    """Predicted outcomes, each from a fit without the trajectory's task.

    Attributes:
        before: (U,) before each unit, turns or tokens.
        end: (N,) after each trajectory's last one.
    """

    before: FloatArray
    end: FloatArray

    def after(self, owner: IntArray) -> FloatArray:
        """(U,) after each unit: before the next one of the same trajectory, after the last one the end's.

        Args:
            owner: (U,) trajectory of each unit, ascending.
        """
        following = np.append(self.before[1:], np.nan)
        last = np.append(owner[1:] != owner[:-1], True)
        return np.where(last, self.end[owner], following)


def read_states(world: World, sampler: Sampler, batch: Batch) -> tuple[Reading, Cost]:
    """Read every transcript once and keep what stood before each action token and after the end."""
    transcripts = batch.transcripts
    _, after = states_of(world.env, batch.trajectories)
    ends = [(*world.words.encode(state.observation), world.words.act) for state in after]
    texts = [
        np.concatenate((transcripts.tokens[begin:stop], end))
        for begin, stop, end in zip(transcripts.offsets[:-1], transcripts.offsets[1:], ends, strict=True)
    ]
    spans = transcripts.end - transcripts.start
    position = ranges(transcripts.start, spans) - 1
    owner = np.repeat(transcripts.trajectory, spans)
    width = sampler.model.config.hidden_size
    token, final = np.empty((len(position), width)), np.empty((len(texts), width))
    with torch.inference_mode():
        for begin in range(0, len(texts), _BATCH):
            hidden = _hidden(sampler, texts[begin : begin + _BATCH])
            inside = (owner >= begin) & (owner < begin + _BATCH)
            token[inside] = hidden[owner[inside] - begin, position[inside]]
            for index, text in enumerate(texts[begin : begin + _BATCH]):
                final[begin + index] = hidden[index, len(text) - 1]
    return Reading(token, final), scored(sampler.model, [len(text) for text in texts])


def fit_critic(
    trajectories: Trajectories, feature: FloatArray, end: FloatArray, owner: IntArray
) -> tuple[Critic, Cost]:
    """Fit on the collected trajectories, predict for all.

    Args:
        trajectories: the batch; copies and forks are predicted and never fitted on.
        feature: (U, D) before each unit.
        end: (N, D) after each trajectory.
        owner: (U,) trajectory of each unit.

    Returns:
        The critic, and what fitting cost: each row counts once for every fit that saw it.

    Raises:
        ExecutionError: with a single task, which leaves nothing to fit its values on.
    """
    tasks, of = np.unique(trajectories.task, return_inverse=True)
    if len(tasks) < 2:
        message = (
            f"a critic is fitted on other tasks than it values: expected at least 2 tasks, got {len(tasks)}; "
            "raise environment.tasks.pool"
        )
        raise ExecutionError(message)
    folds = min(FOLDS, len(tasks))
    rows = np.concatenate((owner, np.arange(trajectories.n)))
    inputs = np.concatenate((feature, end))
    inputs = np.concatenate((inputs, np.ones((len(rows), 1))), axis=1)
    value, seen = _cross_fitted(
        inputs, trajectories.outcome[rows], (of % folds)[rows], folds, trajectories.collected[rows]
    )
    width, units = inputs.shape[1], len(owner)
    flops = 2.0 * len(rows) * width * (width + 1) + folds * 2.0 / 3.0 * width**3
    return Critic(value[:units], value[units:]), Cost(critic_tokens=seen, flops=flops)


def _cross_fitted(
    inputs: FloatArray, target: FloatArray, fold: IntArray, folds: int, use: BoolArray
) -> tuple[FloatArray, int]:
    """(R,) predictions of each row from the other folds' rows, within their targets; and rows fitted in all."""
    groups = [np.flatnonzero(use & (fold == one)) for one in range(folds)]
    grams = [inputs[rows].T @ inputs[rows] for rows in groups]
    moments = [inputs[rows].T @ target[rows] for rows in groups]
    value, seen = np.empty(len(target)), 0
    for one in range(folds):
        # Summed without the fold, not subtracted from the sum: not even rounding may know it.
        others = [other for other in range(folds) if other != one]
        gram: FloatArray = np.sum([grams[other] for other in others], axis=0)
        weights = _ridge(gram, np.sum([moments[other] for other in others], axis=0))
        learned = target[np.concatenate([groups[other] for other in others])]
        mine = fold == one
        value[mine] = np.clip(inputs[mine] @ weights, learned.min(), learned.max())
        seen += len(learned)
    return value, seen


def _ridge(gram: FloatArray, moment: FloatArray) -> FloatArray:
    """Weights of the penalised least squares; the last one, of the constant, is free."""
    size = np.trace(gram[:-1, :-1]) / max(1, len(gram) - 1)
    penalty = np.full(len(gram), RIDGE * size)
    penalty[-1] = 0.0
    return np.asarray(np.linalg.solve(gram + np.diag(penalty), moment), dtype=np.float64)


def _hidden(sampler: Sampler, texts: list[IntArray]) -> FloatArray:
    """(B, L, D) last hidden states of texts padded on the right."""
    width = max(len(text) for text in texts)
    ids = np.zeros((len(texts), width), dtype=np.int64)
    mask = np.zeros((len(texts), width), dtype=np.int64)
    for index, text in enumerate(texts):
        ids[index, : len(text)] = text
        mask[index, : len(text)] = 1
    out = sampler.model.model(
        input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask), use_cache=False
    )
    hidden: FloatArray = out.last_hidden_state.double().numpy()
    return hidden
