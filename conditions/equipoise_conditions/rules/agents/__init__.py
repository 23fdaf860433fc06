"""Rules that share credit among agents or other players."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.agents.dr_mas import DR_MAS
from equipoise_conditions.rules.agents.judged import LLM_MCA, MAPPA
from equipoise_conditions.rules.agents.mgrpo import MGRPO
from equipoise_conditions.rules.agents.scar import SCAR
from equipoise_conditions.rules.agents.shapley import SHAPLEY
from equipoise_conditions.rules.agents.sharp import SHARP

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (SHARP, SHAPLEY, SCAR, MGRPO, DR_MAS, LLM_MCA, MAPPA)
