"""Rules of tokens and segments."""

from equipoise_conditions.rule import Rule
from equipoise_conditions.rules.tokens.hicra import HICRA, HICRA_ENTROPY
from equipoise_conditions.rules.tokens.log_ratios import R_TO_Q, SPRO, TREG
from equipoise_conditions.rules.tokens.spo import SPO_CHAIN, SPO_FIXED
from equipoise_conditions.rules.tokens.spo_tree import SPO_TREE
from equipoise_conditions.rules.tokens.tempo import TEMPO
from equipoise_conditions.rules.tokens.weights import ENTROPY_MASK, GTPO

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    SPO_CHAIN,
    SPO_FIXED,
    SPO_TREE,
    HICRA,
    HICRA_ENTROPY,
    GTPO,
    ENTROPY_MASK,
    TEMPO,
    TREG,
    R_TO_Q,
    SPRO,
)
