"""Rules of tokens and segments."""

from equipoise_conditions.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = ()
