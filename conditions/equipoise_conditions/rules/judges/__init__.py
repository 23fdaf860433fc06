"""Rules that ask a judge."""

from equipoise_conditions.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = ()
