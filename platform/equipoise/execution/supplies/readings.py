"""What is learned by reading the batch again: with its outcome told, and with the eyes of the untaught policy."""

import numpy as np

from equipoise.execution.costs import scored
from equipoise.execution.supplies.case import Case
from equipoise.policies.scoring import mean_by_turn, score, with_preface
from equipoise.policies.tokens import WordTokens
from equipoise_conditions.arrays import FloatArray

__all__ = ["log_ratio", "outcome_scores", "verbalised"]

_PAIRS = (("success", "failure"), ("won", "lost"), ("yes", "no"))


def verbalised(words: WordTokens, *, won: bool) -> tuple[int, ...]:
    """How an outcome is told: the marker `<end>`, then a word.

    The word is of the first pair (success or failure, won or lost, yes or no) that the vocabulary holds whole. The
    vocabularies of both own environments hold none of them; there a second `<end>` stands for success and `<eot>`,
    which closes an action, for failure. The policy never read `<end>` while it was taught, so that what it makes
    of it is chance: only that the two differ is sure.
    """
    known = set(words.words)
    for pair in _PAIRS:
        if known.issuperset(pair):
            return (words.end, *words.encode(pair[0] if won else pair[1]))
    return (words.end, words.end if won else words.eot)


def outcome_scores(case: Case) -> FloatArray:
    """(T,) mean token log-probability of each action with the trajectory's outcome told before the transcript.

    An outcome above 0 is told as success, see `verbalised`. It stands where hindsight puts the final state: after
    the first token, and the actions are read at the temperature of acting.
    """
    outcome = case.batch.trajectories.outcome.tolist()
    told = with_preface(
        case.batch.transcripts, [verbalised(case.world.words, won=value > 0) for value in outcome]
    )
    model, temperature = case.sampler.model, case.sampler.temperature
    case.pay(scored(model, np.diff(told.offsets).tolist()))
    return mean_by_turn(told, score(model, told, temperature=temperature))


def log_ratio(case: Case) -> FloatArray:
    """(K,) log-probability of each token under the block's policy minus that under the same policy untaught.

    The reference has the weights that the policy had before its warm start, so the ratio is the implicit reward
    of the warm start (Rafailov et al. 2024, arXiv 2404.12358): it tells how much more the expert's demonstrations
    made each token likely, and knows no outcome of this batch. It is no reward model trained on preferences.
    """
    transcripts, temperature = case.batch.transcripts, case.sampler.temperature
    lengths = np.diff(transcripts.offsets).tolist()
    values = []
    for model in (case.sampler.model, case.world.fresh_model()):
        values.append(score(model, transcripts, temperature=temperature))
        case.pay(scored(model, lengths))
    return values[0] - values[1]
