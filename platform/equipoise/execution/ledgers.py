"""The ledger of a cell as a table beside its other files."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from equipoise_budget import as_csv, side_by_side

if TYPE_CHECKING:
    from equipoise_budget.allocation import Table

__all__ = ["LEDGER_FILE", "write_ledger"]

LEDGER_FILE: Final = "ledger.csv"


def write_ledger(folder: Path, received: Mapping[str, object]) -> None:
    """Write one line an optimizer step, what was allocated beside what was counted.

    Args:
        folder: of the cell.
        received: `allocated` and `steps`, each by column.
    """
    allocated, counted = (cast("Table", received[name]) for name in ("allocated", "steps"))
    (folder / LEDGER_FILE).write_text(as_csv(side_by_side(allocated, counted)), encoding="utf-8")
