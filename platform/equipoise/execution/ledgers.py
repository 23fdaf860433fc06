"""The ledger of a cell as tables beside its other files."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from equipoise_budget import Cost, as_csv, side_by_side

if TYPE_CHECKING:
    from equipoise_budget.allocation import Table

__all__ = ["LEDGER_FILE", "ROUNDS_FILE", "ledger_tables", "write_ledger"]

LEDGER_FILE: Final = "ledger.csv"
ROUNDS_FILE: Final = "rounds.csv"

_GIVEN = ("slots", "optimizer_steps", "unique_examples", "tokens_in_loss", "weight_mass", "ess_trajectories")
_MOVED = ("l2_from_start", "kl_from_start")


def write_ledger(folder: Path, received: Mapping[str, object]) -> None:
    """Write one line an optimizer step, what was allocated beside what was counted; of several rounds one each, too.

    Args:
        folder: of the cell.
        received: see `ledger_tables`.
    """
    for name, table in ledger_tables(received).items():
        (folder / name).write_text(as_csv(table), encoding="utf-8")


def ledger_tables(received: Mapping[str, object]) -> dict[str, Mapping[str, Sequence[object]]]:
    """The tables of a cell by the names of their files, from what its result tells: they can be made again from it.

    A cell that was left untrained has no steps, but its rounds have costs.

    Args:
        received: `allocated` and `steps`, each by column; of several rounds `round_of_step` and `rounds`.
    """
    tables: dict[str, Mapping[str, Sequence[object]]] = {}
    if "rounds" in received:
        tables[ROUNDS_FILE] = _rounds(cast("Sequence[Mapping[str, Any]]", received["rounds"]))
    if "allocated" not in received:
        return tables
    allocated, counted = (cast("Table", received[name]) for name in ("allocated", "steps"))
    table: Mapping[str, Sequence[object]] = side_by_side(allocated, counted)
    if "rounds" in received:
        numbers = cast("Sequence[int]", received["round_of_step"])
        table = {"step": table["step"], "round": numbers, **table}
    tables[LEDGER_FILE] = table
    return tables


def _rounds(rounds: Sequence[Mapping[str, Any]]) -> dict[str, list[object]]:
    """One row a round: what it was allocated, what was counted, how far it moved the policy, what it cost."""
    table: dict[str, list[object]] = {"round": [done["round"] for done in rounds]}
    for name in _GIVEN:
        table[f"allocated_{name}"] = [done["planned"][name] for done in rounds]
        table[name] = [done["dose"][name] for done in rounds]
    for name in _MOVED:
        table[name] = [done["dose"][name] for done in rounds]
    for name in (column.name for column in fields(Cost) if column.name != "seconds"):
        table[name] = [done["cost"][name] for done in rounds]
    return table
