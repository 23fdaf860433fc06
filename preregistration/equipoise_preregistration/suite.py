"""A suite: one experiment, written down before it is run."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, model_validator

from equipoise_preregistration.analysis import Analysis, Hypothesis
from equipoise_preregistration.checks import problems
from equipoise_preregistration.draft import Draft
from equipoise_preregistration.experiment import Arms, Budget, Condition, Evaluation
from equipoise_preregistration.faults import dotted
from equipoise_preregistration.sections import Count, Identifier, Section, Size
from equipoise_preregistration.setting import Collection, Environment, Execution, Policy, Training
from equipoise_preregistration.tuning import Tuning

__all__ = ["Suite", "expand"]


class Suite(Section):
    """One preregistered experiment. Every key has a default except `name`, `conditions` and `budget`.

    Attributes:
        name: Short name; safe in file names.
        question: What it asks, in a sentence.
        seed: Root of every derived seed.
        environment: Where the policy acts.
        policy: What acts and is trained.
        training: How the optimizer treats every slot.
        collection: How the shared trajectories come about.
        conditions: The credit rules compared.
        arms: The budget regimes each is run under.
        budget: What a matched cell spends, exactly.
        blocks: How many seeds; every block runs every cell.
        evaluation: How a trained policy is judged.
        analysis: The plan of the inference.
        hypotheses: The claims.
        execution: What changes bits without changing meaning.
        tuning: The search for hyper-parameters before the comparison.
    """

    name: Identifier
    question: str = ""
    seed: Count = 0
    environment: Environment = Environment()
    policy: Policy = Policy()
    training: Training = Training()
    collection: Collection = Collection()
    conditions: Annotated[tuple[Condition, ...], Field(strict=False, min_length=1)]
    arms: Arms = Arms()
    budget: Budget
    blocks: Size = 10
    evaluation: Evaluation = Evaluation()
    analysis: Analysis = Analysis()
    hypotheses: Annotated[tuple[Hypothesis, ...], Field(strict=False)] = ()
    execution: Execution = Execution()
    tuning: Tuning = Tuning()

    @model_validator(mode="after")
    def _sections_agree(self) -> "Suite":
        draft = Draft(
            **{name: getattr(self, name) for name in _DRAFTED},
            conditions=dict(enumerate(self.conditions)),
            hypotheses=dict(enumerate(self.hypotheses)),
            named=tuple(condition.id for condition in self.conditions),
        )
        found = problems(draft)
        if found:
            raise ValueError("\n".join(f"{dotted(problem.path)}: {problem.message}" for problem in found))
        return self

    @property
    def baseline(self) -> Condition:
        """The condition that the others are compared with."""
        return next(condition for condition in self.conditions if condition.baseline)

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many blocks the data are analysed."""
        return self.analysis.looks or (self.blocks,)


_DRAFTED = (
    "environment",
    "policy",
    "collection",
    "arms",
    "budget",
    "blocks",
    "evaluation",
    "analysis",
)


def expand(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Writes out the one default that depends on another key: the single look after the last block."""
    analysis, blocks = raw.get("analysis", {}), raw.get("blocks", Suite.model_fields["blocks"].default)
    if not isinstance(analysis, Mapping) or analysis.get("looks") or not isinstance(blocks, int):
        return dict(raw)
    return {**raw, "analysis": {**analysis, "looks": [blocks]}}
