"""Where to fork next: the states whose actions are least settled for the samples they already have."""

from dataclasses import dataclass

import numpy as np

from equipoise_conditions.arrays import FloatArray, IntArray
from equipoise_conditions.errors import RuleError
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.tree import Tree, tree_of

__all__ = ["Forks", "densities", "select_forks"]


@dataclass(frozen=True, eq=False)
class Forks:
    """Forks to execute, by task and then by urgency.

    Attributes:
        parent: (F,) trajectory to restore.
        branch: (F,) turn of it whose action is sampled anew.
    """

    parent: IntArray
    branch: IntArray


def densities(trajectories: Trajectories, tree: Tree) -> FloatArray:
    """Return n(s)/H(s) for each node of a tree, infinite where there is nothing to sample.

    n(s) counts the actions sampled at s; H(s) is their mean of -(1/n_tokens) sum log pi(token).
    """
    of_turn = -np.add.reduceat(trajectories.logprob, trajectories.token_offsets[:-1])
    surprise = of_turn / trajectories.tokens_of_turn
    total = np.bincount(tree.source, surprise[tree.edges], tree.children.size)
    forced = np.bincount(tree.source, trajectories.n_actions[tree.edges] < 2, tree.children.size) > 0
    # H is total / n, so n / H is n squared / total.
    square = tree.children.astype(np.float64) ** 2
    usable = (total > 0) & ~forced
    density = np.full(square.size, np.inf)
    density[usable] = square[usable] / total[usable]
    return density


def select_forks(trajectories: Trajectories, n: int, *, initial: int = 1) -> Forks:
    """Return up to `n` forks for each task: one wave of CARL's selection.

    One fork at a time, CARL takes the state with the lowest density n(s)/H(s). A wave takes several of a
    task at once, greedily: each chosen fork counts in n(s) at once, and its action, not sampled yet,
    leaves H(s) as it is; so one state may be chosen twice. With `n=1` a wave is the paper's selection.
    Ties go to the earliest turn of the batch. A task whose actions are all forced gets no fork.

    Source: CARL (arXiv 2512.04949).

    Args:
        trajectories: collected trajectories and the forks executed so far.
        n: forks for each task in this wave.
        initial: collected trajectories of each task that belong to the tree.

    Raises:
        RuleError: when `n` or `initial` is below 1.
    """
    if n < 1 or initial < 1:
        message = f"forks: expected n and initial of at least 1, got {n} and {initial}"
        raise RuleError(message)
    tree = tree_of(trajectories, initial)
    node, first = np.unique(tree.source, return_index=True)
    density = densities(trajectories, tree)[node]
    node, first, density = node[density < np.inf], first[density < np.inf], density[density < np.inf]
    count = tree.children[node]
    # Chosen k times before, a node has count + k samples at the same H.
    wave = density[:, None] * ((count[:, None] + np.arange(n)) / count[:, None])
    turn = np.repeat(tree.edges[first], n)
    task = trajectories.task_of_turn[turn]
    order = np.lexsort((turn, wave.ravel(), task))
    sorted_task = task[order]
    starts = np.flatnonzero(np.diff(sorted_task, prepend=sorted_task[:1] - 1))
    rank = np.arange(order.size) - np.repeat(starts, np.diff(starts, append=order.size))
    chosen = turn[order[rank < n]]
    return Forks(trajectories.trajectory_of_turn[chosen], trajectories.turn_index[chosen])
