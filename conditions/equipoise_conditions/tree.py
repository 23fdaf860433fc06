"""The tree that forks make of a task's trajectories: an edge is a sampled action, a node a reached state."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.groups import codes
from equipoise_conditions.trajectories import Trajectories

__all__ = ["Tree", "tree_of"]


@dataclass(frozen=True, eq=False)
class Tree:
    """A forest with one root a task. Node e < T is the state reached by turn e; node T + g is root g.

    Attributes:
        edges: (E,) turns that are edges: own turns of the trajectories in the tree.
        source: (E,) node that each edge leaves.
        children: (T + G,) number of edges that leave each node.
        inside: (N,) whether a trajectory belongs to the tree.
    """

    edges: IntArray
    source: IntArray
    children: IntArray
    inside: BoolArray

    def values(self, trajectories: Trajectories) -> FloatArray:
        """Return (T + G,) V of each node: a leaf's outcome, or the mean of its children; NaN outside.

        Children are averaged, not leaves, so a branch that was forked more often weighs no more. Depths
        are folded one after the other, from the deepest.
        """
        value = np.full(self.children.size, np.nan)
        ends = trajectories.turn_offsets[1:][self.inside] - 1
        value[ends] = trajectories.outcome[self.inside]
        depth = trajectories.turn_index[self.edges]
        order = np.argsort(-depth, kind="stable")
        bounds = [*np.flatnonzero(np.diff(depth[order], prepend=-1)).tolist(), order.size]
        total = np.zeros(self.children.size)
        for begin, end in pairwise(bounds):
            edges, source = self.edges[order[begin:end]], self.source[order[begin:end]]
            np.add.at(total, source, value[edges])
            above = np.unique(source)
            value[above] = total[above] / self.children[above]
        return value


def tree_of(trajectories: Trajectories, initial: int) -> Tree:
    """Return the tree of the first `initial` collected trajectories of each task and their forks.

    A fork of parent p at branch b leaves p's path at turn b: its turn b is another child of that node.
    Forks may fork from forks. Equal actions sampled at a fork stay separate children, as resamples do.
    """
    inside = _inside(trajectories, initial)
    edges = np.flatnonzero(trajectories.own & inside[trajectories.trajectory_of_turn])
    task, n_tasks = codes(trajectories.task)
    trajectory = trajectories.trajectory_of_turn[edges]
    index = trajectories.turn_index[edges]
    owner = trajectory.copy()
    # The turn before an edge may be a copy: climb until the trajectory that sampled it.
    climbing = trajectories.branch[owner] > index - 1
    while (climbing := climbing & (trajectories.parent[owner] >= 0)).any():
        owner = np.where(climbing, trajectories.parent[owner], owner)
        climbing &= trajectories.branch[owner] > index - 1
    before = trajectories.turn_offsets[owner] + index - 1
    source = np.where(index == 0, trajectories.n_turns + task[trajectory], before)
    children = np.bincount(source, minlength=trajectories.n_turns + n_tasks)
    return Tree(edges, source, children, inside)


def _inside(trajectories: Trajectories, initial: int) -> BoolArray:
    collected = np.flatnonzero(trajectories.collected)
    by_task = collected[np.argsort(trajectories.task[collected], kind="stable")]
    task = trajectories.task[by_task]
    starts = np.flatnonzero(np.diff(task, prepend=task[:1] - 1))
    rank = np.arange(by_task.size) - np.repeat(starts, np.diff(starts, append=by_task.size))
    inside = np.zeros(trajectories.n, dtype=np.bool_)
    inside[by_task[rank < initial]] = True
    ancestor = np.arange(trajectories.n)
    while (trajectories.parent[ancestor] >= 0).any():
        parent = trajectories.parent[ancestor]
        ancestor = np.where(parent >= 0, parent, ancestor)
    return inside[ancestor]
