"""What is known of a section with faults: its other values, so that they are checked at once and not after mending."""

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from equipoise_preregistration.sections import Section

__all__ = ["salvage"]

Model = TypeVar("Model", bound=Section)


def salvage(model: type[Model], data: object) -> Model | None:
    """The section, whole or with its faulty values left out; reading one of those raises `UnknownValue`.

    Args:
        model: what the section should be.
        data: what the file has.

    Returns:
        None where it is no mapping, or refused as a whole.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        # The faults themselves are reported with the whole file.
        places = [detail["loc"] for detail in error.errors(include_url=False)]
    if not isinstance(data, Mapping) or not all(places):
        return None
    faulty = {str(place[0]) for place in places} & model.model_fields.keys()
    known = {name: data[name] for name in model.model_fields if name in data and name not in faulty}
    values = {name: _value(model.model_fields[name], value) for name, value in known.items()}
    values |= {name: part for name in faulty if (part := _part(model, name, data)) is not None}
    found = model.model_construct(**values)
    for name in faulty - values.keys():
        vars(found).pop(name, None)
    return found


def _value(field: FieldInfo, value: object) -> Any:
    return TypeAdapter(field.rebuild_annotation()).validate_python(value)


def _part(model: type[Section], name: str, data: Mapping[str, Any]) -> Section | None:
    """A section inside a section that has faults of its own."""
    kind: Any = model.model_fields[name].annotation
    inside = isinstance(kind, type) and issubclass(kind, Section)
    return salvage(kind, data[name]) if inside and name in data else None
