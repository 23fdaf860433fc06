"""Rules that ask what another action would have brought, by hindsight, forks or replay."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.counterfactual.carl import CARL
from equipoise_conditions.rules.counterfactual.hcapo import HCAPO
from equipoise_conditions.rules.counterfactual.replay import REPLAY

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (HCAPO, CARL, REPLAY)
