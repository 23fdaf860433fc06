"""What the inference is given: scores of runs, scores of tasks, and the registered question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ARMS: tuple[str, ...] = ("native", "matched", "twin")
DIRECTIONS: tuple[str, ...] = ("greater", "less", "two-sided")
ROLES: tuple[str, ...] = ("positive", "negative")
MULTIPLICITIES: tuple[str, ...] = ("holm", "step-down-max-t")
ENGINES: tuple[str, ...] = ("auto", "exact-stratum", "paired", "both")
SPENDING: tuple[str, ...] = ("none", "obf", "pocock", "e-process")


@dataclass(frozen=True)
class RunScore:
    """The success rate of one run.

    Attributes:
        condition: the credit rule with its parameters, by the suite's name for it.
        arm: ``native``, ``matched`` or ``twin``.
        twin: which twin of the block, from 0; 0 in the other arms.
        block: the block (seed) of the run.
        y: success rate in [0, 1]. A diverged run arrives scored by intention to treat, that is
            with the score of the policy it started from.
        episodes: evaluation episodes behind ``y``.
        diverged: whether the run met the registered criterion of divergence. Such runs stay in.
        steps: optimizer steps that were assigned to it; None where that is not known.
        ess: Kish's effective sample size of the slots that were assigned to it; None likewise.
    """

    condition: str
    arm: str
    twin: int
    block: int
    y: float
    episodes: int
    diverged: bool = False
    steps: float | None = None
    ess: float | None = None


@dataclass(frozen=True)
class TaskScore:
    """The successes of one run on one task, of ``episodes`` evaluated."""

    condition: str
    arm: str
    twin: int
    block: int
    task: int
    successes: int
    episodes: int


@dataclass(frozen=True)
class Hypothesis:
    """A registered claim about one contrast of one condition.

    Attributes:
        id: its name in the registration, such as ``H1``.
        says: the claim in words.
        contrast: ``content``, ``shape``, ``volume`` or ``total``.
        condition: the rule that it is about.
        direction: ``greater``, ``less`` or ``two-sided``.
    """

    id: str
    says: str
    contrast: str
    condition: str
    direction: str = "greater"


@dataclass(frozen=True)
class Question:
    """What was registered: who is compared with whom, at which level, against which smallest effect.

    Attributes:
        baseline: the condition that the others are compared with.
        conditions: all conditions in the suite's order, baseline included.
        alpha: two-sided level of each family of contrasts.
        smallest_effect: the smallest difference in success rate that matters, in (0, 1).
        primary: the contrast that carries claims; always ``content``.
        multiplicity: ``holm`` or ``step-down-max-t``.
        hypotheses: the registered claims.
        controls: condition to ``positive`` or ``negative``. Controls are checks of the suite, not
            claims: each is judged on its own at ``alpha`` and stays out of the families.
        identical: conditions that give every turn of a trajectory the same credit, so that their twin is
            the rule itself up to which turns are shown. Their content is
            zero, and a duplicated cell may not enter the error stratum.
        barred: cells with a breach of budget, as (condition, arm, block).
        engine: ``exact-stratum``, ``paired``, ``both`` (the verdict is the one on which the pooled and the paired
            analysis agree), or ``auto``: both with one twin a block, paired with several or open-ended looks.
        power: the power that minimal detectable effects refer to.
        gatekeeping: kinds of contrast in an order; each family opens only when all of the one before is shown.
        looks: after how many blocks the data are analysed, the last after all; empty means once.
        spending: how the level is spent over the looks: ``none`` (one look), ``obf``, ``pocock`` or
            ``e-process``.
        look: the look of this analysis, by its number of blocks; None for the last.
        deviations: amendments made after a run was seen, a sentence each. Findings are then exploratory.
    """

    baseline: str
    conditions: tuple[str, ...]
    alpha: float = 0.05
    smallest_effect: float = 0.05
    primary: str = "content"
    multiplicity: str = "step-down-max-t"
    hypotheses: tuple[Hypothesis, ...] = ()
    controls: Mapping[str, str] = field(default_factory=dict)
    identical: frozenset[str] = frozenset()
    barred: frozenset[tuple[str, str, int]] = frozenset()
    engine: str = "auto"
    power: float = 0.8
    gatekeeping: tuple[str, ...] = ()
    looks: tuple[int, ...] = ()
    spending: str = "none"
    look: int | None = None
    deviations: tuple[str, ...] = ()

    @property
    def looked(self) -> tuple[int, ...]:
        """The looks up to this analysis, by their numbers of blocks; empty where nothing is looked at early."""
        if self.spending == "none":
            return ()
        return self.looks if self.look is None else tuple(n for n in self.looks if n <= self.look)

    @property
    def claimants(self) -> tuple[str, ...]:
        """The conditions that may win: neither the baseline nor a control."""
        return tuple(c for c in self.conditions if c != self.baseline and c not in self.controls)
