"""Uniform credit: every call of a trajectory gets the same, its return or plain 1."""

import numpy as np

from equipoise_conditions.context import Context
from equipoise_conditions.credit import Credit, credit_where, on_episodes
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.common import scores_of
from equipoise_conditions.trajectories import Trajectories

__all__ = ["UNIFORM", "uniform"]


def uniform(
    trajectories: Trajectories,
    context: Context,  # noqa: ARG001 - every rule has this signature
    *,
    give: str = "one",
) -> Credit:
    """Return A_i = 1, or A_i = R_i, for every collected trajectory, compared with nothing.

    Ones reinforce whatever was sampled: the content-free end of the scale. Returns broadcast to every call
    are the credit module that Luo et al. 2025 (arXiv 2508.03680) describe.

    Args:
        trajectories: the batch; forked trajectories are no examples.
        context: not read.
        give: "one", the "outcome" of the trajectory, or the sum of the rewards of its "tokens".
    """
    value = np.ones(trajectories.n) if give == "one" else scores_of(trajectories, give)
    return credit_where(value, on_episodes(trajectories), "episode")


UNIFORM = Rule(
    name="uniform",
    assign=uniform,
    needs=frozenset(),
    parameters=(
        Parameter(
            "give",
            "one",
            ("one", "outcome", "tokens"),
            "the credit of every call: 1, the trajectory's outcome, or the sum of all its token rewards",
        ),
    ),
    presets={"agent-lightning": {"give": "outcome"}},
    card=Card(
        name="uniform",
        title="Equal credit for every call",
        formula="A_i = 1, or A_i = R_i, equal for all turns of trajectory i",
        source="control of this platform; the return for every call: Luo et al. 2025, arXiv 2508.03680",
        granularity="episode",
        methodology="outcome",
        evidence="background",
        cost="none beyond the collected trajectories",
        drops="nothing",
        zeroes="nothing when ones are given; trajectories with return 0 otherwise",
        reference_code="none used; the broadcast of a return is described in words only",
        edge="groups do not matter; masked tokens have no credit; a fork has none either",
        caveats=(
            "Without a baseline nothing is pushed down unless returns are negative. Ones carry no information "
            "about the outcome: what they gain over no training is what imitation of one's own samples gains. "
            "In the published framework a rule of the trainer, such as GRPO, may still normalise the returns."
        ),
    ),
)
