"""Household chores in text: ALFWorld's six kinds of task, its rules and its words, in plain Python."""

from equipoise.environments.household.config import HouseholdConfig
from equipoise.environments.household.environment import Household, household
from equipoise.environments.household.expert import imperfect, plan, search
from equipoise.environments.household.game import Game, HouseholdState
from equipoise.environments.household.generator import Instance
from equipoise.environments.household.terse import TerseWords
from equipoise.environments.household.wording import AlfworldWords, split_words

__all__ = [
    "AlfworldWords",
    "Game",
    "Household",
    "HouseholdConfig",
    "HouseholdState",
    "Instance",
    "TerseWords",
    "household",
    "imperfect",
    "plan",
    "search",
    "split_words",
]
