"""Which observations are one anchor state: by content, or by likeness of their texts."""

from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

import numpy as np

from equipoise_conditions.arrays import IntArray
from equipoise_conditions.errors import RuleError

__all__ = ["similar_groups", "state_keys"]


def state_keys(observations: Sequence[object]) -> IntArray:
    """Return (T,) keys for the column `state`, equal where observations are equal, numbered as they appear.

    Arrays are compared by their entries in order: shape and type do not count. 1, 1.0 and True are equal.

    Args:
        observations: T observations: numbers, texts, arrays, or sequences and mappings of these.

    Raises:
        RuleError: naming the first observation that cannot be compared by content.
    """
    seen: dict[Hashable, int] = {}
    keys = [seen.setdefault(_content(value, place), len(seen)) for place, value in enumerate(observations)]
    return np.array(keys, dtype=np.int64)


def _content(value: object, place: int) -> Hashable:
    if isinstance(value, np.ndarray):
        return tuple(value.ravel().tolist())
    if isinstance(value, list | tuple):
        return tuple(_content(item, place) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((str(key), _content(item, place)) for key, item in value.items()))
    if isinstance(value, np.generic | int | float | str):
        return value
    message = (
        f"observation {place}: expected numbers, texts, arrays or sequences of these, got {type(value)}; "
        "convert it where the batch is built"
    )
    raise RuleError(message)


def similar_groups(
    texts: Sequence[str], threshold: float, group: Sequence[int] | IntArray | None = None
) -> IntArray:
    """Return (T,) keys for the column `state`, equal for texts that are alike, numbered as they appear.

    Greedy, as GiGPO's authors group: a text joins the first cluster of its prompt group whose FIRST member
    is at least `threshold` like it (Ratcliff and Obershelp's ratio, difflib), else it opens a cluster.
    Likeness is not transitive, so the clusters depend on the order of the texts.

    A rule sees keys, not texts: whoever builds a batch applies this and puts the result under `state`.

    Args:
        texts: T observations.
        threshold: least likeness, strictly between 0 and 1; for equal texts use `state_keys`.
        group: (T,) prompt group of each text; one group by default. Clusters never cross groups.

    Raises:
        RuleError: on a threshold that is not inside (0, 1), on an observation that is no text, or when
            groups and texts differ in number.
    """
    if not 0.0 < threshold < 1.0:
        message = (
            f"threshold: expected a number inside (0, 1), got {threshold}; for equal texts use state_keys"
        )
        raise RuleError(message)
    groups = [0] * len(texts) if group is None else [int(key) for key in group]
    if len(groups) != len(texts):
        message = f"group: expected one entry for each of {len(texts)} texts, got {len(groups)}"
        raise RuleError(message)
    clusters: dict[int, list[tuple[int, SequenceMatcher[str]]]] = {}
    known: dict[tuple[int, str], int] = {}
    keys = np.empty(len(texts), dtype=np.int64)
    opened = 0
    for place, (text, key) in enumerate(zip(texts, groups, strict=True)):
        if not isinstance(text, str):
            message = f"texts: expected a text at place {place}, got {type(text)}; only texts can be alike"
            raise RuleError(message)
        if (key, text) not in known:  # a text seen before meets the same first members in the same order
            mine = clusters.setdefault(key, [])
            found = next((code for code, first in mine if _alike(first, text, threshold)), None)
            if found is None:
                found = opened
                mine.append((opened, SequenceMatcher(None, "", text)))
                opened += 1
            known[key, text] = found
        keys[place] = known[key, text]
    return keys


def _alike(first: SequenceMatcher[str], text: str, threshold: float) -> bool:
    first.set_seq1(text)
    # Both quick ratios are bounds from above: most pairs are settled without comparing texts.
    quick = first.real_quick_ratio() >= threshold and first.quick_ratio() >= threshold
    return quick and first.ratio() >= threshold
