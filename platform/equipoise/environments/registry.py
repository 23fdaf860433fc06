"""The environments there are, by name: our own, and those that other distributions bring."""

from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points

from equipoise.environments.errors import EnvironmentFaultError
from equipoise.environments.protocol import Environment, Factory

__all__ = ["ENTRY_POINTS", "ENVIRONMENTS", "environments", "make_environment"]

ENTRY_POINTS = "equipoise.environments"
"""Group in which another distribution names its factories."""


def _household(config: Mapping[str, object], seed: int) -> Environment:
    factory: Factory = import_module("equipoise.environments.household").household
    return factory(config, seed)


def _bifurcation(config: Mapping[str, object], seed: int) -> Environment:
    factory: Factory = import_module("equipoise.environments.bifurcation").bifurcation
    return factory(config, seed)


ENVIRONMENTS: dict[str, Factory] = {
    "household": _household,
    "bifurcation": _bifurcation,
}


def environments() -> dict[str, Factory]:
    """Our environments and those of the entry points, by name.

    Raises:
        EnvironmentFaultError: If an entry point takes a name that is taken.
    """
    found = dict(ENVIRONMENTS)
    for point in entry_points(group=ENTRY_POINTS):
        if point.name in found:
            message = (
                f"the entry point {point.value!r} calls its environment {point.name!r}, "
                "a name that is taken; uninstall that distribution or give its environment another name"
            )
            raise EnvironmentFaultError(message)
        found[point.name] = point.load()
    return found


def make_environment(name: str, config: Mapping[str, object] | None = None, seed: int = 0) -> Environment:
    """Builds an environment by its name.

    Args:
        name: A key of `environments()`.
        config: Its configuration; missing keys take their defaults.
        seed: Which tasks are drawn.

    Raises:
        EnvironmentFaultError: If no environment has this name.
        EnvironmentConfigError: If the configuration is wrong; it lists every fault.
    """
    found = environments()
    if name not in found:
        near = get_close_matches(name, found, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        message = f"expected an environment out of {sorted(found)}, got {name!r}{hint}"
        raise EnvironmentFaultError(message)
    return found[name](config or {}, seed)
