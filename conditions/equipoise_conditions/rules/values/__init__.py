"""Rules that bootstrap from values: generalised advantages, process rewards, Monte-Carlo values, baselines."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.values.agent_prm import AGENT_PRM
from equipoise_conditions.rules.values.archer import ARCHER
from equipoise_conditions.rules.values.bi_level_gae import BI_LEVEL_GAE
from equipoise_conditions.rules.values.gae import GAE, GAE_TURN
from equipoise_conditions.rules.values.mc_prm import MC_PRM
from equipoise_conditions.rules.values.otb import OTB
from equipoise_conditions.rules.values.poad import POAD
from equipoise_conditions.rules.values.process_reward import PROCESS_REWARD
from equipoise_conditions.rules.values.spa import RED, SPA
from equipoise_conditions.rules.values.vineppo import VINEPPO

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    GAE,
    GAE_TURN,
    BI_LEVEL_GAE,
    PROCESS_REWARD,
    VINEPPO,
    AGENT_PRM,
    MC_PRM,
    POAD,
    ARCHER,
    SPA,
    RED,
    OTB,
)
