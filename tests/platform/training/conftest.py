"""Plans over real transcripts, and a run of the trainer whose weights are watched."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.platform.training.plain import flat
from torch.optim.optimizer import register_optimizer_step_post_hook

from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise_budget import Plan


@pytest.fixture(scope="session", autouse=True)
def _frozen(frozen_imports: None) -> None:
    """Each test here trains."""


@dataclass
class Traced:
    """One training run: its result, and of each optimizer step the clipped gradient and the weights after it."""

    result: Any
    gradients: list[torch.Tensor]
    weights: list[torch.Tensor]


@pytest.fixture(scope="session")
def settings() -> TrainingSettings:
    return TrainingSettings(
        learning_rate=3e-3, max_grad_norm=0.05, normalisation="admissible", weight_decay=0.01
    )


@pytest.fixture(scope="session")
def make_plan(transcripts: Transcripts) -> Callable[..., Plan]:
    """Slots over turns that differ in length; batch 4; weights of both signs unless given."""

    def make(slots: int = 10, batch: int = 4, weight: Any = None) -> Plan:
        turns = len(transcripts.trajectory)
        example = (np.arange(slots) * 5) % min(turns, 17)
        presentation = np.array([np.count_nonzero(example[:k] == example[k]) for k in range(slots)])
        values = np.random.default_rng(6).normal(size=slots) if weight is None else weight
        return Plan(example, presentation, np.asarray(values), np.arange(slots) // batch, batch, "native")

    return make


@pytest.fixture
def train(
    words: Any, transcripts: Transcripts, settings: TrainingSettings, tmp_path: Path
) -> Callable[..., Traced]:
    """Trains a model, under settings of which some may be changed, and keeps its weights after each step."""

    def run(model: Any, plan: Plan, **changes: Any) -> Traced:
        from equipoise.training.trainer import train_on_plan

        gradients: list[torch.Tensor] = []
        weights: list[torch.Tensor] = []

        def look(*_: object) -> None:
            gradients.append(flat(p.grad for p in model.parameters()))
            weights.append(flat(model.parameters()))

        hook = register_optimizer_step_post_hook(look)
        try:
            result = train_on_plan(model, words, transcripts, plan, replace(settings, **changes), tmp_path)
        finally:
            hook.remove()
        return Traced(result, gradients, weights)

    return run
