"""Budgets that are exact: plans of slots, and the ledger of what was really spent."""

from equipoise_budget.checks import breaches
from equipoise_budget.dose import Dose, PlannedDose, counted_dose, kish
from equipoise_budget.errors import BudgetError, BudgetExceeded, EmptyBudget
from equipoise_budget.fills import matched, native
from equipoise_budget.flops import Decoder
from equipoise_budget.ledger import Cost, Ledger, StepRow
from equipoise_budget.meters import Meter
from equipoise_budget.plan import Budget, Plan

__all__ = [
    "Budget",
    "BudgetError",
    "BudgetExceeded",
    "Cost",
    "Decoder",
    "Dose",
    "EmptyBudget",
    "Ledger",
    "Meter",
    "Plan",
    "PlannedDose",
    "StepRow",
    "breaches",
    "counted_dose",
    "kish",
    "matched",
    "native",
]
