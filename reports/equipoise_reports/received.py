"""What a run says beside its dose: each of its rounds, and what its credit was allowed to cost and did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

RESOURCES = ("rollout_tokens", "environment_steps", "judge_calls", "flops")
"""What generation can be limited in, in the order of their columns."""


@dataclass(frozen=True)
class RoundRecord:
    """One round of collection and training of one run.

    Attributes:
        number: from 1.
        slots: examples presented, counted.
        steps: optimizer steps taken, counted.
        unique_examples: different examples among the slots.
        examples: turns with defined credit that the rule left; all that a native run trains on.
        undefined: turns without credit, whatever the reason; None where it was not told.
        episodes: trajectories collected; None where it was not told.
        success: share of them that succeeded, by the policy as it was when the round began; None likewise.
        planned: whether there was a plan, hence something to train on.
    """

    number: int
    slots: int
    steps: int
    unique_examples: int
    examples: int
    undefined: int | None
    episodes: int | None
    success: float | None
    planned: bool

    @property
    def empty(self) -> bool:
        """Whether the rule left no example at all."""
        return self.examples == 0


@dataclass(frozen=True)
class GenerationUse:
    """Limits of generation that a run kept to, and what it used of them; sums over rounds where there are several.

    Attributes:
        limits: what was allowed, by resource.
        used: what the prompts cost that the run trained on, by resource.
        binding: the resources that left prompts out, or ended the run; empty where all prompts fit.
        prompts: that it trained on; None where a run refills, which leaves none out.
        of: prompts that there were; None likewise.
    """

    limits: Mapping[str, float]
    used: Mapping[str, float]
    binding: tuple[str, ...] = ()
    prompts: int | None = None
    of: int | None = None
