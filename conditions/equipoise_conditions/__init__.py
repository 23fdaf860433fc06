"""Credit rules as pure functions on columnar trajectories, their twins and their cards."""

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import (
    Boundary,
    Coalitions,
    Context,
    Continuations,
    Cuts,
    Need,
    Replays,
    Verdicts,
)
from equipoise_conditions.credit import Credit, Reason
from equipoise_conditions.errors import MissingNeed, RuleError, UndeclaredNeed
from equipoise_conditions.forks import Forks, select_forks
from equipoise_conditions.projection import to_tokens, to_turns
from equipoise_conditions.registry import RULES, find_rule
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.turns.gigpo import anchor_hit_rate
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.twins import Twin, draw, shuffle_active_share, twin

__all__ = [
    "RULES",
    "BoolArray",
    "Boundary",
    "Card",
    "Coalitions",
    "Context",
    "Continuations",
    "Credit",
    "Cuts",
    "FloatArray",
    "Forks",
    "IntArray",
    "MissingNeed",
    "Need",
    "Parameter",
    "Reason",
    "Replays",
    "Rule",
    "RuleError",
    "Trajectories",
    "Twin",
    "UndeclaredNeed",
    "Verdicts",
    "anchor_hit_rate",
    "draw",
    "find_rule",
    "select_forks",
    "shuffle_active_share",
    "to_tokens",
    "to_turns",
    "twin",
]
