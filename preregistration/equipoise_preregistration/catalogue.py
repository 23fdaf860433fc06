"""The rules a suite may name, and what each makes of its parameters."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from equipoise_conditions.errors import CrossedParameters, FaultyPlugIn, RuleError
from equipoise_conditions.names import suggestion
from equipoise_preregistration.experiment import Condition
from equipoise_preregistration.faults import Problem, nearest

__all__ = ["Catalogue", "condition_problems", "expand_condition", "rule_catalogue"]

Catalogue = Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]
"""Name of each rule to what fills in its parameters' defaults, or raises RuleError."""


def rule_catalogue() -> Catalogue:
    """The registered rules, those of other distributions included; a faulty one tells its fault when asked."""
    from equipoise_conditions.registry import RULES, plug_ins

    good, faulty = plug_ins()
    known: dict[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]] = {
        name: rule.validate for name, rule in (RULES | good).items()
    }
    return known | {name: partial(_refuse, fault) for name, fault in faulty.items()}


def _refuse(fault: str, _: Mapping[str, Any]) -> Mapping[str, Any]:
    raise FaultyPlugIn(fault)


def condition_problems(entries: object, catalogue: Catalogue) -> Iterator[Problem]:
    """Unknown rules, and parameters that their rules refuse.

    Args:
        entries: What a file has under `conditions`, well-formed or not.
        catalogue: The rules there are.
    """
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        rule = entry.get("rule") if isinstance(entry, dict) else None
        if not isinstance(rule, str):
            continue
        if rule in catalogue and (fault := _plug_in_fault(rule, catalogue)):
            yield Problem(("conditions", index, "rule"), fault)
        elif rule in catalogue:
            yield from _parameter_problems(index, rule, _parameters(entry), catalogue)
        else:
            message = f"expected one of the rules {', '.join(sorted(catalogue))}, got {rule!r}"
            yield Problem(("conditions", index, "rule"), message + suggestion(rule, catalogue))


def _plug_in_fault(rule: str, catalogue: Catalogue) -> str | None:
    try:
        catalogue[rule]({})
    except FaultyPlugIn as fault:
        return str(fault)
    except RuleError:
        return None  # a parameter without a default: the check of parameters says so in its place
    return None


def _parameters(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key not in Condition.model_fields}


def _parameter_problems(
    index: int, rule: str, parameters: dict[str, Any], catalogue: Catalogue
) -> Iterator[Problem]:
    """Asks about one parameter at a time, so that each fault is found and knows its place; then about all."""
    validate, faulty = catalogue[rule], set()
    for name, value in parameters.items():
        try:
            validate({name: value})
        except CrossedParameters:
            continue  # with the defaults of the others, which the file may not leave in place
        except RuleError as error:
            faulty.add(name)
            yield _parameter_problem(index, name, rule, str(error))
    if "preset" in faulty:
        return  # what the others are is not known
    try:
        validate({name: value for name, value in parameters.items() if name not in faulty})
    except CrossedParameters as error:
        yield from _crossed_problems(index, error, parameters, faulty)
    except RuleError as error:
        yield Problem(("conditions", index), str(error))


def _crossed_problems(
    index: int, error: CrossedParameters, parameters: Mapping[str, Any], faulty: set[str]
) -> Iterator[Problem]:
    """Places each fault at the parameter that it begins with, at another that it names, or at the condition."""
    for fault in error.faults:
        named = dict.fromkeys([fault.partition(":")[0], *re.findall(r"\w+", fault)])
        if faulty.isdisjoint(named):
            place = [name for name in named if name in parameters][:1]
            yield Problem(("conditions", index, *place), fault)


def _parameter_problem(index: int, name: str, rule: str, message: str) -> Problem:
    unknown = message.removeprefix(f"rule {rule!r}: ").startswith("unknown parameter")
    own = nearest(name, Condition.model_fields)
    if unknown and own:
        # A misspelled key of the condition itself looks like a parameter of its rule.
        message = f"expected a key of a condition or a parameter of the rule {rule!r}, got {name!r}{own}"
    return Problem(("conditions", index, name), message, at_key=unknown)


def expand_condition(entry: Mapping[str, Any], catalogue: Catalogue) -> dict[str, Any]:
    """The entry of a condition with the defaults of its rule written out; its own keys stay its own."""
    return {**catalogue[entry["rule"]](_parameters(entry)), **_own(entry)}


def _own(entry: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {
        key: field.default for key, field in Condition.model_fields.items() if not field.is_required()
    }
    return {**defaults, **{key: value for key, value in entry.items() if key in Condition.model_fields}}
