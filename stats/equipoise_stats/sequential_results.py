"""What a look at an unfinished suite says: the plan of looks, and each contrast's path along it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LookPoint:
    """One contrast at one look.

    Attributes:
        blocks: complete blocks at the look.
        t: its statistic; None where nothing varies or nothing can be estimated.
        p: of this look alone.
        e: the evidence against the null, with ``e-process``.
        boundary: the p value that rejects at the first step of the contrast's family; for ``e-process`` the e
            value that does.
        p_adjusted: over the looks so far and the family.
        crossed: whether it is at or below the level.
    """

    blocks: int
    t: float | None
    p: float | None
    e: float | None
    boundary: float
    p_adjusted: float
    crossed: bool


@dataclass(frozen=True)
class Sequential:
    """The plan of looks, and where this analysis stands in it.

    Attributes:
        spending: ``obf``, ``pocock`` or ``e-process``.
        look: which look this is, counted from 1.
        looks: the registered looks, by their numbers of blocks.
        z: the critical |z| of every look at the whole level; empty with ``e-process``.
        nominal: the same as two-sided p values.
        sentence: for the report.
    """

    spending: str
    look: int
    looks: tuple[int, ...]
    z: tuple[float, ...]
    nominal: tuple[float, ...]
    sentence: str
