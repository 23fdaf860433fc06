"""Rules that read credit out of the policy's own probabilities."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.implicit.confidence import CONFIDENCE, FLUENCY
from equipoise_conditions.rules.implicit.istar import ISTAR
from equipoise_conditions.rules.implicit.itpo import ITPO
from equipoise_conditions.rules.implicit.outcome_ratio import OUTCOME_RATIO
from equipoise_conditions.rules.implicit.ragen import RAGEN
from equipoise_conditions.rules.implicit.sweet_rl import SWEET_RL

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (ISTAR, ITPO, SWEET_RL, OUTCOME_RATIO, CONFIDENCE, FLUENCY, RAGEN)
