"""Tries of commands: what is forced, where it branches, and that every command has its share of probability."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import ExecutionError
from equipoise.policies.tokens import WordTokens
from equipoise.policies.tries import Edge, TrieBank

A, B, C, D, EOT = 5, 6, 7, 8, 3


@pytest.fixture
def trie() -> TrieBank:
    return TrieBank(WordTokens(["a", "b", "c", "d"]))


def test_a_common_beginning_and_each_end_are_forced(trie: TrieBank) -> None:
    root = trie.root(("a b c", "a b d"))
    assert root.tokens == (A, B)
    assert root.node is not None
    assert root.node.tokens == (C, D)
    assert [(edge.tokens, edge.node, edge.command) for edge in root.node.edges] == [
        ((EOT,), None, 0),
        ((EOT,), None, 1),
    ]


def test_a_single_command_leaves_no_choice(trie: TrieBank) -> None:
    root = trie.root(("c a",))
    assert root == Edge((C, A, EOT), None, 0)
    assert trie.path(("c a",), 0) == [(C, -1), (A, -1), (EOT, -1)]
    assert trie.tables()[1].tolist() == []


def test_a_command_that_begins_another_ends_by_the_marker(trie: TrieBank) -> None:
    commands = ("a", "a b", "a b c")
    assert trie.path(commands, 0) == [(A, -1), (EOT, 0)]
    assert trie.path(commands, 1) == [(A, -1), (B, 0), (EOT, 1)]
    assert trie.path(commands, 2) == [(A, -1), (B, 0), (C, 1), (EOT, -1)]
    assert trie.allowed(0) == (EOT, B)
    assert trie.allowed(1) == (EOT, C)


def test_tries_of_several_states_share_the_tables(trie: TrieBank) -> None:
    trie.root(("a", "b", "c"))
    trie.root(("a", "b"))
    ids, counts = trie.tables()
    assert ids.tolist() == [[A, B, C], [A, B, 0]]
    assert counts.tolist() == [3, 2]
    trie.root(("c d", "d"))
    assert trie.tables()[1].tolist() == [3, 2, 2]


def test_the_same_commands_are_built_once(trie: TrieBank) -> None:
    assert trie.root(("a", "b")) is trie.root(("a", "b"))


def test_a_command_with_an_unknown_word_is_refused(trie: TrieBank) -> None:
    with pytest.raises(ExecutionError, match="got 'z' in 'a z'"):
        trie.root(("a", "a z"))


_commands = st.lists(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=4).map(" ".join),
    min_size=1,
    max_size=12,
    unique=True,
).map(lambda found: tuple(sorted(found)))


@given(commands=_commands, seed=st.integers(0, 2**32 - 1))
def test_every_command_is_reachable_and_their_probabilities_sum_to_one(
    commands: tuple[str, ...], seed: int
) -> None:
    trie = TrieBank(WordTokens("abcd"))
    logits = np.random.default_rng(seed).normal(size=len(WordTokens("abcd")), scale=3.0)
    total = 0.0
    for index, command in enumerate(commands):
        path = trie.path(commands, index)
        assert [token for token, _ in path] == [*WordTokens("abcd").encode(command), EOT]
        chance = 1.0
        for token, node in path:
            if node >= 0:
                mass = np.exp(logits[list(trie.allowed(node))])
                chance *= float(np.exp(logits[token]) / mass.sum())
        total += chance
    assert total == pytest.approx(1.0, abs=1e-12)


@given(commands=_commands)
def test_the_ends_of_a_trie_are_its_commands_each_once(commands: tuple[str, ...]) -> None:
    trie = TrieBank(WordTokens("abcd"))
    waiting, ends = [trie.root(commands)], []
    while waiting:
        edge = waiting.pop()
        if edge.node is None:
            ends.append(edge.command)
        else:
            assert len(edge.node.tokens) > 1
            waiting.extend(edge.node.edges)
    assert sorted(ends) == list(range(len(commands)))
