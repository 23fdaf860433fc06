"""The rules that exist: ours in one plain dictionary, others' through entry points."""

import difflib
from importlib.metadata import EntryPoint, entry_points

from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules import (
    agents,
    controls,
    counterfactual,
    implicit,
    judges,
    outcome,
    tokens,
    turns,
    values,
)

__all__ = ["GROUP", "RULES", "Card", "Parameter", "Rule", "find_rule", "rules"]

GROUP = "equipoise.rules"

RULES: dict[str, Rule] = {
    rule.name: rule
    for family in (
        outcome.RULES,
        values.RULES,
        tokens.RULES,
        turns.RULES,
        counterfactual.RULES,
        agents.RULES,
        judges.RULES,
        implicit.RULES,
        controls.RULES,
    )
    for rule in family
}


def rules() -> dict[str, Rule]:
    """Return our rules and those that installed packages add under the entry point group `GROUP`.

    Raises:
        RuleError: when an entry point cannot be loaded, is no Rule, or takes a name that is taken.
    """
    known = dict(RULES)
    for point in entry_points(group=GROUP):
        added = _loaded(point)
        if added.name in known:
            message = f"entry point {point.value}: the rule name '{added.name}' is taken; rename the rule"
            raise RuleError(message)
        known[added.name] = added
    return known


def find_rule(name: str) -> Rule:
    """Return the rule called `name`; RuleError with the nearest known name when there is none."""
    known = rules()
    if name not in known:
        nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.0)[0]
        message = f"unknown rule '{name}'; did you mean '{nearest}'? (known: {', '.join(known)})"
        raise RuleError(message)
    return known[name]


def _loaded(point: EntryPoint) -> Rule:
    try:
        added: object = point.load()
    except (ImportError, AttributeError) as error:
        message = f"entry point {point.name} = {point.value} ({GROUP}) cannot be loaded: {error}"
        raise RuleError(message) from error
    if not isinstance(added, Rule):
        message = f"entry point {point.name} = {point.value} ({GROUP}): expected a Rule, got {type(added)}"
        raise RuleError(message)
    return added
