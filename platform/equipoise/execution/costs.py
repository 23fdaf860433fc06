"""What it cost to obtain credit, counted from what was really played and scored."""

from collections.abc import Sequence
from dataclasses import dataclass

from equipoise.policies.episodes import Episode, Start

__all__ = ["Spent"]


@dataclass(frozen=True)
class Spent:
    """Generation-side counts.

    Attributes:
        rollouts: episodes played, from a task's start or from a restored state.
        rollout_tokens: tokens that the policy wrote and read in them, prefixes that were only restored left out.
        environment_steps: actions carried out. `environment_resets`: starts and restores.
        scoring_tokens: tokens read again to score actions.
    """

    rollouts: int = 0
    rollout_tokens: int = 0
    environment_steps: int = 0
    environment_resets: int = 0
    scoring_tokens: int = 0

    @classmethod
    def of(cls, starts: Sequence[Start], episodes: Sequence[Episode], *, copied: Sequence[int] = ()) -> "Spent":
        """Count what playing these starts took.

        Args:
            starts: where each began.
            episodes: what came of them.
            copied: turns of each episode that were copied into it, not played (forks).
        """
        turns = sum(len(episode.actions) for episode in episodes) - sum(copied)
        tokens = sum(len(e.tokens) - len(s.prefix) for s, e in zip(starts, episodes, strict=True))
        return cls(len(episodes), tokens, turns, len(starts), 0)

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.rollouts + other.rollouts,
            self.rollout_tokens + other.rollout_tokens,
            self.environment_steps + other.environment_steps,
            self.environment_resets + other.environment_resets,
            self.scoring_tokens + other.scoring_tokens,
        )
