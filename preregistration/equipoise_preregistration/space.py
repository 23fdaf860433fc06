"""Whether a space fits its suite: every dimension is a key of `training` or a parameter of some condition's rule."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from equipoise_conditions.errors import CrossedParameters, RuleError
from equipoise_preregistration.catalogue import Catalogue
from equipoise_preregistration.experiment import Condition
from equipoise_preregistration.faults import Path, Problem, nearest
from equipoise_preregistration.points import at
from equipoise_preregistration.sections import Value
from equipoise_preregistration.setting import Training
from equipoise_preregistration.tuning import TRAINING, Dimension

__all__ = ["space_problems"]

_PROBES = (0.0, 0.381966, 0.618034, 1.0 - 1e-12)
"""Shares of an interval that are tried: its ends, and places inside that are no round numbers."""


def space_problems(data: Mapping[str, Any], catalogue: Catalogue) -> Iterator[Problem]:
    """Dimensions that nothing has, and values that what has them refuses.

    Args:
        data: What a file holds, well-formed or not.
        catalogue: The rules there are.
    """
    tuning = data.get("tuning")
    space = tuning.get("space") if isinstance(tuning, Mapping) else None
    if not isinstance(space, Mapping):
        return
    owners = _owners(data.get("conditions"), catalogue)
    for name, written in space.items():
        place = ("tuning", "space", name)
        if name.startswith(TRAINING):
            fields = [f"{TRAINING}{field}" for field in Training.model_fields]
            if name not in fields:
                message = f"expected one of {', '.join(fields)}, got {name!r}{nearest(name, fields)}"
                yield Problem(place, message, at_key=True)
            else:
                yield from _refused_by_training(place, name.removeprefix(TRAINING), written)
        elif name not in owners:
            yield Problem(place, _unknown(name, owners), at_key=True)
        else:
            yield from _refused_by_rules(place, name, owners[name], (written, catalogue))


def _owners(entries: object, catalogue: Catalogue) -> dict[str, list[str]]:
    """Names of rules by the parameters they have; rules with faults of their own are reported elsewhere."""
    found: dict[str, list[str]] = {}
    for entry in entries if isinstance(entries, list) else []:
        rule = entry.get("rule") if isinstance(entry, dict) else None
        if not isinstance(rule, str) or rule not in catalogue:
            continue
        given = {key: value for key, value in entry.items() if key not in Condition.model_fields}
        try:
            names = catalogue[rule](given)
        except RuleError:
            names = given
        for name in names:
            found.setdefault(name, []).append(rule)
    return found


def _unknown(name: str, owners: Mapping[str, list[str]]) -> str:
    fields = [f"{TRAINING}{field}" for field in Training.model_fields]
    if name in Training.model_fields:
        return f"expected a key of training with its section, got {name!r}; write {TRAINING}{name}"
    known = (
        f"{', '.join(fields)} or a parameter of a condition's rule ({', '.join(sorted(owners)) or 'none'})"
    )
    return f"expected one of {known}, got {name!r}{nearest(name, [*fields, *owners])}"


def _values(written: object) -> list[Value]:
    """Values to try a dimension with; none of one that is malformed, which is reported elsewhere."""
    try:
        dimension = Dimension.model_validate(written)
    except ValidationError:
        return []
    if dimension.type == "categorical":
        return list(dimension.choices)
    return [at(dimension, share) for share in _PROBES]


def _refused_by_training(place: Path, field: str, written: object) -> Iterator[Problem]:
    for value in _values(written):
        try:
            Training.model_validate({field: value})
        except ValidationError as error:
            why = error.errors(include_url=False)[0]["msg"]
            message = f"expected values that training.{field} takes, got {value!r}: {why}; change the range"
            yield Problem(place, message)
            return


def _refused_by_rules(
    place: Path, name: str, rules: list[str], tried: tuple[object, Catalogue]
) -> Iterator[Problem]:
    written, catalogue = tried
    for rule in dict.fromkeys(rules):
        for value in _values(written):
            try:
                catalogue[rule]({name: value})
            except CrossedParameters:
                continue  # with the defaults of the others, which a condition or the draw may replace
            except RuleError as error:
                # A rule whose other parameters have no default says that of every value.
                if name not in str(error):
                    continue
                hint = "; for whole numbers write `type: int`" if "whole number" in str(error) else ""
                yield Problem(
                    place, f"expected values that the rule {rule!r} takes, got {value!r}: {error}{hint}"
                )
                break
