"""One id a word; a word that the environment did not announce is refused."""

import pytest

from equipoise.environments.registry import make_environment
from equipoise.errors import ExecutionError
from equipoise.policies.tokens import MARKERS, WordTokens


def test_the_markers_come_first_and_the_words_in_alphabetical_order() -> None:
    tokens = WordTokens(["pear", "apple", "pear"])
    assert tokens.words == ("<pad>", "<bos>", "<act>", "<eot>", "<end>", "apple", "pear")
    assert (tokens.pad, tokens.bos, tokens.act, tokens.eot, tokens.end) == (0, 1, 2, 3, 4)
    assert len(tokens) == 7


def test_a_text_is_its_words_and_back() -> None:
    tokens = WordTokens(["apple", "pear"])
    assert tokens.encode("pear  apple pear") == (6, 5, 6)
    assert tokens.decode((6, 5, 3)) == "pear apple <eot>"
    assert tokens.encode("") == ()


def test_the_order_of_the_words_does_not_matter() -> None:
    assert WordTokens(["b", "a", "c"]).words == WordTokens(["c", "b", "a"]).words


def test_a_word_that_is_none_of_the_environments_is_named_with_its_text() -> None:
    tokens = WordTokens(["apple"])
    with pytest.raises(ExecutionError, match=r"\(6 words\), got 'plum' in 'apple plum'; .*vocabulary\(\)"):
        tokens.encode("apple plum")


def test_the_tokenizer_for_transformers_gives_the_same_ids() -> None:
    tokens = WordTokens(["apple", "pear", "take"])
    theirs = tokens.to_transformers()
    assert theirs("take pear")["input_ids"] == list(tokens.encode("take pear"))
    assert (theirs.pad_token, theirs.bos_token, theirs.eos_token) == (MARKERS[0], MARKERS[1], MARKERS[3])
    assert theirs.convert_tokens_to_ids(list(tokens.words)) == list(range(len(tokens)))


def test_a_word_that_is_not_listed_whole_is_read_in_its_parts() -> None:
    tokens = WordTokens(["apple", "pear.", "pear", ".", ",", "there's"])
    assert [tokens.words[k] for k in tokens.encode("pear. apple, there's apple.")] == [
        "pear.",
        "apple",
        ",",
        "there's",
        "apple",
        ".",
    ]


@pytest.mark.parametrize("wording", ["terse", "alfworld"])
def test_households_are_read_in_both_wordings(wording: str) -> None:
    config = {"tasks": {"pool": 3, "held_out": 1, "demonstrations": 1}, "words": wording}
    home = make_environment("household", config, 0)
    tokens = WordTokens(home.vocabulary())
    for task in range(3):
        state = home.reset("pool", task)
        while not state.done:
            assert len(tokens.encode(state.observation)) >= len(state.observation.split())
            assert len({tokens.encode(command) for command in state.admissible}) == len(state.admissible)
            state = home.step(state, home.expert(state))
