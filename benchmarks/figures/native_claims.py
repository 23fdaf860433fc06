"""Draws docs/images/native-claims.svg: how often a better rule is claimed where no rule is better.

Run it again after a change of the simulator; the same versions of numpy and matplotlib give the same bytes.
"""

import sys
from pathlib import Path

import numpy as np

from equipoise_stats.decomposition import CONTENT
from equipoise_stats.records import Question
from equipoise_stats.simulate import Plan, draw, native_claims, scenario, study

SETS, BLOCKS = 4_000, (5, 10, 20)
PANELS = {
    "S0": "No content; volume up to 10x",
    "S5": "No content; besides, one rule\nspreads three times as much",
}
SERIES = ("native runs, each rule", "native runs, Holm", "content, pooled error", "content, both analyses")
COLOURS = ("#b2182b", "#ef8a62", "#67a9cf", "#2166ac")
TARGET = Path(__file__).parents[2] / "docs" / "images" / "native-claims.svg"


def rates(name: str) -> list[list[float]]:
    """Shares of suites with a false claim, by series and blocks."""
    names = ("base", *(f"rule{i}" for i in range(6)))
    columns = []
    for blocks in BLOCKS:
        column = []
        plan = Plan(Question("base", names, identical=frozenset({"base"})), blocks)
        world = scenario(name, plan)
        y = draw(plan, world, SETS, np.random.default_rng(blocks))
        column += [float(native_claims(plan, y, adjusted=holm).any(axis=1).mean()) for holm in (False, True)]
        for engine in ("exact-stratum", "both"):
            held = Question("base", names, identical=frozenset({"base"}), engine=engine)
            rated = study(Plan(held, blocks), world, SETS, blocks, (CONTENT,))[CONTENT]
            column.append(rated.any_difference)
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def main(target: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "equipoise", "font.family": "DejaVu Sans", "font.size": 9})
    figure, axes = plt.subplots(1, len(PANELS), figsize=(7.6, 3.2), sharey=True)
    for axis, (name, title) in zip(axes, PANELS.items(), strict=True):
        for place, (row, label, colour) in enumerate(zip(rates(name), SERIES, COLOURS, strict=True)):
            where = np.arange(len(BLOCKS)) + 0.2 * (place - 1.5)
            bars = axis.bar(where, 100 * np.array(row), 0.19, color=colour, label=label)
            axis.bar_label(bars, fmt="%.0f", fontsize=7, padding=1)
        axis.axhline(5, color="black", linewidth=0.8, linestyle="--")
        axis.set_xticks(range(len(BLOCKS)), [f"{blocks} blocks" for blocks in BLOCKS])
        axis.set_title(title, fontsize=9)
        axis.set_ylim(0, 108)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("suites with a false claim, %")
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="lower center", ncols=4, fontsize=8, frameon=False
    )
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(target, format="svg", metadata={"Date": None, "Creator": None})
    plt.close(figure)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
