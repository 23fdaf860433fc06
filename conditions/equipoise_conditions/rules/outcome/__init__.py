"""Rules that give every step of an episode the same credit."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.outcome.grpo import GRPO
from equipoise_conditions.rules.outcome.reinforce import REINFORCE

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (GRPO, REINFORCE)
