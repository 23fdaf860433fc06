"""The page of all cards, made from the registry alone: what the documentation shows is what the code says."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from equipoise_conditions.registry import RULES, Rule

__all__ = ["markdown", "written"]

_HEAD = """# Credit rules

Every rule can stand in a suite beside any other: what they share as conventions (`std`, `eps`, `eps_inside`,
`singleton`, `vote`, `whiten`) has one default for all, and a `preset` sets the conventions of a published code. This
page is made by `equipoise rules page`; `equipoise rules show RULE` prints one card.

Formulas are marked by how well they are known: from the authors' *code*, from the *primary* text, from *notes* that
transcribe it, from textbook *background*, or *reconstructed* by us from a description.
"""
_FACTS = (
    ("Source", "source"),
    ("Code", "reference_code"),
    ("Costs", "cost"),
    ("Extra rollouts", "extra_rollouts"),
    ("Extra forward passes", "extra_forward"),
    ("Judge calls", "judge_calls"),
    ("Drops", "drops"),
    ("Zeroes", "zeroes"),
    ("Corners", "edge"),
    ("Mind", "caveats"),
)


def markdown() -> str:
    """The page."""
    families: dict[str, list[Rule]] = defaultdict(list)
    for rule in RULES.values():
        families[rule.card.methodology].append(rule)
    parts = [_HEAD]
    for family in sorted(families):
        parts.append(f"## {family.capitalize()}\n")
        parts.extend(_card(rule) for rule in families[family])
    return "\n".join([*parts, *_survey()]) + "\n"


def written(values: Any) -> str:
    """Parameters as a suite would write them."""
    words = {True: "true", False: "false"}
    return ", ".join(
        f"{name}: {words[value] if isinstance(value, bool) else value}" for name, value in values.items()
    )


def _card(rule: Rule) -> str:
    card = rule.card
    lines = [f"### `{rule.name}`: {card.title}\n", f"    {card.formula}\n"]
    lines.append(f"- Credit per **{card.granularity}**; evidence: *{card.evidence}*.")
    lines += [
        f"- {label}: {getattr(card, name).removesuffix('.')}."
        for label, name in _FACTS
        if getattr(card, name)
    ]
    lines.append(
        f"- Needs: {', '.join(f'`{need}`' for need in sorted(rule.needed())) or 'nothing but trajectories'}."
    )
    lines += [
        f"- `preset: {name}` is {_code(written(values)) or 'the defaults'}."
        for name, values in rule.presets.items()
    ]
    if rule.settable:
        lines += ["", "| parameter | default | expected | what it changes |", "|---|---|---|---|"]
        lines += [
            f"| `{item.name}` | {_code(written({'': item.default})[2:])} | {item.expected} | {_cell(item.doc)} |"
            for item in rule.settable
        ]
    return "\n".join(lines) + "\n"


def _survey() -> Iterator[str]:
    from equipoise_conditions.survey import METHODS

    yield "## The 47 methods of the 2026 survey\n"
    yield (
        "arXiv 2604.09459, version 2. Where no formula could be recovered from the paper, its code or a transcription, "
        "there is no rule: none is invented.\n"
    )
    yield "| no. | method | arXiv | credit per | family | year | what it does | here |"
    yield "|---|---|---|---|---|---|---|---|"
    for method in METHODS:
        arxiv = ", ".join((method.arxiv, *method.other_arxiv))
        said = method.mechanism + (f" {method.note}" if method.note else "")
        yield (
            f"| {method.number} | {_cell(method.name)} | {_cell(arxiv)} | {method.granularity} | "
            f"{method.methodology} | {method.year} | {_cell(said)} | {_cell(_here(method))} |"
        )


def _here(method: Any) -> str:
    if method.rule is None:
        return str(method.status)
    parameters = ({"preset": method.preset} if method.preset else {}) | dict(method.parameters)
    rule = f"`{method.rule}`" + (f" with `{written(parameters)}`" if parameters else "")
    also = f"; also {', '.join(f'`{name}`' for name in method.also)}" if method.also else ""
    return rule + also


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
