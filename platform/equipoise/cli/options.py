"""Options and arguments that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["Home", "Json", "SuiteFile"]

Home = Annotated[
    Path,
    typer.Option("--home", envvar="EQUIPOISE_HOME", help="Folder of the project.", file_okay=False),
]

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

SuiteFile = Annotated[
    str, typer.Argument(metavar="SUITE", help="A YAML file, or the name of a shipped suite (see `suites`).")
]
