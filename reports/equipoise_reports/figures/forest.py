"""The forest of the decomposition: every rule's TOTAL, CONTENT, SHAPE and VOLUME with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from equipoise_reports.figures import svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KINDS = ("TOTAL", "CONTENT", "SHAPE", "VOLUME")
_SIGNS = {"TOTAL": "", "CONTENT": "= ", "SHAPE": "+ ", "VOLUME": "+ "}
_ROW = 30


@dataclass(frozen=True)
class Effect:
    """One effect as the figure needs it, in success rates (0.03 is three percentage points).

    Attributes:
        condition: the row it stands in.
        kind: the panel it stands in.
        estimate: None where it cannot be estimated.
        low: the interval's lower end.
        high: its upper end.
        instead: what is written where there is no estimate.
    """

    condition: str
    kind: str
    estimate: float | None
    low: float
    high: float
    instead: str = ""


def draw(effects: Sequence[Effect], conditions: Sequence[str], smallest: float, caption: str) -> svg.Drawing:
    """Draw the forest.

    Args:
        effects: at most one for each condition and kind.
        conditions: the rows, from the top.
        smallest: the smallest effect that matters; a band of twice its width is drawn around zero.
        caption: the sentence under the figure.
    """
    said = "; ".join(_words(effect) for effect in effects if effect.kind == "CONTENT")
    title = "Forest plot of the decomposition, in percentage points"
    with svg.settings():
        wide, narrow = (_forms(effects, conditions, smallest, phone) for phone in (False, True))
        return svg.Drawing(
            "forest",
            caption,
            svg.render(wide, "forest-wide", title, said),
            svg.render(narrow, "forest-narrow", title, said),
        )


def _words(effect: Effect) -> str:
    if effect.estimate is None:
        return f"{effect.condition} {effect.kind}: {effect.instead}"
    low, high = 100 * effect.low, 100 * effect.high
    return f"{effect.condition} {effect.kind} {100 * effect.estimate:+.1f} ({low:+.1f} to {high:+.1f})"


def _forms(effects: Sequence[Effect], conditions: Sequence[str], smallest: float, phone: bool) -> Figure:
    tall = _ROW * len(conditions)
    label = 96 if phone else 120
    limit = _reach(effects, smallest)
    figure = svg.blank(350, 4 * (tall + 62)) if phone else svg.blank(720, tall + 66)
    for place, kind in enumerate(KINDS):
        if phone:
            panel = svg.axes(figure, label, 30 + place * (tall + 62), 350 - label - 8, tall)
        else:
            width = (720 - label - 8 - 3 * 16) / 4
            panel = svg.axes(figure, label + place * (width + 16), 30, width, tall)
        _panel(panel, [effect for effect in effects if effect.kind == kind], conditions, (limit, smallest))
        panel.set_title(_SIGNS[kind] + kind, fontsize=11.5, loc="left", fontweight="bold", pad=8)
        if phone or place == 0:
            panel.set_yticks(range(len(conditions)), [_fit(name, label) for name in conditions])
        if phone or place == 1:
            panel.set_xlabel("percentage points", loc="left", fontsize=10)
    return figure


def _panel(
    panel: Axes, effects: Sequence[Effect], conditions: Sequence[str], scale: tuple[float, float]
) -> None:
    limit, smallest = scale
    panel.set_xlim(-limit, limit)
    panel.set_ylim(len(conditions) - 0.5, -0.5)
    panel.set_yticks([])
    panel.tick_params(axis="x", labelsize=10)
    panel.axvspan(-100 * smallest, 100 * smallest, color=svg.BAND, linewidth=0)
    panel.axvline(0, color=svg.MUTED, linewidth=0.9)
    rows = {name: row for row, name in enumerate(conditions)}
    for effect in effects:
        row = rows[effect.condition]
        if effect.estimate is None:
            panel.text(
                0,
                row,
                effect.instead,
                ha="center",
                va="center",
                fontsize=9.5,
                color=svg.MUTED,
                bbox={"facecolor": svg.PAPER, "edgecolor": "none", "pad": 2.0},
            )
            continue
        low, high = 100 * effect.low, 100 * effect.high
        panel.plot([low, high], [row, row], color=svg.INK, linewidth=1.6, solid_capstyle="butt")
        clear = low > 0 or high < 0
        panel.plot(
            [100 * effect.estimate],
            [row],
            marker="o",
            markersize=7,
            color=svg.INK,
            markerfacecolor=svg.MATCHED if clear else svg.PAPER,
            markeredgecolor=svg.MATCHED if clear else svg.INK,
            markeredgewidth=1.4,
        )


def _reach(effects: Sequence[Effect], smallest: float) -> float:
    ends = [
        abs(end) for effect in effects if effect.estimate is not None for end in (effect.low, effect.high)
    ]
    return 105 * max([*ends, 1.5 * smallest])


def _fit(name: str, width: float) -> str:
    most = int(width / 7)
    return name if len(name) <= most else f"{name[: most - 1]}\u2026"
