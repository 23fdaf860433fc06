"""A study as the report sees it: what was registered, what was run, what was counted, what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from equipoise_budget import Cost, Dose, PlannedDose
from equipoise_conditions import Card
from equipoise_reports.numbers import percent
from equipoise_reports.received import GenerationUse, RoundRecord
from equipoise_reports.tuning import Tuning
from equipoise_stats import Analysis

_FEW_ACTIVE = 0.3
"""Below this share of active trajectories a comparison with the twin has little to see."""


@dataclass(frozen=True)
class Registration:
    """A frozen suite and the circumstances under which it was frozen.

    Attributes:
        hash: its versioned digest (``eq1:`` and 64 hexadecimal digits).
        registered_at: when, as ISO 8601 text.
        previous: the digest of the registration before it in the chain; None for the first.
        code_version: the version or commit of the code.
        lock: one entry a dependency, ``name==version``.
        python: the interpreter's version.
        threads: compute threads of each run.
        cpu_capability: the instruction set the numerical library was held to.
        seeds: named seeds; the suite's own is ``suite``.
        suite_yaml: the suite as it was written.
    """

    hash: str
    registered_at: str
    code_version: str
    python: str
    threads: int
    cpu_capability: str
    suite_yaml: str
    previous: str | None = None
    lock: tuple[str, ...] = ()
    seeds: Mapping[str, int] = field(default_factory=dict)

    @property
    def hash8(self) -> str:
        """The eight characters by which people call the registration."""
        return self.hash.rpartition(":")[2][:8]


@dataclass(frozen=True)
class ConditionCard:
    """A condition, and the card of its rule.

    Attributes:
        id: the condition's name in the suite.
        card: the rule's name, title, formula, source and the rest of its card.
        baseline: whether the others are compared with it.
        control: ``positive``, ``negative`` or None.
        parameters: every parameter with its value, defaults included.
        twin: which places exchange their credit in its twins; None without twins.
        active_share: share of trajectories in which that can change anything, measured; None if not.
    """

    id: str
    card: Card
    baseline: bool = False
    control: str | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    twin: str | None = None
    active_share: float | None = None

    @property
    def twin_note(self) -> str | None:
        """What its twins move, in how many trajectories, and whether that is enough to see anything."""
        if self.twin is None or self.active_share is None:
            return self.twin
        note = f"{self.twin}: can change {percent(self.active_share)} of the trajectories with credit"
        few = 0 < self.active_share < _FEW_ACTIVE
        return f"{note}, too few for a small CONTENT to speak against the rule" if few else note


@dataclass(frozen=True)
class Slot:
    """One cell of the design: every block runs each of them once."""

    condition: str
    arm: str
    twin: int = 0


@dataclass(frozen=True)
class Design:
    """The registered numbers.

    Attributes:
        blocks: the blocks planned, by number.
        cells: what each block runs.
        twins: placebo runs per rule and block.
        examples: slots of every matched and twin run.
        optimizer_steps: their optimizer steps.
        under: how a rule with too few examples fills the budget.
        over: how a rule with too many keeps to it.
        alpha: the level of the confirmatory family.
        smallest_effect: the smallest effect that matters, as a difference of success rates.
        multiplicity: how the family's error is held.
        primary: the split on which the verdicts rest.
        held_out: the split of tasks never trained on; None when there is none.
        environment: the environment in a few words.
        policy: the policy in a few words.
        planned_sd: the spread of a run within its block that the plan assumed; None if it assumed none.
        planned_mde: the smallest CONTENT that the plan could detect under it.
        rounds: how often is collected and trained; from the second on by each run's own policy.
    """

    blocks: tuple[int, ...]
    cells: tuple[Slot, ...]
    twins: int
    examples: int
    optimizer_steps: int
    under: str
    over: str
    alpha: float
    smallest_effect: float
    multiplicity: str
    primary: str = "pool"
    held_out: str | None = "held_out"
    environment: str = ""
    policy: str = ""
    planned_sd: float | None = None
    planned_mde: float | None = None
    rounds: int = 1

    @property
    def batch(self) -> int:
        """Slots of one optimizer step of a matched or twin run."""
        return self.examples // self.optimizer_steps

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms of the design, each once, in the order native, matched, twin."""
        present = {cell.arm for cell in self.cells}
        return tuple(arm for arm in ("native", "matched", "twin") if arm in present)


