"""Opens the suite that a command is given, and asks its environment about the keys that belong to it."""

from equipoise.environments.errors import EnvironmentConfigError
from equipoise.environments.registry import environments, make_environment
from equipoise_preregistration import LoadedSuite, Suite, derive_seed, load_suite

__all__ = ["open_suite"]


def open_suite(path_or_name: str) -> LoadedSuite:
    """Loads a suite and checks it against the rules and environments that are installed.

    Args:
        path_or_name: A file, or the name of a shipped suite.

    Raises:
        SuiteError: With every fault of the file.
    """
    loaded = load_suite(path_or_name, environments=environments().keys())
    faults = _environment_faults(loaded.suite)
    if faults:
        from equipoise_preregistration.document import read
        from equipoise_preregistration.faults import Problem

        document = read(loaded.raw, str(loaded.path))
        raise document.error(tuple(Problem(("environment",), fault, at_key=True) for fault in faults))
    return loaded


def _environment_faults(suite: Suite) -> tuple[str, ...]:
    """What the environment itself finds wrong with its sizes, options, words and numbers of tasks."""
    chosen = suite.environment
    try:
        make_environment(
            chosen.name,
            chosen.settings(suite.policy.warm_start.demonstrations),
            derive_seed(suite.seed, "tasks"),
        )
    except EnvironmentConfigError as error:
        return error.faults
    return ()
