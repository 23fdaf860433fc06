"""Scores with the end revealed: what the policy thinks of its actions when it is told how the episode ended."""

import numpy as np
import numpy.typing as npt

from equipoise.execution.batches import Batch, states_of
from equipoise.execution.costs import scored
from equipoise.execution.world import World
from equipoise.policies.rollout import Sampler
from equipoise.policies.scoring import mean_by_turn, score, with_preface
from equipoise_budget import Cost

__all__ = ["hindsight_scores"]


def hindsight_scores(world: World, sampler: Sampler, batch: Batch) -> tuple[npt.NDArray[np.float64], Cost]:
    """(T,) mean token log-probability of each action with the final observation put before the transcript.

    The final state is revealed as the marker `<end>` and the last observation (HCAPO, arXiv 2603.08754); the
    temperature is the one that the actions were sampled at.
    """
    _, after = states_of(world.env, batch.trajectories)
    words = world.words
    prefaces = [(words.end, *words.encode(state.observation)) for state in after]
    told = with_preface(batch.transcripts, prefaces)
    values = score(sampler.model, told, temperature=sampler.temperature)
    return mean_by_turn(told, values), scored(sampler.model, np.diff(told.offsets).tolist())
