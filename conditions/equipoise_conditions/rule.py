"""A credit rule as data: its function, what it needs, its parameters and its card."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import GRANULARITIES, Credit
from equipoise_conditions.errors import CrossedParameters, RuleError
from equipoise_conditions.names import nearest
from equipoise_conditions.projection import expected_units
from equipoise_conditions.trajectories import Trajectories

__all__ = ["EVIDENCE", "METHODOLOGIES", "Card", "Parameter", "Rule"]

METHODOLOGIES = (
    "outcome",
    "monte-carlo",
    "temporal-difference",
    "process-reward",
    "llm-as-critic",
    "game-theoretic",
    "information-theoretic",
    "counterfactual",
    "implicit",
    "reweighting",
    "control",
)
"""Families of the 2026 survey (arXiv 2604.09459), with those that it leaves in its text."""

EVIDENCE = ("code", "primary", "notes", "background", "reconstructed")
"""From the authors' code, the paper itself, a transcription of it, textbook knowledge, or our reconstruction."""

_OTHER: dict[str, type] = {"text": str, "mapping": Mapping}


@dataclass(frozen=True)
class Card:
    """What a reader must know of a rule before trusting a comparison with it.

    Attributes:
        name: the rule's name in the registry.
        title: its name in words.
        formula: the credit it gives.
        source: the paper, with its identifier.
        granularity: "token", "segment", "turn", "agent" or "episode"; that of the credit it gives.
        cost: what it costs beyond the trajectories that every rule is given.
        drops: which units leave training.
        zeroes: which units stay in training with credit 0.
        reference_code: the code whose numbers it reproduces, or why there is none.
        methodology: the family in the field's own words, one of `METHODOLOGIES`.
        evidence: how well the formula is known, one of `EVIDENCE`.
        extra_rollouts: rollouts beyond the collected ones, as a formula in N, T, K, M ...; "0" for none.
        extra_forward: teacher-forced passes beyond training, likewise.
        judge_calls: judge calls, likewise.
        edge: what happens in groups of one, equal rewards, holes in the mask and other corners.
        caveats: what a reader must not conclude from it; contradictions between its sources.
    """

    name: str
    title: str
    formula: str
    source: str
    granularity: str
    cost: str
    drops: str
    zeroes: str
    reference_code: str
    methodology: str = "control"
    evidence: str = "code"
    extra_rollouts: str = "0"
    extra_forward: str = "0"
    judge_calls: str = "0"
    edge: str = ""
    caveats: str = ""

    def __post_init__(self) -> None:
        faults = [
            f"{name}: expected one of {', '.join(words)}, got '{value}'"
            for name, value, words in (
                ("granularity", self.granularity, GRANULARITIES),
                ("methodology", self.methodology, METHODOLOGIES),
                ("evidence", self.evidence, EVIDENCE),
            )
            if value not in words
        ]
        if faults:
            message = f"card of '{self.name}': " + "; ".join(faults)
            raise RuleError(message)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a rule.

    Attributes:
        name: as written in a suite.
        default: the value when it is not written.
        kind: "float", "int", "bool", "text", "mapping", or the tuple of words to choose from.
        doc: what it changes.
        minimum: least value of a number.
        maximum: greatest value of a number.
    """

    name: str
    default: object
    kind: str | tuple[str, ...]
    doc: str
    minimum: float = -math.inf
    maximum: float = math.inf

    @property
    def expected(self) -> str:
        """What a value of this parameter looks like, in words."""
        if isinstance(self.kind, tuple):
            return "one of " + ", ".join(self.kind)
        if self.kind == "bool":
            return "true or false"
        if self.kind in _OTHER:
            return f"a {self.kind}"
        noun = {"int": "a whole number", "float": "a number"}[self.kind]
        return noun + _range(self.minimum, self.maximum)

    def read(self, value: object) -> object:
        """Return `value` in the parameter's own type; RuleError when it is not such a value."""
        good: object = None
        if isinstance(self.kind, tuple):
            good = value if isinstance(value, str) and value in self.kind else None
        elif self.kind == "bool":
            good = value if isinstance(value, bool) else None
        elif self.kind in _OTHER:
            good = value if isinstance(value, _OTHER[self.kind]) else None
        elif isinstance(value, int | float) and not isinstance(value, bool):
            good = self._number(value)
        if good is None:
            message = f"{self.name}: expected {self.expected}, got {value!r}"
            raise RuleError(message)
        return good

    def _number(self, value: float) -> float | None:
        if not math.isfinite(value) or not self.minimum <= value <= self.maximum:
            return None
        if self.kind == "int":
            return int(value) if value == int(value) else None
        return float(value)


