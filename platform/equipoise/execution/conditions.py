"""What a suite's conditions are made of, without loading anything that trains."""

from equipoise_conditions.context import Need
from equipoise_conditions.registry import find_rule
from equipoise_conditions.rule import Rule
from equipoise_conditions.twins import Twin
from equipoise_preregistration import Suite

__all__ = ["condition_of", "holds_forks", "twin_of"]


def condition_of(suite: Suite, name: str) -> tuple[Rule, dict[str, object]]:
    """The rule of a condition and its parameters with defaults filled in."""
    condition = next(c for c in suite.conditions if c.id == name)
    rule = find_rule(condition.rule)
    return rule, rule.validate(condition.parameters)


def holds_forks(suite: Suite, name: str) -> bool:
    """Whether a condition has a batch of its own, beside the block's."""
    rule, params = condition_of(suite, name)
    return Need.FORKS in rule.needed(params)


def twin_of(suite: Suite, name: str) -> Twin:
    """Which places may exchange their credit in the twins of a condition."""
    condition = next(c for c in suite.conditions if c.id == name)
    return Twin(condition.twin or suite.arms.twin)
