"""Separation: directions of the coefficients along which the likelihood rises for ever.

Where every episode of a cell succeeds, the maximum-likelihood coefficient of that cell is infinite, and a
fitter returns whatever large number its last step reached. The condition is that of the plain logistic
regression (Albert & Anderson 1984, *Biometrika* 71), because each conditional likelihood rises along such a
direction whatever the random effects are. It is found by linear programming (Konis 2007, *Linear programming
algorithms for detecting separated data in binary logistic regression*). In the limit separated rows have
likelihood 1; leaving them out gives the exact supremum over all other coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise_stats.errors import StatsError
from equipoise_stats.glmm.model import FloatArray
from equipoise_stats.glmm.table import Table

# The direction is confined to [-1, 1] in every coefficient of columns scaled to 1.
MOVES = 1e-7


@dataclass(frozen=True)
class Separated:
    """One design row whose log odds are infinite.

    Attributes:
        cell: its non-zero columns.
        design: its design, over all p columns.
        successes: of ``trials``: all or none.
        direction: 1 for plus infinity, -1 for minus infinity.
    """

    cell: str
    design: tuple[float, ...]
    successes: int
    trials: int
    direction: int

    @property
    def sentence(self) -> str:
        """What happened, in words."""
        what = "every episode succeeded" if self.direction > 0 else "no episode succeeded"
        sign = "+" if self.direction > 0 else "-"
        return (
            f"{self.cell}: {what} ({self.successes} of {self.trials}), so its log odds are {sign}infinity "
            "and have no standard error"
        )


def separated(table: Table, names: tuple[str, ...]) -> tuple[npt.NDArray[np.bool_], tuple[Separated, ...]]:
    """The design rows that are separated from the rest.

    Args:
        table: pooled counts; its design may be rank deficient.
        names: the p column names.

    Returns:
        (C,) whether each distinct design row stays in, and the rows that do not.

    Raises:
        StatsError: where nothing stays in.
    """
    design = table.design
    s = np.bincount(table.row, table.successes, len(design))
    k = np.bincount(table.row, table.trials, len(design))
    side = np.where(s == k, 1.0, np.where(s == 0, -1.0, 0.0))
    scaled = design / np.maximum(np.abs(design).max(axis=0), 1e-300)
    stays = np.ones(len(design), dtype=bool)
    while np.any(stays & (side != 0)):
        moved = np.flatnonzero(stays)[_moved(scaled[stays], side[stays])]
        if not moved.size:
            break
        stays[moved] = False
    gone = tuple(
        Separated(_named(design[i], names), tuple(design[i].tolist()), int(s[i]), int(k[i]), int(side[i]))
        for i in np.flatnonzero(~stays)
    )
    if not stays.any():
        raise StatsError([*(g.sentence for g in gone), "no cell is left that a logit model can be fitted to"])
    return stays, gone


def _moved(scaled: FloatArray, side: FloatArray) -> npt.NDArray[np.intp]:
    """Rows that some direction pushes to their side while it pushes no row off it."""
    from scipy.optimize import linprog

    pure = side != 0
    ahead = scaled[pure] * side[pure][:, None]
    mixed = scaled[~pure]
    found = linprog(
        -ahead.sum(axis=0),
        A_ub=-ahead,
        b_ub=np.zeros(len(ahead)),
        A_eq=mixed if len(mixed) else None,
        b_eq=np.zeros(len(mixed)) if len(mixed) else None,
        bounds=(-1.0, 1.0),
        method="highs",
    )
    if found.x is None:
        message = f"the linear programme that looks for separation failed: {found.message}"
        raise StatsError(message)
    return np.flatnonzero(pure)[np.flatnonzero(ahead @ found.x > MOVES)]


def _named(design: FloatArray, names: tuple[str, ...]) -> str:
    """A design row by its non-zero columns, such as ``gae.matched`` or ``(Intercept) + 2 days``."""
    parts = [
        name if value == 1 else f"{value:g} {name}"
        for name, value in zip(names, design, strict=True)
        if value
    ]
    return " + ".join(parts) or "the row of zeros"


def without(table: Table, stays: npt.NDArray[np.bool_]) -> Table:
    """The table without the design rows that do not stay; the levels of the factors keep their places."""
    if stays.all():
        return table
    keep = stays[table.row]
    place = np.cumsum(stays) - 1
    return Table(
        table.successes[keep],
        table.trials[keep],
        table.design[stays],
        place[table.row[keep]].astype(np.int64),
        tuple(codes[keep] for codes in table.codes),
        table.sizes,
        table.order,
        table.constant,
    )