@dataclass(frozen=True)
class BaseScore:
    """The untrained policy of a block: success on the primary and held-out splits; None if not measured."""

    primary: float
    held_out: float | None = None


@dataclass(frozen=True)
class RunRecord:
    """One run that has ended.

    Attributes:
        key: its job's name, unique in the suite (``b2/cell/gigpo/matched/0``).
        condition: the condition's id.
        arm: ``native``, ``matched`` or ``twin``.
        twin: which placebo, 0 for the first; 0 for the other arms.
        block: the block's number.
        primary: success rate on the primary split.
        held_out: success rate on the held-out split; None if not measured.
        examples: examples the rule left of the block's turns.
        planned: what its plan promised.
        dose: what was counted while it trained.
        cost: what obtaining the credit and training took.
        breaches: where the count left the plan, in sentences; empty when the budget held.
        end: ``ok`` or ``diverged``.
        plan_digest: digest of the plan.
        weights_digest: digest of the trained weights.
        seconds: measured seconds of the run.
        mlflow_url: where its run can be looked at, if anywhere.
        rounds: each round that it began; empty where there is one only.
        generation: the limits of generation that it kept to; None where it had none.
    """

    key: str
    condition: str
    arm: str
    block: int
    primary: float
    held_out: float | None
    examples: int
    planned: PlannedDose
    dose: Dose
    cost: Cost
    plan_digest: str
    weights_digest: str
    seconds: float
    twin: int = 0
    breaches: tuple[str, ...] = ()
    end: str = "ok"
    mlflow_url: str | None = None
    rounds: tuple[RoundRecord, ...] = ()
    generation: GenerationUse | None = None

    @property
    def slot(self) -> Slot:
        """The cell of the design that this run fills."""
        return Slot(self.condition, self.arm, self.twin)


@dataclass(frozen=True)
class Study:
    """Everything that one report shows.

    Attributes:
        name: the suite's name.
        question: the question it asks.
        registration: what was frozen, and when.
        conditions: the conditions in the suite's order.
        design: the registered numbers.
        runs: every run that has ended.
        base: the untrained policy's scores by block.
        analysis: the analysis of the complete blocks; None before any block is complete enough.
        deviations: what a reader must know before believing a number, in sentences.
        exploratory: whether the suite was run without a registration that precedes it.
        unblinded: whether outcomes may be shown before every block is complete.
        generated_by: the program and version that made the report.
        tuning: the search for hyper-parameters; None where none was registered.
        look: the registered look at an unfinished suite that this is, by its number of blocks; nothing of later
            blocks is among the runs. None where all blocks were run, or no look is reached.
    """

    name: str
    question: str
    registration: Registration
    conditions: tuple[ConditionCard, ...]
    design: Design
    runs: tuple[RunRecord, ...]
    base: Mapping[int, BaseScore]
    analysis: Analysis | None
    deviations: tuple[str, ...] = ()
    exploratory: bool = False
    unblinded: bool = False
    generated_by: str = "equipoise"
    tuning: Tuning | None = None
    look: int | None = None

    @property
    def missing(self) -> tuple[tuple[int, Slot], ...]:
        """The cells that have no run yet, by block; at a look, of its blocks."""
        done = {(run.block, run.slot) for run in self.runs}
        return tuple(
            (block, cell)
            for block in self.design.blocks[: self.look]
            for cell in self.design.cells
            if (block, cell) not in done
        )

    @property
    def complete_blocks(self) -> tuple[int, ...]:
        """The blocks of which every cell has ended."""
        lacking = {block for block, _ in self.missing}
        return tuple(block for block in self.design.blocks[: self.look] if block not in lacking)

    @property
    def interim(self) -> bool:
        """Whether runs planned up to here are missing, so that no verdict may be given."""
        return bool(self.missing)

    @property
    def shows_outcomes(self) -> bool:
        """Whether success rates may be shown: when all blocks are complete, or the study was unblinded."""
        return self.unblinded or not self.interim

    @property
    def baseline(self) -> ConditionCard:
        """The condition that the others are compared with."""
        return next(card for card in self.conditions if card.baseline)

    def of(self, condition: str, arm: str) -> tuple[RunRecord, ...]:
        """The runs of one condition in one arm, by block and twin."""
        chosen = [run for run in self.runs if (run.condition, run.arm) == (condition, arm)]
        return tuple(sorted(chosen, key=lambda run: (run.block, run.twin)))
