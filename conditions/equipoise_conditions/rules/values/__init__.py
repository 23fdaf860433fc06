"""Rules that bootstrap from values: generalised advantages, process rewards, Monte-Carlo values, baselines."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.values.otb import OTB

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (OTB,)
