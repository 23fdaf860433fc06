"""`equipoise rules`: the credit rules and their cards."""

from dataclasses import asdict
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from equipoise.cli.options import Json
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.rule_page import markdown, written
from equipoise_conditions.registry import RULES, Rule, find_rule, plug_ins

__all__ = ["card", "rules"]


class _ShowByName(TyperGroup):
    """A group in which the name of a rule stands for showing it: `equipoise rules gigpo`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command asked for, or `show` when the first word is none."""
        return super().resolve_command(ctx, args if args[0] in self.commands else ["show", *args])


rules = typer.Typer(
    cls=_ShowByName,
    help="Show the credit rules: what each computes, drops and costs, and where it comes from.",
    invoke_without_command=True,
    add_completion=False,
)


@rules.callback()
def _default(context: typer.Context, *, as_json: Json = False) -> None:
    """Show the credit rules: what each computes, drops and costs, and where it comes from."""
    if context.invoked_subcommand is None:
        list_(as_json=as_json)


@rules.command("list")
def list_(*, as_json: Json = False) -> None:
    """List the rules."""
    added, faulty = plug_ins()
    found = (RULES | added).values()
    if as_json:
        show_json([card(rule) for rule in found])
        return
    rows = (
        (rule.name, rule.card.granularity, rule.card.methodology, rule.card.title, rule.card.drops)
        for rule in found
    )
    show_table("", ("rule", "credit per", "family", "what it is", "leaves out"), rows)
    for fault in faulty.values():
        say(f"cannot be used: {fault}")
    say(
        "`equipoise rules show RULE` for one of them; `equipoise rules survey` for the 47 methods of the 2026 survey."
    )


@rules.command()
def show(
    name: Annotated[str, typer.Argument(metavar="RULE", help="Name of a rule.")], *, as_json: Json = False
) -> None:
    """Show one rule: its card, its parameters and its presets."""
    rule = find_rule(name)
    if as_json:
        show_json(card(rule))
        return
    facts = {**asdict(rule.card), "needs": ", ".join(sorted(rule.needed())) or "nothing but trajectories"}
    show_table(rule.name, ("", ""), ((key.replace("_", " "), value) for key, value in facts.items()))
    rows = ((item.name, item.default, item.expected, item.doc) for item in rule.settable)
    show_table("Parameters", ("name", "default", "expected", "what it changes"), rows)
    if rule.presets:
        presets = ((name, written(values)) for name, values in rule.presets.items())
        show_table("Presets", ("preset", "stands for"), presets)


@rules.command()
def survey(*, as_json: Json = False) -> None:
    """List the 47 methods of the 2026 survey, and what stands for each here."""
    from equipoise_conditions.survey import METHODS

    if as_json:
        show_json([asdict(method) for method in METHODS])
        return
    rows = (
        (method.number, method.name, method.arxiv, method.rule or "", method.preset or "", method.status)
        for method in METHODS
    )
    show_table("", ("no.", "method", "arXiv", "rule", "preset", "status"), rows)


@rules.command()
def page() -> None:
    """Print all cards as one Markdown page."""
    say(markdown().rstrip("\n"))


def card(rule: Rule) -> dict[str, Any]:
    """All that is known of a rule, as JSON."""
    parameters = [
        {"name": item.name, "default": item.default, "expected": item.expected, "doc": item.doc}
        for item in rule.settable
    ]
    return {
        **asdict(rule.card),
        "needs": sorted(rule.needed()),
        "parameters": parameters,
        "presets": {name: dict(values) for name, values in rule.presets.items()},
    }
