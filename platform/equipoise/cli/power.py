"""`equipoise power`: what the registered plan of a suite can show, and how often it would err."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from equipoise.cli.options import Json, SuiteFile
from equipoise.cli.output import say, show_json, show_table
from equipoise.cli.suite_file import open_suite

if TYPE_CHECKING:
    from equipoise.suites.power import Spreads
    from equipoise_preregistration import Suite
    from equipoise_stats.simulate import FamilyPower, Outlook

__all__ = ["power"]

RunSpread = Annotated[
    float | None,
    typer.Option("--run-sd", min=0.0, max=0.5, help="Assumed SD between runs of one cell and block [0.03]."),
]
BlockSpread = Annotated[
    float | None, typer.Option("--block-sd", min=0.0, max=0.5, help="Assumed SD between blocks [0.015].")
]
JudgingSpread = Annotated[
    float | None,
    typer.Option("--evaluation-sd", min=0.0, max=0.5, help="SD of judging a run [from its episodes]."),
]
PilotHome = Annotated[
    Path | None,
    typer.Option(
        "--pilot",
        help="Folder with runs of the same conditions on other seeds: spreads are upper 80 % bounds from there.",
        file_okay=False,
    ),
]
Diverging = Annotated[
    float,
    typer.Option("--divergence", min=0.0, max=0.9, help="Share of runs that diverge, worse ones more often."),
]
Sets = Annotated[int, typer.Option("--sets", min=200, max=200_000, help="Simulated suites for each rate.")]


def power(
    suite: SuiteFile,
    *,
    run_sd: RunSpread = None,
    block_sd: BlockSpread = None,
    evaluation_sd: JudgingSpread = None,
    pilot: PilotHome = None,
    divergence: Diverging = 0.0,
    sets: Sets = 4_000,
    as_json: Json = False,
) -> None:
    """Show detectable effects, power, equivalence and false claims of a suite's plan; nothing is run."""
    from equipoise.suites.power import assumed, figures, power_of_suite

    checked = open_suite(suite).suite
    if pilot is None:
        spreads = assumed(checked, run_sd, block_sd, evaluation_sd)
    else:
        spreads = _from_pilot(checked, pilot, (run_sd, block_sd, evaluation_sd))
    outlook = power_of_suite(checked, spreads, divergence=divergence, sets=sets)
    if as_json:
        show_json(figures(outlook, spreads))
        return
    _show(outlook, spreads)


def _from_pilot(suite: "Suite", home: Path, stated: tuple[float | None, ...]) -> "Spreads":
    from equipoise.errors import HomeError
    from equipoise.suites.piloting import read_pilot
    from equipoise.suites.power import piloted

    if any(value is not None for value in stated):
        message = "expected either --pilot or --run-sd, --block-sd and --evaluation-sd, got both; leave one of them out"
        raise typer.BadParameter(message)
    found = piloted(suite, read_pilot(home, suite))
    if found is None:
        message = (
            f"expected a pilot in {home} with at least two cells in two complete blocks, found fewer; run more blocks, "
            "or state spreads with --run-sd, --block-sd and --evaluation-sd"
        )
        raise HomeError(message)
    return found


def _show(outlook: "Outlook", spreads: "Spreads") -> None:
    rows = [
        ("blocks", outlook.blocks),
        ("twins", outlook.twins),
        ("analysis", f"{outlook.engine}, {outlook.multiplicity}"),
        ("looks after", ", ".join(map(str, outlook.looks))),
        ("smallest effect", f"{outlook.smallest_effect:g}"),
        ("SD of runs", f"{spreads.run:.4f}"),
        ("SD of judging", f"{spreads.evaluation:.4f}"),
        ("SD of blocks", f"{spreads.block:.4f}"),
        ("chance that no control fails", f"{outlook.not_void:.1%}"),
    ]
    show_table("", ("", ""), rows)
    target = f"{outlook.target:.0%}"
    columns = ("contrast", "of", "detects", "power", "simulated", "equal", "blocks", "for equality")
    show_table("Power of each family", columns, [_family(f) for f in outlook.families])
    say(
        f"detects: the effect found with {target} power. power, simulated: chance of claiming the smallest effect, at "
        "the family's first step, and by all steps. equal: chance of showing equivalence where there is no effect. "
        f"blocks, for equality: that reach {target} for the smallest effect and for equivalence."
    )
    rates = ("no content, and ...", "this plan", "native runs alone")
    show_table("How often a rule would be claimed that is no better", rates, _false(outlook))
    say(f"{outlook.sets} simulated suites a rate, seed {outlook.seed}; spreads {spreads.source}.")
    if not outlook.families:
        say("No family of contrasts: the suite has only its baseline and controls, or lacks the arms.")


def _family(family: "FamilyPower") -> tuple[object, ...]:
    def blocks(number: int | None) -> str:
        return "thousands" if number is None else str(number)

    needed = blocks(family.blocks_to_detect), blocks(family.blocks_for_equivalence)
    rates = (f"{rate:.1%}" for rate in (family.power, family.power_simulated, family.equivalence))
    return (family.kind, family.members, f"{family.mde:.4f}", *rates, *needed)


_WORDS = {
    "S0": "volume up to ten times",
    "S1": "effective sample size down to 0.2 besides",
    "S2": "success that saturates with volume",
    "S5": "one rule whose runs spread three times as much",
}


def _false(outlook: "Outlook") -> list[tuple[object, ...]]:
    def shown(rates: Mapping[str, float], name: str) -> str:
        return f"{rates[name]:.1%}" if name in rates else "none is made"

    return [
        (words, shown(outlook.false_content, name), shown(outlook.false_native, name))
        for name, words in _WORDS.items()
    ]
