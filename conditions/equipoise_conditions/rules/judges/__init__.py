"""Rules that ask a judge, and a router that asks it less often."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.judges.capo import CAPO
from equipoise_conditions.rules.judges.critic_search import CRITIC_SEARCH
from equipoise_conditions.rules.judges.turn_judge import TURN_JUDGE

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (TURN_JUDGE, CAPO, CRITIC_SEARCH)
