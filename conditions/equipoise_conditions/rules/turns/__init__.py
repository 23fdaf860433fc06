"""Rules that compare turns with turns."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.turns.gigpo import GIGPO

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (GIGPO,)
