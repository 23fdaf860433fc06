"""Rules that give every step of an episode the same credit."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.outcome.gpg import GPG
from equipoise_conditions.rules.outcome.grpo import GRPO
from equipoise_conditions.rules.outcome.opo import OPO
from equipoise_conditions.rules.outcome.passk import PASSK
from equipoise_conditions.rules.outcome.reinforce import REINFORCE
from equipoise_conditions.rules.outcome.reinforce_pp import REINFORCE_PP, REINFORCE_PP_BASELINE
from equipoise_conditions.rules.outcome.remax import REMAX
from equipoise_conditions.rules.outcome.uniform import UNIFORM

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    GRPO,
    PASSK,
    OPO,
    GPG,
    UNIFORM,
    REINFORCE,
    REINFORCE_PP,
    REINFORCE_PP_BASELINE,
    REMAX,
)
