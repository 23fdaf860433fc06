"""From a file to a suite: every fault of the file at once, or a suite with all defaults written out."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from equipoise_preregistration.analysis import Analysis, Hypothesis
from equipoise_preregistration.catalogue import (
    Catalogue,
    condition_problems,
    expand_condition,
    rule_catalogue,
)
from equipoise_preregistration.checks import problems
from equipoise_preregistration.document import Document, read
from equipoise_preregistration.draft import Draft
from equipoise_preregistration.errors import SuiteError
from equipoise_preregistration.experiment import Arms, Budget, Condition, Evaluation
from equipoise_preregistration.faults import Fault, Problem, nearest
from equipoise_preregistration.salvage import salvage
from equipoise_preregistration.sections import Section
from equipoise_preregistration.setting import Collection as Rollouts
from equipoise_preregistration.setting import Environment, Policy, Training
from equipoise_preregistration.shipped import find_suite
from equipoise_preregistration.space import space_problems
from equipoise_preregistration.suite import Suite, expand
from equipoise_preregistration.translate import translate

__all__ = ["LoadedSuite", "draft_of", "load_suite", "parse_suite"]

POLICIES = ("tiny-qwen3",)
"""The policies of this version."""

Model = TypeVar("Model", bound=Section)


@dataclass(frozen=True)
class LoadedSuite:
    """A valid suite and the file it came from.

    Attributes:
        suite: With every default written out, those of its rules included.
        raw: The bytes of the file.
        path: The file.
    """

    suite: Suite
    raw: bytes
    path: Path


def load_suite(
    path_or_name: str | Path,
    *,
    rules: Catalogue | None = None,
    environments: Collection[str] | None = None,
    policies: Collection[str] | None = POLICIES,
) -> LoadedSuite:
    """Loads a suite from a file, or one of the shipped suites by its name.

    Args:
        path_or_name: A path, or a name such as `demo`.
        rules: Name of each rule to what validates its parameters; by default the registered rules.
        environments: Names of the environments there are; None leaves the name unchecked.
        policies: Names of the policies there are; None leaves the name unchecked.

    Raises:
        SuiteError: If the file cannot be read; or with every fault that it has.
    """
    path = find_suite(path_or_name)
    try:
        raw = path.read_bytes()
    except OSError as error:
        message = f"expected a file that can be read, got: {error.strerror}"
        raise SuiteError((Fault(0, 0, "", message),), str(path)) from error
    suite = parse_suite(raw, str(path), rules=rules, environments=environments, policies=policies)
    return LoadedSuite(suite, raw, path)


def parse_suite(
    raw: bytes,
    file: str,
    *,
    rules: Catalogue | None = None,
    environments: Collection[str] | None = None,
    policies: Collection[str] | None = POLICIES,
) -> Suite:
    """Reads the bytes of a suite; see `load_suite`."""
    catalogue = rule_catalogue() if rules is None else rules
    document = read(raw, file)
    found = [
        *document.problems,
        *_malformed(document),
        *problems(draft_of(document.data)),
        *condition_problems(document.data.get("conditions"), catalogue),
        *space_problems(document.data, catalogue),
        *_unknown("environment", document.data, environments),
        *_unknown("policy", document.data, policies),
    ]
    if found:
        raise document.error(tuple(found))
    expanded = expand(document.data)
    expanded["conditions"] = [expand_condition(entry, catalogue) for entry in expanded["conditions"]]
    return Suite.model_validate(expanded)


def _malformed(document: Document) -> Iterator[Problem]:
    try:
        Suite.model_validate(document.data)
    except ValidationError as error:
        yield from translate(error, document.data)


def draft_of(data: Mapping[str, Any]) -> Draft:
    """What the sections of a file have without fault, so that it is checked though other values are faulty."""
    listed = data.get("conditions")
    conditions = _items(Condition, listed, ("id", "baseline"))
    return Draft(
        environment=salvage(Environment, data.get("environment", {})),
        policy=salvage(Policy, data.get("policy", {})),
        collection=salvage(Rollouts, data.get("collection", {})),
        training=salvage(Training, data.get("training", {})),
        conditions=conditions,
        arms=salvage(Arms, data.get("arms", {})),
        budget=salvage(Budget, data.get("budget")),
        blocks=_blocks(data),
        evaluation=salvage(Evaluation, data.get("evaluation", {})),
        analysis=salvage(Analysis, data.get("analysis", {})),
        hypotheses=_items(Hypothesis, data.get("hypotheses", []), ("id", "contrast")),
        named=_ids(listed),
        complete=isinstance(listed, list) and len(listed) == len(conditions) > 0,
    )


def _blocks(data: Mapping[str, Any]) -> int | None:
    blocks = data.get("blocks", Suite.model_fields["blocks"].default)
    return blocks if isinstance(blocks, int) and not isinstance(blocks, bool) and blocks > 0 else None


def _items(model: type[Model], data: object, needed: tuple[str, ...]) -> dict[int, Model]:
    """The entries of a list, by place, of which at least these values are known."""
    entries = data if isinstance(data, list) else []
    found = {index: salvage(model, entry) for index, entry in enumerate(entries)}
    return {
        index: item
        for index, item in found.items()
        if item is not None and all(name in item.__dict__ for name in needed)
    }


def _ids(listed: object) -> tuple[str, ...] | None:
    entries = listed if isinstance(listed, list) else []
    found = [entry.get("id") if isinstance(entry, dict) else None for entry in entries]
    named = tuple(name for name in found if isinstance(name, str))
    return named if len(named) == len(found) > 0 else None


def _unknown(key: str, data: Mapping[str, Any], known: Collection[str] | None) -> Iterator[Problem]:
    section = data.get(key)
    name = section.get("name") if isinstance(section, dict) else None
    if not isinstance(name, str) or known is None or name in known:
        return
    message = f"expected one of {', '.join(sorted(known))}, got {name!r}"
    yield Problem((key, "name"), message + nearest(name, known))
