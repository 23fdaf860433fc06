"""Planning phrases: what the successful trajectories of a block say in common."""

import numpy as np

from equipoise.execution.supplies.case import Case
from equipoise.policies.rows import ranges
from equipoise_conditions.arrays import BoolArray, IntArray
from equipoise_conditions.rules.tokens.planning import document_frequency, planning_mask

__all__ = ["planning_tokens"]

_SHORTEST, _LONGEST = 3, 5
_MOST = 0.5


def planning_tokens(case: Case) -> BoolArray:
    """(K,) whether a token stands in a phrase of 3 to 5 words that most successful trajectories act by.

    HICRA (arXiv 2509.03646) mines such phrases from the reasoning of successful answers, clustered by meaning, and
    calls them strategic. A policy that writes commands only has no reasoning to mine: what is found here are the
    commands, or the beginnings and ends of them, that more than half of the block's successful collected
    trajectories share. There may be none: commands of two words hold no phrase, and nothing is mined from fewer
    than two successes. No phrase reaches over the end of a command, and reading costs nothing beyond the batch.
    """
    token = _action_tokens(case)
    trajectories = case.batch.trajectories
    # What ends a command is another sign each time, so that no phrase over it is in two trajectories.
    eot = np.flatnonzero(token == case.world.words.eot)
    token[eot] = -1 - eot
    ends = trajectories.token_offsets_of_trajectory
    won = np.flatnonzero((trajectories.outcome > 0) & trajectories.collected)
    documents = [token[ends[index] : ends[index + 1]].tolist() for index in won]
    held = document_frequency(documents, shortest=_SHORTEST, longest=_LONGEST) if len(won) > 1 else {}
    phrases = [gram for gram, count in held.items() if count > _MOST * len(won) and isinstance(gram, tuple)]
    return planning_mask(token, trajectories.token_offsets, sorted(phrases))


def _action_tokens(case: Case) -> IntArray:
    transcripts = case.batch.transcripts
    counts = transcripts.end - transcripts.start
    begins = transcripts.offsets[transcripts.trajectory] + transcripts.start
    return transcripts.tokens[ranges(begins, counts)]
