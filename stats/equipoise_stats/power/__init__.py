"""What a design can detect, in closed form."""

from equipoise_stats.power.closed import (
    MOST_BLOCKS,
    blocks_to_settle,
    detectable_effect,
    family_critical,
    fewest_blocks,
    planned_mde,
)
from equipoise_stats.power.designs import Design, blocks_for_power, mde, power, tost_power

__all__ = [
    "MOST_BLOCKS",
    "Design",
    "blocks_for_power",
    "blocks_to_settle",
    "detectable_effect",
    "family_critical",
    "fewest_blocks",
    "mde",
    "planned_mde",
    "power",
    "tost_power",
]
