"""Rules that compare turns with turns."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.turns.adca_grpo import ADCA_GRPO
from equipoise_conditions.rules.turns.anchors import similar_groups, state_keys
from equipoise_conditions.rules.turns.gigpo import GIGPO, shared_returns
from equipoise_conditions.rules.turns.igpo import IGPO
from equipoise_conditions.rules.turns.igpo_token import IGPO_TOKEN
from equipoise_conditions.rules.turns.mt_grpo import MT_GRPO
from equipoise_conditions.rules.turns.turn_rewards import TURN_REWARDS

__all__ = ["RULES", "shared_returns", "similar_groups", "state_keys"]

RULES: tuple[Rule, ...] = (GIGPO, IGPO, IGPO_TOKEN, MT_GRPO, TURN_REWARDS, ADCA_GRPO)
