"""The raw runs: success by block, one panel for each rule, the arms of a block tied together."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise_reports.figures import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MARKS = {"native": ("s", svg.NATIVE), "matched": ("o", svg.MATCHED), "twin": ("D", svg.TWIN)}


@dataclass(frozen=True)
class Point:
    """One run: where it stands and what it reached (a success rate)."""

    condition: str
    arm: str
    block: int
    success: float


def draw(points: Sequence[Point], conditions: Sequence[str], base: float | None, caption: str) -> svg.Drawing:
    """Draw one panel for each condition, blocks from left to right, arms by shape and colour.

    Args:
        points: the runs.
        conditions: the panels, in reading order.
        base: the untrained policy's mean success, drawn as a dotted line; None leaves it out.
        caption: the sentence under the figure.
    """
    title = "Success of every run by block, for each rule"
    said = "; ".join(_mean(points, condition) for condition in conditions)
    with svg.settings():
        return svg.Drawing(
            "runs-figure",
            caption,
            svg.render(_grid(points, conditions, base, 4, 720), "runs-wide", title, said),
            svg.render(_grid(points, conditions, base, 2, 350), "runs-narrow", title, said),
        )


def _mean(points: Sequence[Point], condition: str) -> str:
    parts = []
    for arm in _MARKS:
        values = [point.success for point in points if (point.condition, point.arm) == (condition, arm)]
        if values:
            parts.append(f"{arm} {100 * math.fsum(values) / len(values):.1f} %")
    return f"{condition}: {', '.join(parts)}"


def _grid(
    points: Sequence[Point], conditions: Sequence[str], base: float | None, columns: int, width: float
) -> Figure:
    columns = min(columns, max(len(conditions), 1))
    rows = -(-len(conditions) // columns)
    tall, gap, margin = 116, 14, 40
    across = (width - margin - 4 - gap * (columns - 1)) / columns
    figure = svg.blank(width, rows * (tall + 50) + 24)
    heights = [100 * point.success for point in points] + ([] if base is None else [100 * base])
    low, high = min(heights), max(heights)
    pad = max(2.0, 0.08 * (high - low))
    for place, condition in enumerate(conditions):
        row, column = divmod(place, columns)
        panel = svg.axes(figure, margin + column * (across + gap), 46 + row * (tall + 50), across, tall)
        panel.set_ylim(max(0.0, low - pad), min(100.0, high + pad))
        _panel(panel, [point for point in points if point.condition == condition], base)
        most = int(across / 7)
        name = condition if len(condition) <= most else f"{condition[: most - 1]}\u2026"
        panel.set_title(name, fontsize=11, loc="left", pad=5)
        panel.tick_params(axis="y", labelsize=10, colors=svg.MUTED, labelleft=column == 0)
    _legend(figure, margin)
    return figure


def _panel(panel: Axes, points: Sequence[Point], base: float | None) -> None:
    blocks = sorted({point.block for point in points})
    place = {block: position for position, block in enumerate(blocks)}
    panel.set_xlim(-0.6, max(len(blocks), 1) - 0.4)
    every = max(1, -(-len(blocks) // 6))
    panel.set_xticks(range(0, len(blocks), every), [str(block) for block in blocks[::every]])
    panel.tick_params(axis="x", labelsize=10)
    panel.yaxis.set_major_formatter(lambda height, _: f"{height:.0f}\u2009%")
    panel.grid(axis="y", color=svg.GRID, linewidth=0.6)
    panel.set_axisbelow(True)
    if base is not None:
        panel.axhline(100 * base, color=svg.MUTED, linewidth=1.0, linestyle=(0, (1, 2)))
    of_block: dict[int, list[float]] = defaultdict(list)
    for point in points:
        of_block[point.block].append(100 * point.success)
    for block, values in of_block.items():
        panel.plot([place[block]] * 2, [min(values), max(values)], color=svg.GRID, linewidth=1.6, zorder=1)
    size = 6.0 if len(blocks) <= 12 else 4.0
    for arm, (marker, colour) in _MARKS.items():
        chosen = [point for point in points if point.arm == arm]
        panel.plot(
            [place[point.block] for point in chosen],
            [100 * point.success for point in chosen],
            linestyle="none",
            marker=marker,
            markersize=size if arm == "matched" else size - 0.8,
            markeredgecolor=colour,
            markerfacecolor=colour if arm == "matched" else svg.PAPER,
            markeredgewidth=1.4,
            zorder=3 if arm == "matched" else 2,
        )


def _legend(figure: Figure, margin: float) -> None:
    strip = svg.axes(figure, margin, 2, figure.get_figwidth() * 72 - margin, 18)
    strip.set_axis_off()
    strip.set_xlim(0, figure.get_figwidth() * 72 - margin)
    strip.set_ylim(0, 1)
    left = 5.0
    for arm, (marker, colour) in _MARKS.items():
        face = colour if arm == "matched" else svg.PAPER
        strip.plot(
            [left], [0.5], marker=marker, markersize=6, color=colour, markerfacecolor=face, clip_on=False
        )
        strip.text(left + 9, 0.5, arm, va="center", fontsize=10.5, color=svg.INK)
        left += 74
    strip.plot([left - 4, left + 12], [0.5, 0.5], color=svg.MUTED, linewidth=1, linestyle=(0, (1, 2)))
    strip.text(left + 18, 0.5, "untrained", va="center", fontsize=10.5, color=svg.INK)
