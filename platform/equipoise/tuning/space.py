"""Which dimensions concern a condition, and the suite that a condition has once they are chosen."""

from collections.abc import Mapping

from equipoise.execution.conditions import condition_of
from equipoise_preregistration import Suite
from equipoise_preregistration.points import Point
from equipoise_preregistration.sections import Value
from equipoise_preregistration.tuning import TRAINING

__all__ = ["concerned", "rule_values", "settle"]


def concerned(suite: Suite, condition: str) -> tuple[str, ...]:
    """The dimensions of the space that a condition has, in the order of their names.

    Keys of `training` concern all conditions, parameters those whose rules have them.
    """
    _, parameters = condition_of(suite, condition)
    return tuple(name for name in suite.tuning.names if name.startswith(TRAINING) or name in parameters)


def rule_values(values: Mapping[str, Value]) -> Point:
    """The parameters of the rule among the values: what its credit depends on."""
    return {name: value for name, value in sorted(values.items()) if not name.startswith(TRAINING)}


def settle(suite: Suite, condition: str, values: Mapping[str, Value]) -> Suite:
    """The suite under which a condition is run with these values; all else stays what it is.

    Args:
        suite: as registered.
        condition: whose values they are.
        values: by dimension; those of rules go to this condition alone.
    """
    written = suite.model_dump(mode="json")
    (entry,) = (entry for entry in written["conditions"] if entry["id"] == condition)
    for name, value in values.items():
        if name.startswith(TRAINING):
            written["training"][name.removeprefix(TRAINING)] = value
        else:
            entry[name] = value
    return Suite.model_validate(written)
