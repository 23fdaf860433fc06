"""The rules that exist: ours in one plain dictionary, others' through entry points."""

from importlib.metadata import EntryPoint, entry_points

from equipoise_conditions.errors import FaultyPlugIn, RuleError
from equipoise_conditions.names import suggestion
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
from equipoise_conditions.rules.judges.router import router_over
from equipoise_conditions.trial import trial

__all__ = ["GROUP", "RULES", "Card", "Parameter", "Rule", "find_rule", "plug_ins", "rules"]

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
    """Return our rules and those that installed packages add under the entry point group `GROUP`."""
    return RULES | plug_ins()[0]


def plug_ins() -> tuple[dict[str, Rule], dict[str, str]]:
    """Return the rules that installed packages add, and why others that they offer cannot be used.

    A faulty plug-in spoils only the suites that name it: its fault is told where it is asked for.
    """
    good: dict[str, Rule] = {}
    faulty: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        if point.name in RULES or point.name in good:
            package = point.dist.name if point.dist else "the package that offers it"
            faulty[point.name] = (
                f"{_origin(point)}: the rule name '{point.name}' is taken; rename the rule, or uninstall {package}"
            )
            continue
        try:
            good[point.name] = _loaded(point)
        except RuleError as fault:
            faulty[point.name] = str(fault)
    return good, faulty


def find_rule(name: str) -> Rule:
    """Return the rule called `name`.

    Raises:
        RuleError: with the nearest known name, if any is near, when there is none.
        FaultyPlugIn: with what is wrong with the plug-in of this name.
    """
    if name in RULES:
        return RULES[name]
    good, faulty = plug_ins()
    if name in faulty:
        raise FaultyPlugIn(faulty[name])
    if name not in good:
        known = [*RULES, *good]
        message = f"unknown rule '{name}'{suggestion(name, known)} (known: {', '.join(known)})"
        raise RuleError(message)
    return good[name]


RULES["router"] = router_over(find_rule)


def _loaded(point: EntryPoint) -> Rule:
    try:
        added: object = point.load()
    except Exception as error:  # whatever a stranger's module does when it is imported
        message = f"{_origin(point)} cannot be loaded: {type(error).__name__}: {error}"
        raise RuleError(message) from error
    if not isinstance(added, Rule):
        message = f"{_origin(point)}: expected a Rule, got {type(added).__name__}"
        raise RuleError(message)
    if not point.name == added.name == added.card.name:
        names = f"'{point.name}', '{added.name}' and '{added.card.name}'"
        message = f"{_origin(point)}: expected one name for entry point, rule and card, got {names}"
        raise RuleError(message)
    try:
        trial(added)
    except Exception as error:
        message = f"{_origin(point)}: the rule fails on a small batch: {type(error).__name__}: {error}"
        raise RuleError(message) from error
    return added


def _origin(point: EntryPoint) -> str:
    package = f" of {point.dist.name} {point.dist.version}" if point.dist else ""
    return f"entry point {point.name} = {point.value}{package} ({GROUP})"
