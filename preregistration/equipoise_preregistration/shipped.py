"""The suites that come with the package, and the way from what a user typed to a file."""

from importlib.resources import files
from pathlib import Path

from equipoise_preregistration.errors import SuiteError
from equipoise_preregistration.faults import Fault, nearest

__all__ = ["find_suite", "shipped_suites"]


def shipped_suites() -> dict[str, Path]:
    """Name of each shipped suite to its file, in alphabetical order."""
    folder = Path(str(files("equipoise_preregistration").joinpath("suites")))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def find_suite(path_or_name: str | Path) -> Path:
    """The file a user means: a path, or the name of a shipped suite.

    Raises:
        SuiteError: If there is neither.
    """
    path = Path(path_or_name)
    if path.is_file():
        return path
    shipped = shipped_suites()
    if str(path_or_name) in shipped:
        return shipped[str(path_or_name)]
    got = "a folder" if path.is_dir() else "no such file"
    message = f"expected the file of a suite, or one of the shipped suites {', '.join(shipped)}, got {got}"
    raise SuiteError((Fault(0, 0, "", message + nearest(path_or_name, shipped)),), str(path_or_name))
