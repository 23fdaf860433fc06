"""`equipoise rules`: the credit rules and their cards."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from equipoise.cli.options import Json
from equipoise.cli.output import show_json, show_table
from equipoise_conditions.registry import Rule, find_rule
from equipoise_conditions.registry import rules as all_rules

__all__ = ["rules"]


def rules(
    name: Annotated[str | None, typer.Argument(metavar="RULE", help="One rule, with its parameters.")] = None,
    *,
    as_json: Json = False,
) -> None:
    """Show the credit rules: what each computes, drops and costs, and where it comes from."""
    if name is not None:
        _show_one(find_rule(name), as_json=as_json)
        return
    found = all_rules().values()
    if as_json:
        show_json([card(rule) for rule in found])
        return
    rows = ((rule.name, rule.card.granularity, rule.card.title, rule.card.drops) for rule in found)
    show_table("", ("rule", "credit per", "what it is", "leaves out"), rows)


def card(rule: Rule) -> dict[str, Any]:
    """All that is known of a rule, as JSON."""
    parameters = [
        {"name": item.name, "default": item.default, "expected": item.expected, "doc": item.doc}
        for item in rule.parameters
    ]
    return {**asdict(rule.card), "needs": sorted(rule.needs), "parameters": parameters}


def _show_one(rule: Rule, *, as_json: bool) -> None:
    if as_json:
        show_json(card(rule))
        return
    facts = {**asdict(rule.card), "needs": ", ".join(sorted(rule.needs)) or "nothing but trajectories"}
    show_table(rule.name, ("", ""), ((key.replace("_", " "), value) for key, value in facts.items()))
    rows = ((item.name, item.default, item.expected, item.doc) for item in rule.parameters)
    show_table("Parameters", ("name", "default", "expected", "what it changes"), rows)
