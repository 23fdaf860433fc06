"""Rules that read credit out of the policy's own probabilities."""

from equipoise_conditions.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = ()
