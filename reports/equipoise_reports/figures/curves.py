"""What a search finds with n trials: one panel a condition, the others behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from equipoise_reports.figures import svg
from equipoise_reports.tuning import Search

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(searches: Sequence[Search], caption: str) -> svg.Drawing:
    """Draw the curves side by side on one scale.

    Args:
        searches: in reading order, at least one, each with at least one trial.
        caption: the sentence under the figure.
    """
    title = "Best success that a search finds, by number of trials, for each condition"
    said = "; ".join(
        f"{search.condition}: {100 * search.curve[0]:.1f} % after one trial, {100 * search.curve[-1]:.1f} % after "
        f"{len(search.curve)}"
        for search in searches
    )
    with svg.settings():
        return svg.Drawing(
            "tuning-figure",
            caption,
            svg.render(_grid(searches, 4, 720), "tuning-wide", title, said),
            svg.render(_grid(searches, 2, 350), "tuning-narrow", title, said),
        )


def _grid(searches: Sequence[Search], columns: int, width: float) -> Figure:
    columns = min(columns, len(searches))
    rows = -(-len(searches) // columns)
    tall, gap, margin = 110, 14, 40
    across = (width - margin - 4 - gap * (columns - 1)) / columns
    figure = svg.blank(width, rows * (tall + 52) + 8)
    heights = [100 * value for search in searches for value in search.curve]
    pad = max(2.0, 0.08 * (max(heights) - min(heights)))
    limits = (max(0.0, min(heights) - pad), min(100.0, max(heights) + pad))
    for place, search in enumerate(searches):
        row, column = divmod(place, columns)
        panel = svg.axes(figure, margin + column * (across + gap), 26 + row * (tall + 52), across, tall)
        panel.set_ylim(*limits)
        _panel(panel, search, [other for other in searches if other is not search])
        most = int(across / 7)
        name = search.condition
        panel.set_title(
            name if len(name) <= most else f"{name[: most - 1]}\u2026", fontsize=11, loc="left", pad=5
        )
        panel.tick_params(axis="y", labelsize=10, colors=svg.MUTED, labelleft=column == 0)
    return figure


def _panel(panel: Axes, search: Search, others: Sequence[Search]) -> None:
    trials = len(search.curve)
    panel.set_xlim(0.6, trials + 0.4)
    every = max(1, -(-trials // 5))
    panel.set_xticks(range(1, trials + 1, every), [str(n) for n in range(1, trials + 1, every)])
    panel.tick_params(axis="x", labelsize=10)
    panel.yaxis.set_major_formatter(lambda height, _: f"{height:.0f}\u2009%")
    panel.grid(axis="y", color=svg.GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    for other in others:
        _line(panel, other, svg.GRID, 1.4)
    _line(panel, search, svg.MATCHED, 2.0)
    panel.plot(
        [trials], [100 * search.curve[-1]], marker="o", markersize=5.5, color=svg.MATCHED, clip_on=False
    )


def _line(panel: Axes, search: Search, colour: str, width: float) -> None:
    numbers = range(1, len(search.curve) + 1)
    panel.plot(numbers, [100 * value for value in search.curve], color=colour, linewidth=width)
