"""The `equipoise` command: finds the command that was asked for, and gives each failure its exit code."""

import os
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from equipoise.cli.commands import COMMANDS, Entry

__all__ = ["build", "main"]


def main() -> None:
    """Runs the command line of this process.

    Raises:
        SystemExit: Always, with one of the exit codes of `equipoise.cli.errors`.
    """
    # Numeric libraries start their threads when they are loaded, and a process with threads cannot be forked
    # safely; how many threads a run has is a setting of its suite.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    try:
        build()(prog_name="equipoise")
    except Exception as error:
        from equipoise.cli.errors import report_error

        raise SystemExit(report_error(error)) from error


def build() -> Any:
    """The root command, with every sub-command known by name only."""
    app = typer.Typer(cls=_LazyGroup, no_args_is_help=True, rich_markup_mode="rich", callback=_root)
    return typer.main.get_command(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        from equipoise import __version__

        typer.echo(f"equipoise {__version__}")
        raise typer.Exit


_Version = Annotated[
    bool,
    typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=_show_version),
]


def _root(*, _version: _Version = False) -> None:
    """Preregistered, compute-matched comparisons of credit rules: better, or only more training?"""


class _Stub(TyperCommand):
    """A command as the list of commands shows it; its module is not imported."""

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name=name, callback=None, help=entry.help, rich_help_panel=entry.panel)


class _LazyGroup(TyperGroup):
    """A group that imports a command's module when that command is called."""

    def __init__(self, **settings: Any) -> None:
        settings["commands"] = {name: _Stub(name, entry) for name, entry in COMMANDS.items()}
        super().__init__(**settings)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command itself in the place of its stub."""
        name, command, rest = super().resolve_command(ctx, args)
        if name is not None and isinstance(command, _Stub):
            command = _load(name)
        return name, command, rest


def _load(name: str) -> Any:
    """Makes a command of the function (or Typer) called `name` in `equipoise.cli.<name>`."""
    found = getattr(import_module(f"equipoise.cli.{name}"), name)
    if isinstance(found, typer.Typer):
        return typer.main.get_command(found)
    app = typer.Typer(add_completion=False, rich_markup_mode="rich")
    app.command(name)(found)
    return typer.main.get_command(app)
