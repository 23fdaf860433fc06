"""From played episodes to the two columnar views of them: what rules read, and what the trainer reads."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from equipoise.environments.protocol import Environment, State
from equipoise.policies.episodes import Episode
from equipoise.policies.transcripts import Transcripts
from equipoise.policies.tries import TrieBank
from equipoise_conditions.trajectories import Trajectories

__all__ = ["Batch", "batch_of", "states_of"]


@dataclass(frozen=True)
class Batch:
    """Trajectories and their transcripts: turn t of the one is turn t of the other."""

    trajectories: Trajectories
    transcripts: Transcripts

    def save(self, folder: Path) -> None:
        """Write both into a folder."""
        self.trajectories.save(folder / "trajectories.npz")
        self.transcripts.save(folder / "transcripts.npz")

    def digests(self) -> dict[str, str]:
        """What a result says of both, so that what a run read can be held to it."""
        return {"trajectories": self.trajectories.digest(), "transcripts": self.transcripts.digest()}

    @classmethod
    def load(cls, folder: Path) -> "Batch":
        """Read what `save` wrote."""
        return cls(
            Trajectories.load(folder / "trajectories.npz"), Transcripts.load(folder / "transcripts.npz")
        )


def batch_of(episodes: Sequence[Episode], tasks: Sequence[int], bank: TrieBank) -> Batch:
    """Put episodes into columns, as collected ones.

    Args:
        episodes: each with at least one turn.
        tasks: pool task of each.
        bank: the tries they were played under.
    """
    lengths = np.array([len(e.actions) for e in episodes], dtype=np.int64)
    outcome = np.array([float(e.won) for e in episodes])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    reward = np.zeros(int(offsets[-1]))
    reward[offsets[1:] - 1] = outcome
    transcripts = Transcripts.of(episodes, bank)
    trajectories = Trajectories(
        task=np.array(tasks, dtype=np.int64),
        outcome=outcome,
        turn_offsets=offsets,
        parent=np.full(len(episodes), -1, dtype=np.int64),
        branch=np.zeros(len(episodes), dtype=np.int64),
        state=_flat([e.keys for e in episodes]),
        action=_flat([e.actions for e in episodes]),
        n_actions=_flat([e.n_actions for e in episodes]),
        reward=reward,
        token_offsets=transcripts.token_offsets,
        logprob=np.array([value for e in episodes for value in e.logprobs]),
        entropy=np.array([value for e in episodes for value in e.entropies]),
        token=_flat([e.tokens[begin:end] for e in episodes for begin, end in e.spans]),
        sum_pi_squared=np.array([value for e in episodes for value in e.squares]),
    )
    return Batch(trajectories, transcripts)


def states_of(env: Environment, trajectories: Trajectories) -> tuple[list[State], list[State]]:
    """Walk every trajectory again from its task's first state.

    Returns:
        The state before each turn (T), and the state after the last turn of each trajectory (N).
    """
    before: list[State] = []
    after: list[State] = []
    for index in range(trajectories.n):
        state = env.reset("pool", int(trajectories.task[index]))
        span = slice(int(trajectories.turn_offsets[index]), int(trajectories.turn_offsets[index + 1]))
        for action in trajectories.action[span]:
            before.append(state)
            state = env.step(state, state.admissible[int(action)])
        after.append(state)
    return before, after


def _flat(columns: Sequence[Sequence[int]]) -> np.ndarray:
    return np.array([value for column in columns for value in column], dtype=np.int64)
