"""The methods of the 2026 survey of credit assignment, and the rule of ours that stands for each.

Source: Zhang 2026, arXiv 2604.09459, version 2: 47 methods. Later versions count more. Titles, identifiers,
years and labels are the survey's inventory; the mechanisms are told in our words.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from equipoise_conditions.errors import RuleError

__all__ = [
    "IMPLEMENTED",
    "JUDGE_DEFINED",
    "METHODS",
    "PER_TASK",
    "STATUSES",
    "UNRECOVERED",
    "Method",
    "unrecovered",
]

IMPLEMENTED = "implemented"
"""A rule computes it; how well its formula is known is told by the rule's card."""

JUDGE_DEFINED = "judge-defined"
"""Its credit is what a judge says: a rule reads, checks and places the numbers."""

PER_TASK = "written anew for each task"
"""A language model writes the function that makes its credit, so that there is no one formula."""

UNRECOVERED = "formula not recovered"
"""No source at hand states its formula; it is listed, and nothing is made up in its place."""

STATUSES = (IMPLEMENTED, JUDGE_DEFINED, PER_TASK, UNRECOVERED)


@dataclass(frozen=True)
class Method:
    """One method of the survey.

    Attributes:
        number: its place in the inventory, 1 to 47.
        id: a short name that no other has.
        name: its name as published.
        arxiv: its identifier on arXiv.
        other_arxiv: other identifiers in circulation; `note` says where.
        setting: "Reasoning RL", "Agentic RL" or "Multi-Agent RL".
        category: the survey's section.
        granularity: the survey's label; that of our rule may be finer or coarser.
        methodology: the survey's label.
        year: of publication, as in the inventory.
        mechanism: one line in our words.
        status: one of `STATUSES`.
        rule: the name of our rule, None where there is none.
        preset: the rule's preset that computes what the authors' code computes, None where there is none.
        parameters: the rule's parameters that make it this method, beside or instead of a preset.
        also: further rules of ours for the same paper.
        note: what a reader must know besides; empty if nothing.
    """

    number: int
    id: str
    name: str
    arxiv: str
    setting: str
    category: str
    granularity: str
    methodology: str
    year: int
    mechanism: str
    status: str
    rule: str | None = None
    preset: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    other_arxiv: tuple[str, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if self.status not in STATUSES or (self.rule is None) == (
            self.status in (IMPLEMENTED, JUDGE_DEFINED)
        ):
            message = (
                f"survey method {self.number} ({self.name}): expected a status of {', '.join(STATUSES)}, and a "
                f"rule exactly where it is implemented or judge-defined, got '{self.status}' and {self.rule!r}"
            )
            raise RuleError(message)

    @property
    def params(self) -> dict[str, object]:
        """What a suite writes to run our rule as this method: preset and parameters."""
        return ({} if self.preset is None else {"preset": self.preset}) | dict(self.parameters)


def _read() -> tuple[Method, ...]:
    text = files("equipoise_conditions.survey").joinpath("methods.json").read_text("utf-8")
    rows = json.loads(text)["methods"]
    lists = ("also", "other_arxiv")
    return tuple(Method(**row | {name: tuple(row[name]) for name in lists}) for row in rows)


METHODS = _read()
"""The 47 methods in the order of the inventory."""


def unrecovered() -> tuple[Method, ...]:
    """Return the methods that no rule of ours stands for, each with its status."""
    return tuple(method for method in METHODS if method.rule is None)
