"""Which libraries a registration stands for: every distribution that equipoise needs, with its version."""

from collections.abc import Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution, entry_points

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["dependency_lock"]

_PLUGINS = ("equipoise.rules", "equipoise.environments")
"""Entry points through which other distributions take part in a run."""


def dependency_lock() -> tuple[str, ...]:
    """`name==version` of all that is needed, directly or not, sorted; plug-ins of equipoise included."""
    versions: dict[str, str] = {}
    waiting = [("equipoise", frozenset[str]()), *((name, frozenset[str]()) for name in sorted(_plugins()))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            versions[name] = "absent"
            continue
        versions[name] = found.version
        waiting.extend(_needed(found, extras))
    versions.pop("equipoise", None)
    return tuple(sorted(f"{name}=={version}" for name, version in versions.items()))


def _needed(found: Distribution, extras: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    for text in found.requires or ():
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""})):
            yield canonicalize_name(requirement.name), frozenset(requirement.extras)


def _plugins() -> set[str]:
    points = (point for group in _PLUGINS for point in entry_points(group=group))
    names: set[str] = {canonicalize_name(point.dist.name) for point in points if point.dist is not None}
    return names - {"equipoise"}
