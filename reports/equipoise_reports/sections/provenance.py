"""Where the numbers come from, and how a stranger checks them."""

from __future__ import annotations

from dataclasses import dataclass

from equipoise_reports import numbers
from equipoise_reports.study import Study


@dataclass(frozen=True)
class Provenance:
    """What the section shows.

    Attributes:
        facts: names and values of the registration, in reading order; the last says whether it is a digest.
        design: names and values of the registered numbers.
        lock: the dependencies, sorted.
        suite_yaml: the suite as it was written.
    """

    facts: tuple[tuple[str, str, bool], ...]
    design: tuple[tuple[str, str], ...]
    lock: tuple[str, ...]
    suite_yaml: str


def view(study: Study) -> Provenance:
    """Collect what identifies the study."""
    frozen, design = study.registration, study.design
    facts = (
        ("Registration", frozen.hash, True),
        ("Registered at", frozen.registered_at, False),
        ("Previous in the chain", frozen.previous or "none: the first of its chain", bool(frozen.previous)),
        ("Code", frozen.code_version, True),
        ("Python", frozen.python, False),
        ("Threads a run", str(frozen.threads), False),
        ("CPU capability", frozen.cpu_capability, False),
        (
            "Seeds",
            ", ".join(f"{name} {seed}" for name, seed in sorted(frozen.seeds.items())) or "none given",
            False,
        ),
        ("Report by", study.generated_by, False),
    )
    done = f"{len(study.complete_blocks)} of {len(design.blocks)} complete"
    said = [
        ("Environment", design.environment),
        ("Policy", design.policy),
        ("Conditions", numbers.listed([card.id for card in study.conditions])),
        ("Arms", numbers.listed(design.arms) + f"; {numbers.plural(design.twins, 'twin')} a rule and block"),
        ("Blocks", done),
        ("Budget", f"{design.examples:,} slots in {design.optimizer_steps:,} steps of {design.batch:,}"),
        ("Too few examples", design.under),
        ("Too many", design.over),
        ("Level", f"{design.alpha:g}, {design.multiplicity}"),
        ("Smallest effect", f"{100 * design.smallest_effect:g} percentage points"),
        ("Primary split", design.primary),
    ]
    return Provenance(
        facts, tuple(pair for pair in said if pair[1]), tuple(sorted(frozen.lock)), frozen.suite_yaml
    )
