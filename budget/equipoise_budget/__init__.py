"""Budgets that are exact: plans of slots, and the ledger of what was really spent."""

from equipoise_budget.allocation import allocated_steps, as_csv, side_by_side
from equipoise_budget.axes import Turns, fitted
from equipoise_budget.budget import AXES, Budget
from equipoise_budget.checks import breaches, reached
from equipoise_budget.dose import Dose, PlannedDose, counted_dose, kish, with_levels
from equipoise_budget.errors import BudgetError, BudgetExceeded, BudgetRefused, EmptyBudget
from equipoise_budget.fills import matched, native
from equipoise_budget.flops import Decoder
from equipoise_budget.generation import LIMITS, Affordable, affordable, apportioned
from equipoise_budget.ledger import Cost, Ledger, StepRow
from equipoise_budget.meters import Meter, Meters, charge
from equipoise_budget.plan import PADDING, Plan
from equipoise_budget.refill import further_rollouts
from equipoise_budget.rounds import Joined, Levels, share_of
from equipoise_budget.stopping import Stop
from equipoise_budget.token_twins import token_twin

__all__ = [
    "AXES",
    "LIMITS",
    "PADDING",
    "Affordable",
    "Budget",
    "BudgetError",
    "BudgetExceeded",
    "BudgetRefused",
    "Cost",
    "Decoder",
    "Dose",
    "EmptyBudget",
    "Joined",
    "Ledger",
    "Levels",
    "Meter",
    "Meters",
    "Plan",
    "PlannedDose",
    "StepRow",
    "Stop",
    "Turns",
    "affordable",
    "allocated_steps",
    "apportioned",
    "as_csv",
    "breaches",
    "charge",
    "counted_dose",
    "fitted",
    "further_rollouts",
    "kish",
    "matched",
    "native",
    "reached",
    "share_of",
    "side_by_side",
    "token_twin",
    "with_levels",
]
