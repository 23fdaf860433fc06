"""A suite whose sections may still be faulty: what the checks across sections look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise_preregistration.analysis import Analysis, Hypothesis
from equipoise_preregistration.experiment import Arms, Budget, Condition, Evaluation
from equipoise_preregistration.setting import Collection, Environment, Policy

__all__ = ["Draft"]


@dataclass(frozen=True)
class Draft:
    """The sections that are well-formed; None (or a missing index) where one is not.

    Attributes:
        conditions: The well-formed conditions by their place in the list.
        hypotheses: The same for hypotheses.
        named: The ids of all conditions, well-formed or not; None where one has none.
        complete: Whether every condition is well-formed, so that what is missing is truly missing.
    """

    environment: Environment | None = None
    policy: Policy | None = None
    collection: Collection | None = None
    conditions: Mapping[int, Condition] = field(default_factory=dict)
    arms: Arms | None = None
    budget: Budget | None = None
    blocks: int | None = None
    evaluation: Evaluation | None = None
    analysis: Analysis | None = None
    hypotheses: Mapping[int, Hypothesis] = field(default_factory=dict)
    named: tuple[str, ...] | None = ()
    complete: bool = True
