"""Which parameters say how to measure: a rule's own, or those of the rule that it hands its turns to."""

from collections.abc import Mapping

from equipoise_conditions.registry import find_rule

__all__ = ["settings_of"]


def settings_of(params: Mapping[str, object]) -> Mapping[str, object]:
    """The parameters of a rule as suppliers read them.

    A rule with the parameters `over` and `over_parameters` needs what the rule `over` needs, so that rule's
    parameters say how much of it to measure.

    Args:
        params: of a rule, with its defaults filled in.
    """
    inner = params.get("over_parameters")
    if "over" not in params or not isinstance(inner, Mapping):
        return params
    return settings_of(find_rule(str(params["over"])).validate(inner))
