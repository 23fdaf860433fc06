"""One episode's bookkeeping between two forward passes: which tokens come next, and where it must choose."""

from equipoise.environments.protocol import Environment, State
from equipoise.errors import ExecutionError
from equipoise.policies.episodes import Episode, Start
from equipoise.policies.tokens import WordTokens
from equipoise.policies.tries import Edge, Node, TrieBank

__all__ = ["Player"]


class Player:
    """Walks one episode: `pending` tokens wait to be fed, `node` is the choice that follows them.

    Args:
        start: where to begin.
        horizon: turns after which an episode ends unsuccessfully, counted over the whole transcript.
        stop_after: end after this many turns of its own, without stepping the environment for the last one.

    Raises:
        ExecutionError: if the environment leads into a state that is not done and admits nothing.
    """

    __slots__ = (
        "_bank",
        "_env",
        "_horizon",
        "_start",
        "_stop",
        "_tokens",
        "_words",
        "draws",
        "episode",
        "node",
        "pending",
        "state",
    )

    def __init__(
        self,
        env: Environment,
        words: WordTokens,
        bank: TrieBank,
        start: Start,
        *,
        horizon: int,
        stop_after: int | None,
    ) -> None:
        self._env, self._words, self._bank = env, words, bank
        self._horizon, self._stop, self._start = horizon, stop_after, start
        self.state: State = start.state
        self.episode = Episode(tokens=list(start.prefix), turns_before=start.turns)
        self.pending: list[int] = list(start.prefix)
        self.node: Node | None = None
        self.draws = 0
        self._tokens: list[int] = []
        if start.forced is None:
            self._follow(self._enter())
        else:
            self._force(start.forced)

    @property
    def done(self) -> bool:
        """Whether nothing is left to decide."""
        return self.node is None

    def choose(self, which: int, logprob: float, entropy: float, squares: float = 1.0) -> None:
        """Take the `which`-th allowed token of the current node; `squares` is the sum of squared probabilities."""
        node = self.node
        assert node is not None
        self.draws += 1
        self._put(node.tokens[which], logprob, entropy, squares, node.index)
        self._follow(node.edges[which])

    def _follow(self, edge: Edge) -> None:
        """Write down what is forced, over as many turns as leave no choice, up to the next choice or the end."""
        at: Edge | None = edge
        while at is not None:
            for token in at.tokens:
                self._put(token, 0.0, 0.0, 1.0, -1)
            self.node = at.node
            at = self._act(at.command) if at.node is None else None

    def _enter(self) -> Edge:
        """Begin a turn at the present state."""
        state, episode = self.state, self.episode
        if not state.admissible:
            message = (
                f"expected a state with an admissible command, or one that is done, got {state.observation!r} with "
                "neither; the environment has to end the episode there"
            )
            raise ExecutionError(message)
        episode.keys.append(state.key)
        episode.n_actions.append(len(state.admissible))
        self._tokens = []
        return self._bank.root(state.admissible)

    def _force(self, command: int) -> None:
        """Write down a given first action; its log-probabilities were not asked for and stand as zero."""
        self._enter()
        path = self._bank.path(self.state.admissible, command)
        self._follow(Edge(tuple(token for token, _ in path), None, command))

    def _put(self, token: int, logprob: float, entropy: float, squares: float, node: int) -> None:
        episode = self.episode
        self._tokens.append(token)
        self.pending.append(token)
        episode.logprobs.append(logprob)
        episode.entropies.append(entropy)
        episode.squares.append(squares)
        episode.nodes.append(node)

    def _act(self, command: int) -> Edge | None:
        """Finish a turn; the entry of the next one, None if it was the last."""
        episode = self.episode
        begin = len(episode.tokens)
        episode.tokens.extend(self._tokens)
        episode.spans.append((begin, len(episode.tokens)))
        episode.actions.append(command)
        if self._stop is not None and len(episode.actions) >= self._stop:
            return None
        self.state = state = self._env.step(self.state, self.state.admissible[command])
        episode.final = state.observation
        if state.done or episode.turns_before + len(episode.actions) >= self._horizon:
            episode.won = state.won
            return None
        seen = (*self._words.encode(state.observation), self._words.act)
        episode.tokens.extend(seen)
        self.pending.extend(seen)
        return self._enter()
