"""Progress of a running suite on the terminal: what is done, what is left, how long it takes."""

from collections.abc import Iterator
from contextlib import contextmanager

from equipoise.cli.output import say
from equipoise.scheduler import OnProgress, Update

__all__ = ["duration", "shown"]


@contextmanager
def shown(title: str) -> Iterator[OnProgress]:
    """A bar on a terminal; a line for every tenth of the work elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console()
    if not console.is_terminal:
        yield _Lines(title)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=False) as bar:
        task = bar.add_task(title, total=None, left="")
        notes: set[str] = set()

        def show(update: Update) -> None:
            for note in update.notes:
                if note not in notes:
                    notes.add(note)
                    bar.console.print(note)
            left = update.progress.eta_seconds
            bar.update(
                task,
                total=update.progress.total,
                completed=update.progress.done,
                left=f"about {duration(left)} left" if left else "",
            )

        yield show


class _Lines:
    """Says every tenth of the work in a line."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._said = -1
        self._notes: set[str] = set()

    def __call__(self, update: Update) -> None:
        for note in update.notes:
            if note not in self._notes:
                self._notes.add(note)
                say(note)
        progress = update.progress
        tenth = 10 * progress.done // max(1, progress.total)
        if tenth == self._said:
            return
        self._said = tenth
        left = progress.eta_seconds
        rest = f", about {duration(left)} left" if left else ""
        blocks = f"{progress.blocks_complete} of {progress.blocks} blocks complete"
        say(f"{self._title}: {progress.done} of {progress.total} jobs, {blocks}{rest}")


def duration(seconds: float) -> str:
    """A duration for people."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
