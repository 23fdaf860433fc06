"""Rules that ask what another action would have brought, by hindsight, forks or replay."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.counterfactual.c3 import C3
from equipoise_conditions.rules.counterfactual.carl import CARL
from equipoise_conditions.rules.counterfactual.ccpo import CCPO
from equipoise_conditions.rules.counterfactual.cocoa import COCOA
from equipoise_conditions.rules.counterfactual.hca import HCA
from equipoise_conditions.rules.counterfactual.hcapo import HCAPO
from equipoise_conditions.rules.counterfactual.replay import REPLAY

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (HCAPO, HCA, COCOA, C3, CARL, CCPO, REPLAY)
