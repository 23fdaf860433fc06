"""What a batch of trajectories holds where its maker did not say."""

from collections.abc import Mapping

import numpy as np

from equipoise_conditions.arrays import Column, FloatArray

__all__ = ["filled"]


def filled(name: str, given: Mapping[str, object]) -> Column:
    """Return the default of an optional column, read-only.

    Args:
        name: the column.
        given: the columns that were read before it; wrong ones are reported by the batch, not here.
    """
    turns, tokens = np.size(given["state"]), np.size(given["logprob"])  # type: ignore[arg-type]
    value: Column
    if name == "group":
        value = np.array(given["task"])
    elif name == "agent":
        value = np.zeros(turns, dtype=np.int64)
    elif name == "mask":
        value = np.ones(tokens, dtype=np.bool_)
    elif name == "token":
        value = np.full(tokens, -1, dtype=np.int64)
    elif name == "token_reward":
        value = _on_last_tokens(given, tokens)
    else:
        value = np.full(tokens, np.nan)
    value.setflags(write=False)
    return value


def _on_last_tokens(given: Mapping[str, object], tokens: int) -> FloatArray:
    value = np.zeros(tokens)
    last = np.asarray(given["token_offsets"])[1:] - 1
    reward = np.asarray(given["reward"])
    if last.shape == reward.shape and last.size and int(last.min()) >= 0 and int(last.max()) < tokens:
        value[last] = reward
    return value
