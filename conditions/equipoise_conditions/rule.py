"""A credit rule as data: its function, what it needs, its parameters and its card."""

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from equipoise_conditions.context import Context, Need
from equipoise_conditions.credit import Credit
from equipoise_conditions.errors import RuleError
from equipoise_conditions.trajectories import Trajectories

__all__ = ["Card", "Parameter", "Rule"]


@dataclass(frozen=True)
class Card:
    """What a reader must know of a rule before trusting a comparison with it.

    Attributes:
        name: the rule's name in the registry.
        title: its name in words.
        formula: the credit it gives.
        source: the paper, with its identifier.
        granularity: "trajectory" or "turn".
        cost: what it costs beyond the trajectories that every rule is given.
        drops: which turns leave training.
        zeroes: which turns stay in training with credit 0.
        reference_code: the code whose numbers it reproduces, or why there is none.
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


@dataclass(frozen=True)
class Parameter:
    """One parameter of a rule.

    Attributes:
        name: as written in a suite.
        default: the value when it is not written.
        kind: "float", "int", "bool", or the tuple of words to choose from.
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
        noun = {"int": "a whole number", "float": "a number"}[self.kind]
        return noun + _range(self.minimum, self.maximum)

    def read(self, value: object) -> object:
        """Return `value` in the parameter's own type; RuleError when it is not such a value."""
        good: object = None
        if isinstance(self.kind, tuple):
            good = value if isinstance(value, str) and value in self.kind else None
        elif self.kind == "bool":
            good = value if isinstance(value, bool) else None
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
    """

    name: str
    assign: Callable[..., Credit]
    needs: frozenset[Need]
    card: Card
    parameters: tuple[Parameter, ...] = ()

    def validate(self, params: Mapping[str, object] | None = None) -> dict[str, object]:
        """Return `params` with every default filled in.

        Raises:
            RuleError: listing every unknown name (with the nearest known one) and every wrong value.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        given = dict(params or {})
        faults = [self._unknown(name, list(known)) for name in given if name not in known]
        values: dict[str, object] = {}
        for name, parameter in known.items():
            try:
                values[name] = parameter.read(given.get(name, parameter.default))
            except RuleError as fault:
                faults.append(str(fault))
        if faults:
            message = f"rule '{self.name}': " + "; ".join(faults)
            raise RuleError(message)
        return values

    def apply(
        self, trajectories: Trajectories, context: Context, params: Mapping[str, object] | None = None
    ) -> Credit:
        """Assign credit with checked parameters and a guarded context.

        Raises:
            RuleError: on wrong parameters, undeclared or missing needs, or credit of the wrong length.
        """
        values = self.validate(params)
        credit = self.assign(trajectories, context.for_rule(self), **values)
        if credit.value.size != trajectories.n_turns:
            message = (
                f"rule '{self.name}': expected credit for {trajectories.n_turns} turns, "
                f"got {credit.value.size}"
            )
            raise RuleError(message)
        return credit

    def _unknown(self, name: str, known: list[str]) -> str:
        nearest = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
        if not nearest:
            return f"unknown parameter '{name}'; this rule takes none"
        return f"unknown parameter '{name}'; did you mean '{nearest[0]}'? (known: {', '.join(known)})"


def _range(minimum: float, maximum: float) -> str:
    if math.isfinite(minimum) and math.isfinite(maximum):
        return f" from {minimum:g} to {maximum:g}"
    if math.isfinite(minimum):
        return f" of at least {minimum:g}"
    return f" of at most {maximum:g}" if math.isfinite(maximum) else ""
