"""Budgets that are exact: plans of slots, and the ledger of what was really spent."""
