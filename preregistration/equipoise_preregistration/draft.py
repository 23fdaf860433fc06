"""A suite whose sections may still be faulty: what the checks across sections look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise_preregistration.analysis import Analysis, Hypothesis
from equipoise_preregistration.experiment import Arms, Budget, Condition, Evaluation
from equipoise_preregistration.setting import Collection, Environment, Policy, Training

__all__ = ["Draft"]


@dataclass(frozen=True)
class Draft:
    """The sections as far as they are well-formed; None (or a missing index) where nothing is known of one.

    Reading a value that the file has wrong raises `UnknownValue`, which ends the check that reads it.

    Attributes:
        training: Only where it has faults; without, it has checked itself.
        conditions: Those whose id and baseline are known, by their place in the list.
        hypotheses: Those whose id and contrast are known.
        named: The ids of all conditions, well-formed or not; None where one has none.
        complete: Whether all conditions are among them, so that what is missing is truly missing.
    """

    environment: Environment | None = None
    policy: Policy | None = None
    collection: Collection | None = None
    training: Training | None = None
    conditions: Mapping[int, Condition] = field(default_factory=dict)
    arms: Arms | None = None
    budget: Budget | None = None
    blocks: int | None = None
    evaluation: Evaluation | None = None
    analysis: Analysis | None = None
    hypotheses: Mapping[int, Hypothesis] = field(default_factory=dict)
    named: tuple[str, ...] | None = ()
    complete: bool = True
