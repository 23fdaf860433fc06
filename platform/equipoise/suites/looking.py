"""Which registered look a suite has reached, and what may be seen at it."""

import re

from equipoise.suites.jobs import cells_of
from equipoise.suites.judge import Results
from equipoise_preregistration import Suite
from equipoise_preregistration.amendment import Amendment

__all__ = ["late", "look_reached", "seen_at"]

_BLOCK = re.compile(r"b(\d+)/")


def look_reached(suite: Suite, results: Results) -> int | None:
    """The last registered look whose blocks are all complete, by its number of blocks; None before the first.

    Args:
        suite: as registered; without looks, its one look is after the last block.
        results: of its jobs, by key.
    """
    done = {
        (cell["condition"], cell["arm"], cell["twin"], cell["block"])
        for cell in (result["cell"] for result in results.values() if result["kind"] == "cell")
    }
    lacking = {
        cell.block
        for cell in cells_of(suite)
        if (cell.condition, cell.arm, cell.twin, cell.block) not in done
    }
    whole = min(lacking, default=suite.blocks)
    return max((look for look in suite.analysis.looks or (suite.blocks,) if look <= whole), default=None)


def seen_at(look: int, results: Results) -> Results:
    """The results of the first blocks and those of no block; what came later stays unseen."""
    return {
        key: result
        for key, result in results.items()
        if (block := _BLOCK.match(key)) is None or int(block[1]) < look
    }


def late(amendments: tuple[Amendment, ...], first_seen: float | None) -> tuple[str, ...]:
    """A sentence for each amendment that was made when a run of the comparison could have been seen.

    Args:
        amendments: of the registration.
        first_seen: when the first of its runs ended, in seconds since 1970 (UTC); None before.
    """
    if first_seen is None:
        return ()
    return tuple(
        f"the registration was amended on {item.amended_at:%Y-%m-%d %H:%M} UTC, after a run had ended: {item.reason}"
        for item in amendments
        if item.amended_at.timestamp() > first_seen
    )
