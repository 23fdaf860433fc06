"""Opens the suite that a command is given, and asks its environment about the keys that belong to it."""

from equipoise.environments.errors import EnvironmentConfigError
from equipoise.environments.registry import environments, make_environment
from equipoise.execution.supplies.offered import unsupplied
from equipoise_preregistration import LoadedSuite, Suite, derive_seed, load_suite
from equipoise_preregistration.faults import Problem

__all__ = ["open_suite"]


def open_suite(path_or_name: str) -> LoadedSuite:
    """Loads a suite and checks it against the rules and environments that are installed.

    Args:
        path_or_name: A file, or the name of a shipped suite.

    Raises:
        SuiteError: With every fault of the file.
    """
    loaded = load_suite(path_or_name, environments=environments().keys())
    problems = _problems(loaded.suite)
    if problems:
        from equipoise_preregistration.document import read

        raise read(loaded.raw, str(loaded.path)).error(problems)
    return loaded


def _problems(suite: Suite) -> tuple[Problem, ...]:
    """What the environment finds wrong with its own keys; if nothing, which rules need what it cannot give."""
    chosen = suite.environment
    try:
        environment = make_environment(
            chosen.name,
            chosen.settings(suite.policy.warm_start.demonstrations),
            derive_seed(suite.seed, "tasks"),
        )
    except EnvironmentConfigError as error:
        return tuple(Problem(("environment",), fault, at_key=True) for fault in error.faults)
    return tuple(Problem(("conditions", index, "rule"), why) for index, why in unsupplied(suite, environment))
