"""`equipoise ui`: MLflow's pages on a project folder, at the addresses that show training runs."""

import signal
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from equipoise.cli.home import DEFAULT_HOME, open_home
from equipoise.cli.options import Home
from equipoise.cli.output import say

__all__ = ["ui"]

Port = Annotated[int, typer.Option("--port", help="First port to try; 0 takes any.", min=0, max=65535)]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the addresses.")]


def ui(*, home: Home = DEFAULT_HOME, port: Port = 5000, no_browser: NoBrowser = False) -> None:
    """Bring MLflow up to date, serve it on this machine, and print where each suite is. Ctrl-C ends it."""
    from equipoise.tracking.companion import make_writer
    from equipoise.tracking.embedded import database_uri
    from equipoise.tracking.server import free_port, serve

    folder = open_home(home)
    writer, _ = make_writer(folder, database_uri(folder))
    say(writer.sync().sentence)
    with _ends_on_sigterm():
        chosen = free_port(port)
        if port not in (0, chosen):
            say(f"Port {port} is taken; using {chosen}.")
        say("Starting MLflow ...")
        with serve(folder, chosen) as address:
            links = list(_links(folder, address))
            for title, link in links:
                say(f"{title}\n  {link}")
            say(f"MLflow runs at {address} (Ctrl-C ends it)")
            if links and not no_browser:
                webbrowser.open(links[0][1])
            _wait()
    say("MLflow has ended.")


def _links(home: Path, address: str) -> Iterator[tuple[str, str]]:
    """Yield a title and an address for each suite's table, curves and report."""
    from equipoise.tracking.embedded import database_uri
    from equipoise.tracking.pages import suite_pages

    for page in suite_pages(database_uri(home), address):
        yield f"{page.name}: runs", page.runs
        yield f"{page.name}: means by condition and arm", page.charts
        if page.report:
            yield f"{page.name}: report", page.report


def _wait() -> None:
    try:
        signal.pause()
    except KeyboardInterrupt:
        say("")


@contextmanager
def _ends_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the command as Ctrl-C does, so that the server never outlives it."""

    def interrupt(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
