"""Matplotlib drawings made into SVG that belongs to the page: its colours, its font, its names."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Every drawing colour is a placeholder that the page's style sheet replaces, so that one drawing serves
# light screens, dark screens and paper. Near-black values keep a drawing legible if nothing replaces them.
INK = "#010203"
MUTED = "#020304"
GRID = "#030405"
BAND = "#040506"
NATIVE = "#050607"
MATCHED = "#060708"
TWIN = "#070809"
PAPER = "#08090a"
_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    BAND: "--band",
    NATIVE: "--native",
    MATCHED: "--matched",
    TWIN: "--twin",
    PAPER: "--paper",
}
_SETTINGS: dict[str, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "equipoise",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": 11.0,
    "axes.linewidth": 0.8,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": GRID,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.unicode_minus": True,
}


@dataclass(frozen=True)
class Drawing:
    """A figure for the page, in a wide and a narrow form of which the style sheet shows one.

    Attributes:
        anchor: the id under which the page links to it.
        caption: the sentence under it.
        wide: inline SVG for screens and paper, 720 units wide.
        narrow: inline SVG for phones, 350 units wide.
    """

    anchor: str
    caption: str
    wide: str
    narrow: str


@contextmanager
def settings() -> Iterator[None]:
    """Matplotlib's defaults and ours for the length of a block; the caller's settings come back after it."""
    import matplotlib as mpl

    blank = {
        name: value
        for name, value in mpl.rcParamsDefault.items()
        if name not in {"backend", "interactive", "toolbar", "timezone", "webagg.port"}
    }
    with mpl.rc_context({**blank, **_SETTINGS}):  # type: ignore[dict-item]
        yield


def blank(width: float, height: float) -> Figure:
    """An empty figure whose units are CSS pixels once it is on the page."""
    from matplotlib.figure import Figure as New

    return New(figsize=(width / 72, height / 72))


def axes(figure: Figure, left: float, top: float, width: float, height: float) -> Axes:
    """Axes placed in pixels from the figure's top left corner, with only the bottom line drawn."""
    across, down = figure.get_figwidth() * 72, figure.get_figheight() * 72
    made = figure.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))
    for side in ("left", "right", "top"):
        made.spines[side].set_visible(False)
    made.tick_params(length=0)
    return made


def render(figure: Figure, name: str, title: str, description: str) -> str:
    """The figure as inline SVG.

    Args:
        figure: the drawing, coloured only by this module's names.
        name: a prefix, unique on the page, for the ids inside.
        title: what a screen reader announces.
        description: what it reads on request: the drawing's content in a sentence.

    Returns:
        An ``svg`` element without namespaces, metadata, global styles or fixed size; the same bytes
        every time.
    """
    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", metadata=nothing)
    return _adopt(buffer.getvalue(), name, title, description)


def _adopt(drawn: str, name: str, title: str, description: str) -> str:
    box = re.search(r'viewBox="([^"]+)"', drawn)
    if box is None:
        message = "expected matplotlib to write a viewBox; the SVG has none"
        raise RuntimeError(message)
    body = drawn[drawn.index(">", drawn.index("<svg")) + 1 : drawn.rindex("</svg>")]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'<defs>\s*<style type="text/css">.*?</style>\s*</defs>', "", body, flags=re.DOTALL)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    body = _own_names(body, name)
    for colour, variable in _VARIABLES.items():
        body = body.replace(colour, f"var({variable})")
    body = re.sub(r"font-family: [^;\"]+", "font-family: inherit", body)
    body = re.sub(r">\s+<", "><", body).strip()
    return (
        f'<svg viewBox="{box.group(1)}" role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-desc">{html.escape(description)}</desc>{body}</svg>'
    )


def _own_names(body: str, name: str) -> str:
    """Keep the ids that something refers to, under a prefix of their own; drop the rest."""
    used = set(re.findall(r"url\(#([^)]+)\)", body)) | set(re.findall(r'xlink:href="#([^"]+)"', body))
    body = re.sub(
        r' id="([^"]+)"', lambda found: f' id="{name}-{found[1]}"' if found[1] in used else "", body
    )
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    return re.sub(r'xlink:href="#([^"]+)"', rf'href="#{name}-\1"', body)
