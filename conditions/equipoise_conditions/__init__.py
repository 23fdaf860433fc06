"""Credit rules as pure functions on columnar trajectories, their twins and their cards."""

from equipoise_conditions.arrays import BoolArray, FloatArray, IntArray
from equipoise_conditions.context import Context, Need, Replays
from equipoise_conditions.credit import Credit, Reason
from equipoise_conditions.errors import MissingNeed, RuleError, UndeclaredNeed
from equipoise_conditions.forks import Forks, select_forks
from equipoise_conditions.registry import RULES, find_rule
from equipoise_conditions.rule import Card, Parameter, Rule
from equipoise_conditions.rules.turns.gigpo import anchor_hit_rate
from equipoise_conditions.trajectories import Trajectories
from equipoise_conditions.twins import permutation

__all__ = [
    "RULES",
    "BoolArray",
    "Card",
    "Context",
    "Credit",
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
    "UndeclaredNeed",
    "anchor_hit_rate",
    "find_rule",
    "permutation",
    "select_forks",
]
