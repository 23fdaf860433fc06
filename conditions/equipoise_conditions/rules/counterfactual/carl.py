"""CARL: only the actions that were forked, each against the mean of what its state led to."""

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit, Reason
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.tree import tree_of

__all__ = ["CARL", "carl"]


def carl(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    initial: int = 1,
    forks: int = 16,  # noqa: ARG001 - spent by whoever executes the forks
) -> Credit:
    """Return A(edge) = V(child) - V(parent) for actions whose state was sampled more than once.

    V of a node is the mean of its children's V, of a leaf the outcome; nothing is divided by a standard
    deviation. All other turns are DROPPED, copies are COPY. Source: CARL (arXiv 2512.04949).

    Args:
        trajectories: collected trajectories and their forks.
        context: not read; the forks come in the batch.
        initial: collected trajectories of each task that belong to its tree (1 is "Lite"); the others
            are DROPPED, with their forks.
        forks: allowance of forks for each task.
    """
    tree = tree_of(trajectories, initial)
    value = tree.values(trajectories)
    kept = tree.children[tree.source] > 1
    edges = tree.edges[kept]
    reason = np.where(trajectories.own, int(Reason.DROPPED), int(Reason.COPY))
    reason[edges] = int(Reason.DEFINED)
    advantage = np.full(trajectories.n_turns, np.nan)
    advantage[edges] = value[edges] - value[tree.source[kept]]
    return Credit(advantage, reason)


CARL = Rule(
    name="carl",
    assign=carl,
    needs=frozenset({Need.FORKS}),
    parameters=(
        Parameter("initial", 1, "int", "collected trajectories of each task in its tree", minimum=1),
        Parameter("forks", 16, "int", "forks executed for each task", minimum=1),
    ),
    card=Card(
        name="carl",
        title="Critical actions (CARL)",
        formula="A(s→s') = V(s') − V(s), V(s) = mean of the children's V, V(leaf) = R",
        source="CARL 2025, arXiv 2512.04949",
        granularity="turn",
        cost="the forks' own turns, each fork restoring a state",
        drops="every action whose state was sampled once, and all other collected trajectories",
        zeroes="forked actions that led where their siblings led",
        methodology="counterfactual",
        evidence="notes",
        extra_rollouts="forks for each task, each from its branch on",
        edge="a task without forks has no example when initial is 1; a tree that always ends alike gives 0 to every "
        "forked action",
        caveats='"72 % fewer updates" is a statement about the dose, not about the credit: its full version costs '
        "4.5 % fewer GPU-hours than GRPO, and only the one with a single initial trajectory is cheaper. Updating "
        "all actions, or forking at random, came within about a point or two of it in the paper. States where the "
        "policy is confidently wrong have low entropy and are never forked.",
        reference_code="none released; worked numbers from the formula",
    ),
)
