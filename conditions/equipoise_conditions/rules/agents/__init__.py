"""Rules that share credit among agents or other players."""

from equipoise_conditions.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = ()
