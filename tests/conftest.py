"""Which tests are slow, and which go to the same process: those that share what takes long to make."""

import pytest

SHARED = ("ran", "finished", "on_each_path")
"""Fixtures of a session that run whole suites; a test that asks for one goes where it is made."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Group by fixture, else by file where a fixture of the file is made once for all of its tests.

    Whatever trains is slow together, if not alone: a test that runs a suite, or has its imports frozen.
    """
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        asked = [name for name in SHARED if name in item.fixturenames]
        if asked or "frozen_imports" in item.fixturenames:
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("xdist_group"):
            continue
        if asked:
            item.add_marker(pytest.mark.xdist_group(asked[0]))
        elif _made_once(item):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))


def _made_once(item: pytest.Function) -> bool:
    """Whether a fixture that the test asks for lives as long as its file."""
    found = item._fixtureinfo.name2fixturedefs
    return any(definitions[-1].scope == "module" for definitions in found.values())
