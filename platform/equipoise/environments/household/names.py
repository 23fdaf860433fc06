"""How things are called: the identifiers of a scene become "drawer 2", numbered as ALFWorld numbers them."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

__all__ = ["mangle", "numbered_names"]

_SIGNS = (("|", "_bar_"), ("-", "_minus_"), ("+", "_plus_"), (".", "_dot_"), (",", "_comma_"))


@lru_cache(maxsize=8192)
def mangle(identifier: str) -> str:
    """An identifier as the planner behind ALFWorld knows it, which decides every order.

    Source: alfworld 0.4.2, `gen/game_states/planned_game_state.py`; Fast Downward lowers the case.
    """
    for sign, word in _SIGNS:
        identifier = identifier.replace(sign, word)
    return identifier.lower()


def _class_name(mangled: str) -> str:
    name = mangled.split("_bar_", 1)[0]
    return name + "basin" if "basin" in mangled else name


def numbered_names(mangled: Iterable[str]) -> dict[str, str]:
    """Names by mangled identifier: class and number, the last in order being number 1.

    Identifiers without a bar (agents, types) keep their own name.
    Source: alfworld 0.4.2, `agents/utils/misc.py`, class Demangler.
    """
    ordered = sorted(set(mangled))
    left = Counter(_class_name(one) for one in ordered if "_bar_" in one)
    names = {}
    for one in ordered:
        if "_bar_" not in one:
            names[one] = one
            continue
        name = _class_name(one)
        names[one] = f"{name} {left[name]}"
        left[name] -= 1
    return names
