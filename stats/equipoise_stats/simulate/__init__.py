"""Simulation of a registered plan: its power, its false claims, and what a naive analysis would have said."""

from equipoise_stats.simulate.decide import Judged, judge
from equipoise_stats.simulate.naive import native_claims
from equipoise_stats.simulate.outlook import FamilyPower, Outlook, look_ahead
from equipoise_stats.simulate.plan import Plan
from equipoise_stats.simulate.rates import Rates, false_claims, power_of, study
from equipoise_stats.simulate.scenarios import NULLS, scenario
from equipoise_stats.simulate.world import Divergence, World, draw, truth

__all__ = [
    "NULLS",
    "Divergence",
    "FamilyPower",
    "Judged",
    "Outlook",
    "Plan",
    "Rates",
    "World",
    "draw",
    "false_claims",
    "judge",
    "look_ahead",
    "native_claims",
    "power_of",
    "scenario",
    "study",
    "truth",
]
