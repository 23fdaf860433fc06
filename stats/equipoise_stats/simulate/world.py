"""What is taken to be true when a plan is simulated: means, spreads, divergence; and draws of its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from equipoise_stats.decomposition import Cell
from equipoise_stats.errors import StatsError
from equipoise_stats.simulate.plan import Plan

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Divergence:
    """Runs of some conditions diverge, the worse the likelier, and count with the score of the policy they began from.

    Attributes:
        conditions: whose runs diverge, in every arm.
        share: of their runs, in (0, 1).
        slope: how steeply the chance falls with the run's quality, in logits a standard deviation.
        loss: mean score of a trained run above the policy it began from, in success rate.
    """

    conditions: tuple[str, ...]
    share: float = 0.28
    slope: float = 1.0
    loss: float = 0.18


@dataclass(frozen=True)
class World:
    """A state of nature.

    Attributes:
        level: success rate of the baseline's matched cell.
        effects: by cell, what its mean lies above ``level``; others have none.
        run_sd: between runs of one cell and block, without the noise of judging.
        evaluation_sd: of judging a run by finitely many episodes.
        block_sd: between blocks.
        spread: by condition, or by cell, the factor on ``run_sd`` and ``evaluation_sd``.
        divergence: None where all runs train.
    """

    level: float = 0.5
    effects: Mapping[Cell, float] = field(default_factory=dict)
    run_sd: float = 0.030
    evaluation_sd: float = 0.022
    block_sd: float = 0.015
    spread: Mapping[str, float] = field(default_factory=dict)
    divergence: Divergence | None = None

    def __post_init__(self) -> None:
        named = (("run_sd", self.run_sd), ("evaluation_sd", self.evaluation_sd), ("block_sd", self.block_sd))
        faults = [f"{name}: expected at least 0, got {value}" for name, value in named if not value >= 0]
        faults += [] if self.noise > 0 else ["run_sd, evaluation_sd: expected one above 0, got 0 and 0"]
        if faults:
            raise StatsError(faults)

    @property
    def noise(self) -> float:
        """SD of a run's score within its block."""
        return float(np.hypot(self.run_sd, self.evaluation_sd))


def draw(plan: Plan, world: World, sets: int, rng: np.random.Generator) -> FloatArray:
    """(sets, C, S) scores of a plan's cells, twins averaged.

    Scores are normal and not cut to [0, 1]: their spread is a few hundredths around ``level``.
    """
    scores = _runs(
        plan, world, sets, rng, np.array([1 if arm != "twin" else plan.twins for _, arm in plan.cells])
    )
    scores += world.block_sd * rng.standard_normal((sets, 1, plan.blocks))
    return scores


def _runs(
    plan: Plan, world: World, sets: int, rng: np.random.Generator, width: npt.NDArray[np.int64]
) -> FloatArray:
    means = np.array([world.level + world.effects.get(cell, 0.0) for cell in plan.cells])
    sd = world.noise * np.array([world.spread.get(condition, 1.0) for condition, _ in plan.cells])
    if world.divergence is None:
        noise = rng.standard_normal((sets, len(plan.cells), plan.blocks))
        return np.asarray(means[:, None] + (sd / np.sqrt(width))[:, None] * noise, dtype=np.float64)
    total = np.zeros((sets, len(plan.cells), plan.blocks))
    for twin in range(int(width.max())):
        quality = rng.standard_normal(total.shape)
        run = means[:, None] + sd[:, None] * quality
        run = np.where(_diverged(plan, world.divergence, quality, rng), _base(world, run.shape, rng), run)
        total += np.where((twin < width)[:, None], run, 0.0)
    return total / width[:, None]


def _base(world: World, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Scores of policies that did not learn: their level, with the noise of judging them."""
    assert world.divergence is not None
    noise = world.evaluation_sd * rng.standard_normal(shape)
    return np.asarray(world.level - world.divergence.loss + noise, dtype=np.float64)


def _diverged(
    plan: Plan, divergence: Divergence, quality: FloatArray, rng: np.random.Generator
) -> npt.NDArray[np.bool_]:
    may = np.array([condition in divergence.conditions for condition, _ in plan.cells])[:, None]
    chance = 1.0 / (1.0 + np.exp(divergence.slope * quality - _offset(divergence)))
    return np.asarray(may & (rng.random(quality.shape) < chance), dtype=np.bool_)


def _offset(divergence: Divergence) -> float:
    """The logit at mean quality that gives the wanted share, by Gauss-Hermite quadrature and bisection."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        share = float(weights @ (1.0 / (1.0 + np.exp(divergence.slope * nodes - middle)))) / float(
            weights.sum()
        )
        low, high = (middle, high) if share < divergence.share else (low, middle)
    return 0.5 * (low + high)


def truth(plan: Plan, world: World, kind: str) -> FloatArray:
    """(m,) true contrasts of a family; with divergence those of cells that diverge alike."""
    means = np.array([world.effects.get(cell, 0.0) for cell in plan.cells])
    if world.divergence is not None:
        means = means + _expected_loss(plan, world)
    return np.asarray(plan.vectors(kind) @ means, dtype=np.float64)


def _expected_loss(plan: Plan, world: World) -> FloatArray:
    """(C,) how far divergence moves the mean of each cell."""
    d = world.divergence
    assert d is not None
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    chance = 1.0 / (1.0 + np.exp(d.slope * nodes - _offset(d)))
    weights = weights / weights.sum()
    lost = []
    for cell in plan.cells:
        sd = world.noise * world.spread.get(cell[0], 1.0)
        gap = -d.loss - (world.effects.get(cell, 0.0) + sd * nodes)
        lost.append(float(weights @ (chance * gap)) if cell[0] in d.conditions else 0.0)
    return np.array(lost)
