"""Opens the suite that a command is given, and asks its environment about the keys that belong to it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from equipoise.environments.errors import EnvironmentConfigError
from equipoise.environments.registry import environments, make_environment
from equipoise.execution.supplies.offered import Asked, unsupplied
from equipoise_conditions.errors import RuleError
from equipoise_conditions.registry import find_rule
from equipoise_preregistration import LoadedSuite, Suite, SuiteError, derive_seed, load_suite
from equipoise_preregistration.faults import Fault, Problem

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
    problems = _problems(loaded.suite)
    if problems:
        from equipoise_preregistration.document import read

        raise read(loaded.raw, str(loaded.path)).error(problems)
    return loaded


def _problems(suite: Suite) -> tuple[Problem, ...]:
    """What the environment finds wrong with its own keys; if nothing, which rules need what it cannot give."""
    asked = [(index, each.id, each.rule, each.parameters) for index, each in enumerate(suite.conditions)]
    return _asked(suite.environment, suite.policy.warm_start.demonstrations, suite.seed, asked)


def _asked(chosen: Any, demonstrations: int, seed: int, asked: Iterable[Asked]) -> tuple[Problem, ...]:
    try:
        environment = make_environment(
            chosen.name, chosen.settings(demonstrations), derive_seed(seed, "tasks")
        )
    except EnvironmentConfigError as error:
        return tuple(Problem(("environment",), fault, at_key=True) for fault in error.faults)
    return tuple(Problem(("conditions", *path), why) for path, why in unsupplied(asked, environment))


def _completed(error: SuiteError, path_or_name: str) -> SuiteError:
    """The error with what the sections and conditions that are without fault lack in this environment."""
    from equipoise_preregistration.document import read
    from equipoise_preregistration.setting import Environment, WarmStart
    from equipoise_preregistration.shipped import find_suite

    try:
        document = read(find_suite(path_or_name).read_bytes(), error.file)
        chosen = Environment.model_validate(document.data.get("environment", {}))
    except (OSError, SuiteError, ValidationError):
        return error  # where the rules are to be used is not known
    if chosen.name not in environments():
        return error
    policy = document.data.get("policy")
    try:
        demonstrations = WarmStart.model_validate(
            policy.get("warm_start", {}) if isinstance(policy, dict) else {}
        ).demonstrations
    except ValidationError:
        demonstrations = 1  # reported already; the least, so that no lack of tasks follows from it
    lacking = document.error(_asked(chosen, demonstrations, 0, list(_sound(document.data))))
    faults = sorted({*error.faults, *lacking.faults}, key=_order)
    return SuiteError(tuple(faults), error.file)


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
