"""What a name that no rule has may have meant: another spelling, another name of a rule, a method of the survey."""

import difflib
from collections.abc import Collection, Iterable

__all__ = ["ALIASES", "CUTOFF", "fold", "nearest", "suggestion"]

CUTOFF = 0.6
"""Least likeness of two names, as difflib has it, before one is offered for the other."""

ALIASES: dict[str, tuple[str, str | None]] = {"rloo": ("reinforce", None), "dr_grpo": ("grpo", "dr-grpo")}
"""Names under which the field knows a rule: the rule here and the preset that goes with it."""


def fold(name: str) -> str:
    """Return the letters and digits of a name, whatever their case: `Dr. GRPO` and `dr_grpo` are one name."""
    return "".join(sign for sign in name.casefold() if sign.isalnum())


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is like `name`, None where none is like it enough."""
    folded = {fold(word): word for word in known}
    found = difflib.get_close_matches(fold(name), folded, n=1, cutoff=CUTOFF)
    return folded[found[0]] if found else None


def suggestion(name: str, known: Collection[str]) -> str:
    """Return `; did you mean ...` for the name of a rule that there is not; empty where nothing is like it.

    Args:
        name: as it was written.
        known: names of the rules that there are.
    """
    meant = _meanings(known)
    found = nearest(name, meant)
    return "" if found is None else f"; {meant[found]}"


def _meanings(known: Collection[str]) -> dict[str, str]:
    """Return every name to look among and what to say of it; those of rules come before those of methods."""
    from equipoise_conditions.survey import METHODS  # a file that only a wrong name needs

    said: dict[str, str] = {}
    for method in METHODS:
        word = f"no rule stands for {method.name}: {method.status}"
        if method.rule is not None:
            word = _offer(method.rule, method.preset)
        if method.rule is None or method.rule in known:
            said |= {method.id: word, method.name: word}
    said |= {alias: _offer(rule, preset) for alias, (rule, preset) in ALIASES.items() if rule in known}
    folded = {fold(rule) for rule in known}
    # A rule's own name wins over a method spelled alike.
    said = {word: text for word, text in said.items() if fold(word) not in folded}
    return said | {rule: _offer(rule, None) for rule in known}


def _offer(rule: str, preset: str | None) -> str:
    return f"did you mean '{rule}'" + (f" with `preset: {preset}`?" if preset else "?")
