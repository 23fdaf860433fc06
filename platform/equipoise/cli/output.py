"""How commands print: tables for people, JSON for programs."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import typer

__all__ = ["say", "show_json", "show_table"]


def say(text: str) -> None:
    """Prints one line or more."""
    typer.echo(text)


def show_json(value: Any) -> None:
    """Prints a value as JSON, keys in the order they were given."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def show_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table; the last column takes what width there is."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    table.show_header = any(columns)
    for index, column in enumerate(columns):
        table.add_column(column, overflow="fold", no_wrap=index == 0)
    for row in rows:
        # Text and not markup: a value may hold square brackets.
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)
