"""Tries of admissible commands: where a decision branches, and which tokens are forced."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equipoise.policies.tokens import WordTokens

__all__ = ["Edge", "Node", "TrieBank"]


@dataclass(slots=True)
class Edge:
    """Tokens that follow one another without a choice, then a branching node or a finished command."""

    tokens: tuple[int, ...]
    node: "Node | None"
    command: int


@dataclass(slots=True)
class Node:
    """A place where at least two tokens are allowed; `index` is its row in the bank's tables."""

    index: int
    tokens: tuple[int, ...]
    edges: tuple[Edge, ...]


class TrieBank:
    """Builds each trie once and keeps the allowed tokens of all nodes in padded tables.

    Attributes:
        ids: (nodes, widest) int64, allowed token ids of each node, padded with 0.
        counts: (nodes,) int64, number of allowed tokens of each node.
    """

    def __init__(self, tokens: WordTokens) -> None:
        self._tokens = tokens
        self._roots: dict[tuple[str, ...], Edge] = {}
        self._allowed: list[tuple[int, ...]] = []
        self._ids: npt.NDArray[np.int64] = np.zeros((0, 1), dtype=np.int64)
        self._counts: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def root(self, commands: tuple[str, ...]) -> Edge:
        """The entry of the trie of these commands; its tokens are forced already."""
        known = self._roots.get(commands)
        if known is None:
            paths = [(*self._tokens.encode(command), self._tokens.eot) for command in commands]
            known = self._roots[commands] = self._edge(paths, list(range(len(paths))), 0)
        return known

    def path(self, commands: tuple[str, ...], command: int) -> list[tuple[int, int]]:
        """(token, node index or -1 where forced) of one command, in order."""
        edge = self.root(commands)
        wanted = (*self._tokens.encode(commands[command]), self._tokens.eot)
        steps = [(token, -1) for token in edge.tokens]
        while edge.node is not None:
            node = edge.node
            token = wanted[len(steps)]
            edge = node.edges[node.tokens.index(token)]
            steps.append((token, node.index))
            steps.extend((forced, -1) for forced in edge.tokens)
        return steps

    def allowed(self, node: int) -> tuple[int, ...]:
        """Allowed token ids of a node."""
        return self._allowed[node]

    def tables(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(ids, counts) of all nodes built so far."""
        if len(self._counts) != len(self._allowed):
            self._counts = np.array([len(row) for row in self._allowed], dtype=np.int64)
            self._ids = np.zeros((len(self._allowed), int(self._counts.max())), dtype=np.int64)
            for index, row in enumerate(self._allowed):
                self._ids[index, : len(row)] = row
        return self._ids, self._counts

    def _edge(self, paths: Sequence[tuple[int, ...]], commands: list[int], depth: int) -> Edge:
        forced: list[int] = []
        while True:
            heads = {paths[command][depth] for command in commands if depth < len(paths[command])}
            if not heads:
                return Edge(tuple(forced), None, commands[0])
            if len(heads) > 1:
                return Edge(tuple(forced), self._node(paths, commands, depth), -1)
            forced.append(heads.pop())
            depth += 1

    def _node(self, paths: Sequence[tuple[int, ...]], commands: list[int], depth: int) -> Node:
        groups: dict[int, list[int]] = {}
        for command in commands:
            groups.setdefault(paths[command][depth], []).append(command)
        tokens = tuple(sorted(groups))
        index = len(self._allowed)
        self._allowed.append(tokens)
        edges = tuple(self._edge(paths, groups[token], depth + 1) for token in tokens)
        return Node(index, tokens, edges)
