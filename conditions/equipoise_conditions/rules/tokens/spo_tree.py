"""SPO on a tree: each branch of forked trajectories against the branches beside it."""

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason, credit_where
from equipoise_conditions.groups import codes, standardised
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import EPS, STD
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.tree import Tree, tree_of

__all__ = ["SPO_TREE", "best_of", "spo_tree"]


def spo_tree(  # noqa: PLR0913 - the parameters of the rule
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - the forks come in the batch
    *,
    initial: int = 1,
    forks: int = 16,  # noqa: ARG001 - spent by whoever executes the forks
    segments: str = "forks",
    advantage: str = "difference",
    drop_zero_edges: bool = True,
    std: str = "sample",
    eps: float = 1e-6,
) -> Credit:
    """Return V(child) − V(parent) for the edges of the tree that forks make, or its z-score among siblings.

    V of a node is the mean of its children's V (not of its leaves), of a leaf the outcome. Source: Guo et
    al. 2025 (arXiv 2505.23564) and its code.

    Args:
        trajectories: collected trajectories and their forks.
        context: not read.
        initial: collected trajectories of each task in its tree; the others are DROPPED.
        forks: allowance of forks for each task.
        segments: "forks" makes one edge of all turns between two forks; "turns" makes each turn an edge, as
            in a tree that branches everywhere, so that a turn without siblings gets 0.
        advantage: "difference" or "normalised" by the deviation of the siblings' values.
        drop_zero_edges: DROP edges whose advantage is exactly zero; negative ones stay.
        std: deviation for "normalised".
        eps: added to it.
    """
    tree = tree_of(trajectories, initial)
    head = (
        (tree.children[tree.source] > 1) | (trajectories.turn_index[tree.edges] == 0) | (segments == "turns")
    )
    value = tree.values(trajectories)
    difference = _among_siblings(tree, value, head, std=std if advantage == "normalised" else "none", eps=eps)
    starts = (trajectories.turn_index == 0) | (
        trajectories.turn_index == trajectories.branch[trajectories.trajectory_of_turn]
    )
    reason = np.where(trajectories.own, int(Reason.DROPPED), int(Reason.COPY))
    credit = np.zeros(trajectories.n_turns)
    turn = tree.edges[head]
    starts[turn] = True
    credit[turn] = difference
    reason[turn[(difference != 0) | (not drop_zero_edges)]] = int(Reason.DEFINED)
    first = np.flatnonzero(starts)
    offsets = np.append(trajectories.token_offsets[first], trajectories.n_tokens)
    return credit_where(credit[first], reason[first], "segment", offsets=offsets)


def _among_siblings(tree: Tree, value: FloatArray, head: BoolArray, *, std: str, eps: float) -> FloatArray:
    # A parent's value is the mean of its children's, so both forms are statistics of siblings. Between two
    # forks the value does not change: that of the first turn's node is that of the segment's end.
    parent, n_parents = codes(tree.source[head])
    return standardised(value[tree.edges[head]], parent, n_parents, std=std, eps=eps)


def best_of(value: FloatArray, n: int = 4) -> FloatArray:
    """Return 1 − (1 − v)^n: the chance that the best of n tries succeeds, for values in [0, 1].

    The code of Guo et al. logs the gain of this quantity beside the advantage; it is no credit here.
    """
    return 1.0 - (1.0 - value) ** n


SPO_TREE = Rule(
    name="spo_tree",
    assign=spo_tree,
    needs=frozenset({Need.FORKS}),
    parameters=(
        Parameter("initial", 1, "int", "collected trajectories of each task in its tree", minimum=1),
        Parameter("forks", 16, "int", "forks executed for each task", minimum=1),
        Parameter(
            "segments", "forks", ("forks", "turns"), "what an edge is: the turns between forks, or one turn"
        ),
        Parameter(
            "advantage",
            "difference",
            ("difference", "normalised"),
            "child minus parent, or divided by the deviation of the siblings",
        ),
        Parameter("drop_zero_edges", True, "bool", "edges with advantage 0 leave training"),  # noqa: FBT003
        STD,
        EPS,
    ),
    presets={
        "spo_rloo": {"segments": "turns", "advantage": "difference"},
        "spo_grpo": {"segments": "turns", "advantage": "normalised", "std": "population", "eps": 1e-8},
    },
    card=Card(
        name="spo_tree",
        title="Segment policy optimisation, tree (SPO-tree)",
        formula="A(s→s') = V(s') − V(s), or divided by (std of the siblings' V + ε); V(s) = mean of the children's V",
        source="Guo et al. 2025, arXiv 2505.23564",
        granularity="segment",
        cost="the forks' own turns, each fork restoring a state; all of them are training data",
        drops="edges whose advantage is exactly 0, and collected trajectories beyond the initial ones",
        zeroes="nothing, unless drop_zero_edges is off: then edges that led where their siblings led",
        reference_code="AIFrameResearch/SPO b9fc6a26 src/treetune/episode_generators/tree_episode_generator.py:112-179",
        methodology="monte-carlo",
        evidence="code",
        extra_rollouts="forks per task (partial)",
        edge="an edge without siblings gets 0 and is dropped; siblings with equal values get exactly 0, free "
        "of rounding",
        caveats="what the code calls rloo is child minus a mean that includes the child; its filter named "
        "only_adv_greater_than_zero keeps negative edges and drops zeros (here: drop_zero_edges), and tests "
        "the sum with a best-of-4 term, which is 0 exactly where the advantage is for values in [0, 1]; "
        "edges that run from fork to fork (segments) are our form for trees that do not branch everywhere; "
        "its fixed trees of token segments and its replay of up to eight iterations are not part of the rule",
    ),
)
