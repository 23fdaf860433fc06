"""Episodes as they are played, and the start from which one is played on."""

from dataclasses import dataclass, field

from equipoise.environments.protocol import State

__all__ = ["Episode", "Start"]


@dataclass(frozen=True, slots=True)
class Start:
    """Where an episode begins: a state, the tokens that led to it, and perhaps a first action.

    Attributes:
        state: the state before the next action.
        prefix: transcript so far, ending with the marker that asks for an action.
        turns: turns already taken on that transcript.
        forced: index of the first action among the admissible ones; None lets the policy choose.
    """

    state: State
    prefix: tuple[int, ...]
    turns: int = 0
    forced: int | None = None


@dataclass(slots=True)
class Episode:
    """What one episode left behind; lists hold one entry a turn, or one an action token.

    Attributes:
        tokens: the whole transcript, the start's prefix included.
        spans: (start, end) of each turn's action tokens in `tokens`.
        actions: index of the chosen command; `n_actions`: how many were admissible.
        keys: state key before each action.
        logprobs, entropies, nodes: of each action token; node -1 where the token was forced.
        squares: sum of the squared probabilities of each action token's distribution.
    """

    tokens: list[int]
    turns_before: int
    spans: list[tuple[int, int]] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    n_actions: list[int] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    entropies: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    won: bool = False
    final: str = ""
