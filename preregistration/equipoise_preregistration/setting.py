"""What a suite trains, and where: environment, policy, training, collection, execution."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from equipoise_preregistration.sections import (
    Count,
    Number,
    Positive,
    Section,
    Settings,
    Size,
    Value,
)

__all__ = ["Collection", "Environment", "Execution", "Policy", "Tasks", "Training", "WarmStart"]


class Tasks(Section):
    """How many tasks: those trained and judged on, and those only judged on."""

    pool: Size = 32
    held_out: Count = 64


class Environment(Section):
    """Where the policy acts. `size` and `options` belong to the environment, which checks them itself.

    Attributes:
        name: Which environment.
        words: Its wording of observations and commands.
        tasks: How many tasks of each split.
        size: Its sizes (household: receptacles, objects); a missing one takes the environment's default.
        horizon: Most turns of an episode.
        options: Any further keys of the environment (bifurcation: rooms, doors, pivotal, signs).
    """

    name: str = "household"
    words: str = "terse"
    tasks: Tasks = Tasks()
    size: Settings = Field(default_factory=dict)
    horizon: Size = 15
    options: Settings = Field(default_factory=dict)

    def settings(self, demonstrations: int) -> dict[str, Value]:
        """What the environment is built from: its own keys, and how many tasks of each split.

        Args:
            demonstrations: How many tasks the warm start clones from.
        """
        tasks: dict[str, Value] = {**self.tasks.model_dump(), "demonstrations": demonstrations}
        size: dict[str, Value] = {"size": dict(self.size)} if self.size else {}
        return {"tasks": tasks, "words": self.words, **size, **self.options}


class WarmStart(Section):
    """Cloning of an expert, the same for every cell of a block, until the success lies in a band.

    Attributes:
        demonstrations: How many expert episodes.
        success: Lowest and highest success rate at which the base policy is taken.
        learning_rate: Of the cloning.
        batch: Episodes a step.
        max_epochs: When to give up.
        epsilon: Share of the expert's actions that are replaced by random ones.
        probe_every: Optimizer steps between two measurements of the success.
    """

    demonstrations: Size = 1500
    success: Annotated[
        tuple[Annotated[float, Field(ge=0.0, le=1.0)], Annotated[float, Field(ge=0.0, le=1.0)]],
        Field(strict=False),
    ] = (0.35, 0.55)
    learning_rate: Positive = 3e-3
    batch: Size = 16
    max_epochs: Size = 30
    epsilon: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0
    probe_every: Size = 20


class Policy(Section):
    """What acts and is trained.

    Attributes:
        name: Which policy.
        hidden: Width.
        layers: Depth.
        normalisation: Over what the likelihood that is trained sums to one: the admissible commands, as when
            acting, or the whole vocabulary.
        warm_start: How the base policy comes about.
    """

    name: str = "tiny-qwen3"
    hidden: Size = 64
    layers: Size = 2
    normalisation: Literal["admissible", "vocabulary"] = "admissible"
    warm_start: WarmStart = WarmStart()


Clip = Annotated[tuple[Annotated[float, Field(gt=0.0, le=1.0)], Positive], Field(strict=False)]
"""How far below and above 1 a probability ratio may lie."""


class Training(Section):
    """How the optimizer treats every slot of every cell.

    Attributes:
        learning_rate: Of AdamW, constant.
        max_grad_norm: Gradients are clipped to this norm.
        weight_decay: Of AdamW.
        clip: How far below and above 1 the ratio of an action's probability to that of the collecting policy may
            lie before its slot stops pushing it further (PPO's clip, its two sides apart as in DAPO); null for the
            plain policy gradient.
        path: Which of TRL's trainers: `sft`, the likelihood weighted by credit, or `grpo`, its on-policy trainer.
        loss: How `grpo` makes one number of the tokens of a step; null for `sft`, which has one way.
        measure_every: Optimizer steps between two measurements of how far the policy has moved (KL and L2 from the
            start, in the ledger); null for none but the last, and every step where `displacement` is matched. Changes
            no step.
    """

    learning_rate: Positive = 1e-3
    max_grad_norm: Positive = 1.0
    weight_decay: Number = 0.0
    clip: Clip | None = None
    path: Literal["sft", "grpo"] = "sft"
    loss: Literal["grpo", "bnpo", "dr_grpo", "dapo"] | None = None
    measure_every: Size | None = None

    @model_validator(mode="after")
    def _loss_belongs_to_its_path(self) -> "Training":
        message = self.loss_fault
        if message is not None:
            raise ValueError(message)
        return self

    @property
    def loss_fault(self) -> str | None:
        """What is wrong with path and loss together; None where they agree."""
        if (self.path == "grpo") == (self.loss is not None):
            return None
        if self.path == "grpo":
            return "loss: expected grpo, bnpo, dr_grpo or dapo with `path: grpo`, got null; choose one"
        return f"loss: expected null with `path: sft`, got {self.loss}; set `path: grpo` or drop the loss"


class Collection(Section):
    """How trajectories come about.

    Attributes:
        rollouts_per_task: Of every task of the pool, in each round.
        temperature: At which actions are sampled.
        rounds: How often is collected and trained. The first collection is shared by all cells of a block; in each
            later round a cell collects with its own policy.
    """

    rollouts_per_task: Size = 8
    temperature: Positive = 1.0
    rounds: Size = 1


class Execution(Section):
    """What changes the bits of a result without changing its meaning, and is registered for that reason.

    Attributes:
        threads: Threads of one run.
        cpu_capability: Instruction set of PyTorch's kernels (`ATEN_CPU_CAPABILITY`).
    """

    threads: Size = 1
    cpu_capability: Literal["default", "avx2", "avx512"] = "avx2"
