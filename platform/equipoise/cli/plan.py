"""`equipoise plan`: what a suite would run and cost, and the smallest effect it could detect."""

from pathlib import Path
from typing import Annotated, Any

import typer

from equipoise.cli.home import DEFAULT_HOME
from equipoise.cli.options import Home, Json, SuiteFile
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.progress import duration
from equipoise.cli.suite_file import open_suite

__all__ = ["plan"]

Spread = Annotated[
    float,
    typer.Option(
        "--sd",
        min=1e-6,
        max=0.5,
        help="Assumed standard deviation of a run's success rate within its block.",
    ),
]


PilotHome = Annotated[
    Path | None,
    typer.Option(
        "--pilot",
        help="Project folder in which the same conditions were run, at least in part: examples, FLOPs and times are "
        "taken from there.",
        file_okay=False,
    ),
]


def plan(
    suite: SuiteFile,
    *,
    sd: Spread = 0.04,
    pilot: PilotHome = None,
    home: Home = DEFAULT_HOME,
    as_json: Json = False,
) -> None:
    """Show cells, jobs, doses, costs and the minimal detectable effect of a suite; nothing is run."""
    from equipoise.suites.piloting import earlier_run, read_pilot
    from equipoise.suites.planning import outline
    from equipoise.suites.power import power_in_plan

    checked = open_suite(suite).suite
    measured = earlier_run(home, checked) if pilot is None else read_pilot(pilot, checked)
    outlined = outline(checked, sd, measured)
    outlined["power"], lacking = power_in_plan(checked, sd)
    outlined["warnings"] += [lacking] if lacking else []
    if as_json:
        show_json(outlined)
        return
    apart = ("warnings", "cells_by_arm", "pilot", "power")
    rows = [
        (name.replace("_", " "), _written(value)) for name, value in outlined.items() if name not in apart
    ]
    show_table("", ("", ""), rows)
    _show_cells(outlined["cells_by_arm"], known=measured is not None)
    if outlined["power"] is not None:
        show_table("Power", _POWER, _powers(outlined["power"]))
    for warning in outlined["warnings"]:
        say(f"warning: {warning}")
    say(_source(outlined["pilot"]))
    say(
        "Power is that of the smallest effect that matters; `equipoise power` says more, and from a pilot's spreads."
    )
    say("The assumed spread is --sd; take it from a pilot on seeds that the suite does not use.")


_COLUMNS = ("condition", "arm", "leaves", "slots", "steps", "FLOPs", "time", "fill")


def _show_cells(rows: list[dict[str, Any]], *, known: bool) -> None:
    """A row for each condition and arm; before a pilot, when all conditions look alike, a row for each arm."""
    if known:
        show_table("Each run, by condition and arm", _COLUMNS, [_cell(row) for row in rows])
        say(
            "leaves: examples, and the optimizer steps they are worth, that the rule gives a run; slots: what it gets."
        )
        return
    first = {row["arm"]: {**row, "condition": "each"} for row in reversed(rows)}
    show_table("Each run, by arm", _COLUMNS, [_cell(first[arm]) for arm in reversed(first)])


_POWER = ("contrast", "detects", "power", "equal", "blocks", "falsely claimed", "by native runs")


def _powers(told: dict[str, Any]) -> list[tuple[str, ...]]:
    """One row a family; false claims, the worst of the scenarios without content, beside content."""
    rows = []
    for family in told["families"]:
        content = family["kind"] == "content"
        false = [told[name] if content else {} for name in ("false_content", "false_native")]
        rows.append(
            (
                family["kind"],
                f"{family['mde']:.4f}",
                f"{family['power']:.0%}",
                f"{family['equivalence']:.0%}",
                str(family["blocks_to_detect"] or "thousands"),
                *(f"{max(rates.values()):.0%}" if rates else "" for rates in false),
            )
        )
    return rows


def _source(pilot: str | None) -> str:
    if pilot is not None:
        return f"Examples, fills, FLOPs and times are means of {pilot}, scaled by the rollouts collected in a block."
    return (
        "Not known before credit is measured (?): how many examples each rule leaves, hence fills and repetition, "
        "FLOPs and times. Run a few blocks under another `seed` in a folder of their own "
        "(`equipoise run PILOT.yaml --exploratory --home pilot`), and give it with `--pilot pilot`."
    )


def _cell(row: dict[str, Any]) -> tuple[str, ...]:
    def number(name: str, form: str = "g") -> str:
        return "?" if row[name] is None else format(row[name], form)

    time = "?" if row["seconds"] is None else duration(row["seconds"])
    return (
        row["condition"],
        row["arm"],
        "?" if row["native_examples"] is None else f"{row['native_examples']} in {row['native_steps']}",
        number("slots"),
        number("steps"),
        number("flops", ".2e"),
        time,
        _filling(row),
    )


def _filling(row: dict[str, Any]) -> str:
    """How the slots are filled, in words."""
    if row["fill"] == "refused":
        return "refused, ends untrained: see the warnings"
    words = [row["fill"] or "?"]
    if row["share_repeated"]:
        words.append(f"each shown {row['repetition']:g}x, {row['share_repeated']:.0%} of slots repeat one")
    if row["share_padding"]:
        words.append(f"{row['share_padding']:.0%} of slots are padding")
    if row["refills"]:
        words.append(f"about {row['refills']:g} further rollouts a task")
    if row["prompts"] is not None and row["prompts"] != row["of_prompts"]:
        words.append(f"{row['prompts']} of {row['of_prompts']} prompts")
    return ", ".join(words)


def _written(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{kind} {count}" for kind, count in value.items())
    return "cannot be estimated" if value is None else value
