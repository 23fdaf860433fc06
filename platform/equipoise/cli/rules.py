"""`equipoise rules`: the credit rules and their cards."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from equipoise.cli.options import Json
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.rule_page import markdown, written
from equipoise_conditions.errors import FaultyPlugIn, RuleError
from equipoise_conditions.names import ALIASES, fold
from equipoise_conditions.registry import RULES, Rule, find_rule, plug_ins

if TYPE_CHECKING:
    from equipoise_conditions.survey import Method

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
    name: Annotated[
        str, typer.Argument(metavar="RULE", help="Name of a rule, or of a method of the survey.")
    ],
    *,
    as_json: Json = False,
) -> None:
    """Show one rule: its card, its parameters and its presets; or why no rule stands for a method of the survey."""
    rule, said = _meant(name)
    if not isinstance(rule, Rule):
        facts = asdict(rule)
        if as_json:
            show_json(facts)
            return
        rows = (
            (key.replace("_", " "), value) for key, value in facts.items() if value not in (None, "", (), {})
        )
        show_table(f"{rule.name}: {rule.status}", ("", ""), rows)
        return
    if as_json:
        show_json(card(rule))
        return
    if said:
        say(said)
    _show_rule(rule)


def _show_rule(rule: Rule) -> None:
    facts = {**asdict(rule.card), "needs": ", ".join(sorted(rule.needed())) or "nothing but trajectories"}
    show_table(rule.name, ("", ""), ((key.replace("_", " "), value) for key, value in facts.items()))
    rows = ((item.name, item.default, item.expected, item.doc) for item in rule.settable)
    show_table("Parameters", ("name", "default", "expected", "what it changes"), rows)
    if rule.presets:
        presets = ((name, written(values)) for name, values in rule.presets.items())
        show_table("Presets", ("preset", "stands for"), presets)


def _meant(name: str) -> "tuple[Rule | Method, str]":
    """The rule of this name, else the one known by it, else the survey's method; and a word on what it is called.

    Raises:
        RuleError: when nothing is called so; with the nearest name.
    """
    from equipoise_conditions.survey import METHODS

    try:
        return find_rule(name), ""
    except FaultyPlugIn:
        raise
    except RuleError:
        folded = fold(name)
        for alias, (rule, preset) in ALIASES.items():
            if folded == fold(alias):
                return find_rule(rule), _called(name, rule, {"preset": preset} if preset else {})
        for method in METHODS:
            if folded in (fold(method.id), fold(method.name)):
                if method.rule is None:
                    return method, ""
                return find_rule(method.rule), _called(method.name, method.rule, method.params)
        raise


def _called(name: str, rule: str, params: dict[str, object]) -> str:
    return f"{name} is the rule {rule}" + (f" with {written(params)}" if params else "")


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