@dataclass(frozen=True)
class Rule:
    """A credit rule.

    Attributes:
        name: its name in the registry and in a suite.
        assign: `assign(trajectories, context, **parameters) -> Credit`, pure.
        needs: what it reads of the context.
        card: what a reader must know of it.
        parameters: what a suite may set.
        presets: parameters under which it computes what a published code computes, by that code's name;
            a suite writes `preset: NAME`, and parameters written beside it come on top.
        needs_of: what it needs besides `needs` under given parameters; None if they change nothing.
        supply: what a suite may set besides, for whoever measures what the rule needs: repeats, allowances.
            The rule itself does not see them.
        faults_of: what is wrong with parameters that are each right alone: sentences that begin with the name
            of a parameter and a colon, and name the others; None if any go together.
    """

    name: str
    assign: Callable[..., Credit]
    needs: frozenset[Need]
    card: Card
    parameters: tuple[Parameter, ...] = ()
    presets: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    needs_of: Callable[[Mapping[str, object]], frozenset[Need]] | None = None
    supply: tuple[Parameter, ...] = ()
    faults_of: Callable[[Mapping[str, object]], list[str]] | None = None

    @property
    def settable(self) -> tuple[Parameter, ...]:
        """All that a suite may set: the rule's parameters and those of its supply."""
        return self.parameters + self.supply

    def needed(self, params: Mapping[str, object] | None = None) -> frozenset[Need]:
        """Return what the rule reads of the context under these parameters; RuleError when they are wrong."""
        values = self.validate(params)
        return self.needs if self.needs_of is None else self.needs | self.needs_of(values)

    def validate(self, params: Mapping[str, object] | None = None) -> dict[str, object]:
        """Return `params` with every default filled in; a `preset` is replaced by what it stands for.

        Raises:
            RuleError: listing every unknown name (with the nearest known one) and every wrong value.
            CrossedParameters: when each value is right, but they do not go together.
        """
        known = {parameter.name: parameter for parameter in self.settable}
        given, faults = self._preset(dict(params or {}))
        faults += [self._unknown(name, list(known)) for name in given if name not in known]
        values: dict[str, object] = {}
        for name, parameter in known.items():
            try:
                values[name] = parameter.read(given.get(name, parameter.default))
            except RuleError as fault:
                faults.append(str(fault))
        if faults:
            message = f"rule '{self.name}': " + "; ".join(faults)
            raise RuleError(message)
        crossed = self.faults_of(values) if self.faults_of is not None else []
        if crossed:
            raise CrossedParameters(self.name, tuple(crossed))
        return values

    def apply(
        self, trajectories: Trajectories, context: Context, params: Mapping[str, object] | None = None
    ) -> Credit:
        """Assign credit with checked parameters and a guarded context.

        Raises:
            RuleError: on wrong parameters, undeclared or missing needs, or credit of the wrong length; and
                when the rule's function raises something else or returns something that is no credit.
        """
        values = self.validate(params)
        guarded = context.for_rule(replace(self, needs=self.needed(params)))
        told = {parameter.name: values[parameter.name] for parameter in self.parameters}
        credit = self._assigned(trajectories, guarded, told)
        expected = expected_units(credit, trajectories)
        if credit.granularity != self.card.granularity or credit.value.size != expected:
            message = (
                f"rule '{self.name}': expected credit for {expected} units of its card's granularity "
                f"'{self.card.granularity}', got {credit.value.size} of '{credit.granularity}'"
            )
            raise RuleError(message)
        return credit

    def _assigned(self, trajectories: Trajectories, context: Context, told: Mapping[str, object]) -> Credit:
        try:
            credit: object = self.assign(trajectories, context, **told)
        except (RuleError, MemoryError):
            raise
        except Exception as error:  # whatever a stranger's function does
            message = f"rule '{self.name}' raised {type(error).__name__}: {error}"
            raise RuleError(message) from error
        if not isinstance(credit, Credit):
            message = (
                f"rule '{self.name}': expected its function to return Credit, got {type(credit).__name__}"
            )
            raise RuleError(message)
        return credit

    def _preset(self, given: dict[str, object]) -> tuple[dict[str, object], list[str]]:
        """Return the parameters with those that a preset stands for, and what is wrong with the preset."""
        if "preset" not in given or any(parameter.name == "preset" for parameter in self.settable):
            return given, []
        preset = given.pop("preset")
        if not self.presets:
            return given, [
                f"preset: expected none, since this rule has no presets, got {preset!r}; leave it out"
            ]
        if isinstance(preset, str) and preset in self.presets:
            return {**self.presets[preset], **given}, []
        # A list of one name is a likely slip, so that its word is looked up too.
        word = " ".join(map(str, preset)) if isinstance(preset, list) else str(preset)
        near = nearest(word, self.presets)
        hint = f"; did you mean '{near}'?" if near else ""
        return given, [f"preset: expected one of {', '.join(self.presets)}, got {preset!r}{hint}"]

    def _unknown(self, name: str, known: list[str]) -> str:
        if not known:
            return f"unknown parameter '{name}'; this rule takes none"
        near = nearest(name, known)
        hint = f"; did you mean '{near}'?" if near else ""
        return f"unknown parameter '{name}'{hint} (known: {', '.join(known)})"


def _range(minimum: float, maximum: float) -> str:
    if math.isfinite(minimum) and math.isfinite(maximum):
        return f" from {minimum:g} to {maximum:g}"
    if math.isfinite(minimum):
        return f" of at least {minimum:g}"
    return f" of at most {maximum:g}" if math.isfinite(maximum) else ""
