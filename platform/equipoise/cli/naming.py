"""Lets a command that wants the name of a suite be given its file as well."""

from pathlib import Path

__all__ = ["named"]


def named(wanted: str | None) -> str | None:
    """The name of the suite in a file, or what was given where it is no file of a suite.

    Args:
        wanted: a name, the first digits of a hash, or the path of a suite's file.

    Raises:
        SuiteError: if the file has faults.
    """
    if wanted is None or Path(wanted).suffix not in {".yaml", ".yml"} or not Path(wanted).is_file():
        return wanted
    from equipoise.cli.suite_file import open_suite

    return open_suite(wanted).suite.name
