"""Opens the suite that a command is given, and asks its environment about the keys that belong to it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from equipoise.environments.errors import EnvironmentConfigError
from equipoise.environments.registry import environments, make_environment
from equipoise.execution.supplies.offered import Asked, unsupplied
from equipoise_conditions.errors import RuleError
from equipoise_conditions.registry import find_rule
from equipoise_preregistration import LoadedSuite, SuiteError, derive_seed, load_suite
from equipoise_preregistration.draft import Draft
from equipoise_preregistration.faults import Fault, Problem
from equipoise_preregistration.sections import UnknownValue

__all__ = ["open_suite"]


def open_suite(path_or_name: str) -> LoadedSuite:
    """Loads a suite and checks it against the rules and environments that are installed.

    Args:
        path_or_name: A file, or the name of a shipped suite.

    Raises:
        SuiteError: With every fault of the file.
    """
    try:
        loaded = load_suite(path_or_name, environments=environments().keys())
    except SuiteError as error:
        raise _completed(error, path_or_name) from None
    problems = _problems(loaded)
    if problems:
        from equipoise_preregistration.document import read

        raise read(loaded.raw, str(loaded.path)).error(problems)
    return loaded


def _problems(loaded: LoadedSuite) -> tuple[Problem, ...]:
    """What the environment finds wrong with its own keys; if nothing, which rules need what it cannot give."""
    from equipoise_preregistration.document import read
    from equipoise_preregistration.loading import draft_of

    suite = loaded.suite
    asked = [(index, each.id, each.rule, each.parameters) for index, each in enumerate(suite.conditions)]
    draft = draft_of(read(loaded.raw, str(loaded.path)).data)
    return _asked(draft, suite.policy.warm_start.demonstrations, suite.seed, asked)


def _asked(draft: Draft, demonstrations: int, seed: int, asked: Sequence[Asked]) -> tuple[Problem, ...]:
    from equipoise.suites.bounds import out_of_reach

    chosen = draft.environment
    assert chosen is not None
    try:
        environment = make_environment(
            chosen.name, chosen.settings(demonstrations), derive_seed(seed, "tasks")
        )
    except EnvironmentConfigError as error:
        return tuple(Problem(("environment",), fault, at_key=True) for fault in error.faults)
    lacking = [Problem(("conditions", *path), why) for path, why in unsupplied(asked, environment)]
    return (*lacking, *out_of_reach(draft, asked, environment))


def _completed(error: SuiteError, path_or_name: str) -> SuiteError:
    """The error with what the sections and conditions that are without fault lack in this environment."""
    from equipoise_preregistration.document import read
    from equipoise_preregistration.loading import draft_of
    from equipoise_preregistration.shipped import find_suite

    try:
        document = read(find_suite(path_or_name).read_bytes(), error.file)
    except (OSError, SuiteError):
        return error
    draft = draft_of(document.data)
    try:
        if draft.environment is None or draft.environment.name not in environments():
            return error  # where the rules are to be used is not known
        lacking = document.error(_asked(draft, _demonstrations(draft), 0, list(_sound(document.data))))
    except UnknownValue:
        return error  # nor is the environment
    faults = sorted({*error.faults, *lacking.faults}, key=_order)
    return SuiteError(tuple(faults), error.file)


def _demonstrations(draft: Draft) -> int:
    """How many there are; where that is reported already, the least, so that no lack of tasks follows from it."""
    try:
        return 1 if draft.policy is None else draft.policy.warm_start.demonstrations
    except UnknownValue:
        return 1


def _order(fault: Fault) -> tuple[int, int, str, str]:
    return fault.line, fault.column, fault.path, fault.message


def _sound(data: Mapping[str, Any]) -> Iterator[Asked]:
    """The conditions whose rules there are and take their parameters."""
    from equipoise_preregistration.experiment import Condition

    entries = data.get("conditions")
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        rule = entry.get("rule") if isinstance(entry, dict) else None
        if not isinstance(rule, str):
            continue
        parameters = {key: value for key, value in entry.items() if key not in Condition.model_fields}
        try:
            values = find_rule(rule).validate(parameters)
        except RuleError:
            continue
        yield index, str(entry.get("id", rule)), rule, values
