"""Sampling in batches: the same episodes as one by one, whatever else is played beside them."""

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from equipoise.environments.protocol import Environment
from equipoise.errors import ExecutionError
from equipoise.policies.episodes import Episode, Start
from equipoise.policies.model import tiny_qwen3
from equipoise.policies.rollout import Sampler, opening
from equipoise.policies.scoring import score
from equipoise.policies.tokens import WordTokens
from equipoise.policies.transcripts import Transcripts
from equipoise.policies.tries import TrieBank

Uniforms = npt.NDArray[np.float64]


def _same(one: Episode, other: Episode) -> None:
    """Equal in every choice; log-probabilities up to single precision."""
    numbers = {"logprobs", "entropies", "squares"}
    left, right = asdict(one), asdict(other)
    assert {k: v for k, v in left.items() if k not in numbers} == {
        k: v for k, v in right.items() if k not in numbers
    }
    for name in numbers:
        np.testing.assert_allclose(left[name], right[name], atol=1e-5)


@pytest.mark.parametrize("temperature", [1.0, 1e-3])
def test_a_batch_plays_as_its_episodes_alone(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, temperature: float
) -> None:
    chosen = replace(sampler, temperature=temperature)
    together = chosen.play(starts, uniforms)
    for index, start in enumerate(starts):
        alone = chosen.play([start], uniforms[index : index + 1])[0]
        if temperature == 1.0:
            _same(together[index], alone)
        else:
            assert together[index].actions == alone.actions


def test_an_episode_depends_on_its_own_numbers_only(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, episodes: list[Episode]
) -> None:
    order = [5, 0, 3]
    others = np.random.default_rng(9).random((4, uniforms.shape[1]))
    mixed = sampler.play(
        [*(starts[k] for k in order), *starts[:4]], np.concatenate((uniforms[order], others))
    )
    for place, index in enumerate(order):
        _same(mixed[place], episodes[index])


def test_small_waves_give_what_one_large_wave_gives(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, episodes: list[Episode]
) -> None:
    for one, other in zip(replace(sampler, batch=3).play(starts, uniforms), episodes, strict=True):
        _same(one, other)


def test_the_same_numbers_give_the_same_bits(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, episodes: list[Episode]
) -> None:
    assert sampler.play(starts, uniforms) == episodes


def test_other_numbers_give_other_episodes(
    sampler: Sampler, starts: list[Start], episodes: list[Episode], uniforms: Uniforms
) -> None:
    assert [e.actions for e in sampler.play(starts, 1 - uniforms)] != [e.actions for e in episodes]


def test_an_episode_is_a_walk_through_its_environment(
    home: Environment, words: WordTokens, starts: list[Start], episodes: list[Episode]
) -> None:
    for start, episode in zip(starts, episodes, strict=True):
        state, expected = start.state, list(start.prefix)
        for turn, action in enumerate(episode.actions):
            assert episode.keys[turn] == state.key
            assert episode.n_actions[turn] == len(state.admissible)
            begin, end = episode.spans[turn]
            assert begin == len(expected)
            expected += [*words.encode(state.admissible[action]), words.eot]
            assert end == len(expected)
            state = home.step(state, state.admissible[action])
            expected += [*words.encode(state.observation), words.act]
        assert episode.tokens == expected[: len(episode.tokens)]
        assert len(episode.tokens) == episode.spans[-1][1], "what follows the last action was never read"
        assert episode.final == state.observation
        assert episode.won == state.won


def test_no_episode_outlasts_the_horizon(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, episodes: list[Episode]
) -> None:
    assert max(len(e.actions) for e in episodes) == sampler.horizon
    short = replace(sampler, horizon=2).play(starts, uniforms)
    assert [e.actions for e in short] == [e.actions[:2] for e in episodes]
    late = [replace(start, turns=sampler.horizon - 1) for start in starts]
    assert [len(e.actions) for e in sampler.play(late, uniforms)] == [1] * len(starts)


def test_sampled_log_probabilities_are_those_of_reading_again(
    sampler: Sampler, episodes: list[Episode], transcripts: Transcripts
) -> None:
    played = np.array([value for e in episodes for value in e.logprobs])
    read = score(sampler.model, transcripts, batch=3)
    np.testing.assert_allclose(read, played, atol=1e-5)
    assert (played[np.diff(transcripts.allowed_offsets) == 1] == 0.0).all()


def test_the_temperature_divides_the_logits(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, bank: TrieBank
) -> None:
    warm = replace(sampler, temperature=2.5).play(starts, uniforms)
    played = np.array([value for e in warm for value in e.logprobs])
    read = score(sampler.model, Transcripts.of(warm, bank), temperature=2.5)
    np.testing.assert_allclose(read, played, atol=1e-5)


def test_entropies_lie_between_nothing_and_the_uniform(episodes: list[Episode], bank: TrieBank) -> None:
    for episode in episodes:
        for node, entropy in zip(episode.nodes, episode.entropies, strict=True):
            most = np.log(len(bank.allowed(node))) if node >= 0 else 0.0
            assert 0.0 <= entropy <= most + 1e-12


def _from_turn(episode: Episode, turn: int, home: Environment, start: Start) -> tuple[Start, int]:
    """The start before a turn of a played episode, and how many draws were used up by then."""
    state = start.state
    for action in episode.actions[:turn]:
        state = home.step(state, state.admissible[action])
    tokens = sum(end - begin for begin, end in episode.spans[:turn])
    used = sum(node >= 0 for node in episode.nodes[:tokens])
    return Start(state, tuple(episode.tokens[: episode.spans[turn][0]]), turn), used


def test_squared_probabilities_sum_to_one_where_forced_and_to_no_less_than_the_uniforms(
    episodes: list[Episode], bank: TrieBank
) -> None:
    chosen = 0
    for episode in episodes:
        for node, squares, entropy in zip(episode.nodes, episode.squares, episode.entropies, strict=True):
            allowed = 1 if node < 0 else len(bank.allowed(node))
            assert 1 / allowed - 1e-12 <= squares <= 1 + 1e-12
            # Jensen: the sum of p squared is at least exp of the mean log p.
            assert squares >= np.exp(-entropy) - 1e-12
            chosen += node >= 0
    assert chosen


def test_playing_on_from_a_prefix_is_playing_on(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, episodes: list[Episode], home: Environment
) -> None:
    resumed, rest, kept = [], [], []
    for index, turn in ((0, 2), (1, 1), (2, 2), (3, 4), (4, 0)):
        start, used = _from_turn(episodes[index], turn, home, starts[index])
        resumed.append(start)
        rest.append(np.roll(uniforms[index], -used))
        kept.append((index, turn))
    again = sampler.play(resumed, np.array(rest))
    for episode, (index, turn) in zip(again, kept, strict=True):
        whole = episodes[index]
        assert episode.tokens == whole.tokens
        assert episode.actions == whole.actions[turn:]
        assert episode.keys == whole.keys[turn:]
        assert (episode.won, episode.final, episode.turns_before) == (whole.won, whole.final, turn)
        own = len(episode.logprobs)
        np.testing.assert_allclose(episode.logprobs, whole.logprobs[-own:], atol=1e-5)


def test_a_prefix_that_episodes_share_is_read_once(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, make_model: Callable[[], Any]
) -> None:
    seen: list[int] = []
    watched = make_model()
    watched.model.register_forward_pre_hook(
        lambda _, __, kwargs: seen.append(len(kwargs["input_ids"])), with_kwargs=True
    )
    again = replace(sampler, model=watched).play([starts[0]] * 8, uniforms)
    assert seen[:2] == [1, 8]
    assert len({tuple(e.actions) for e in again}) > 1


def test_a_forced_first_action_is_taken_without_a_draw(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, home: Environment, words: WordTokens
) -> None:
    start = replace(starts[0], forced=1)
    episode = sampler.play([start], uniforms[:1])[0]
    assert episode.actions[0] == 1
    begin, end = episode.spans[0]
    assert episode.logprobs[: end - begin] == [0.0] * (end - begin)
    command = start.state.admissible[1]
    after = home.step(start.state, command)
    told = (*start.prefix, *words.encode(command), words.eot, *words.encode(after.observation), words.act)
    follow = sampler.play([Start(after, told, 1)], uniforms[:1])[0]
    assert episode.actions[1:] == follow.actions
    assert episode.tokens == follow.tokens


def test_stopping_after_a_turn_does_not_step_the_environment(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms, episodes: list[Episode]
) -> None:
    stopped = sampler.play(starts, uniforms, stop_after=1)
    assert [e.actions for e in stopped] == [e.actions[:1] for e in episodes]
    assert all(e.final == "" and not e.won for e in stopped)


def test_episodes_longer_than_the_first_buffer_are_read_correctly(
    words: WordTokens, bank: TrieBank, home: Environment, starts: list[Start], model: Any
) -> None:
    long = Sampler(model, words, bank, home, horizon=40)
    played = long.play(starts[:4], np.random.default_rng(2).random((4, 160)))
    assert max(len(e.tokens) for e in played) > 2 * 64
    read = score(model, Transcripts.of(played, bank))
    np.testing.assert_allclose(read, [v for e in played for v in e.logprobs], atol=1e-5)


def _global_streams() -> tuple[object, ...]:
    numpy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 - the stream that must not be used
    return torch.get_rng_state().tolist(), numpy["key"].tolist(), numpy["pos"], random.getstate()


def test_no_global_stream_of_random_numbers_is_touched(
    sampler: Sampler, starts: list[Start], uniforms: Uniforms
) -> None:
    before = _global_streams()
    sampler.play(starts, uniforms)
    tiny_qwen3(20, hidden=16, layers=1, seed=3)
    after = _global_streams()
    assert after == before


def test_nothing_to_play_is_no_episode(sampler: Sampler) -> None:
    assert sampler.play([], np.zeros((0, 4))) == []


@dataclass(frozen=True)
class _Step:
    at: int
    length: int
    admissible: tuple[str, ...]
    observation: str = "on"
    won: bool = False

    @property
    def done(self) -> bool:
        return self.at == self.length

    @property
    def key(self) -> int:
        return self.at


@dataclass(frozen=True)
class _Path:
    """A road of a given length; at each place one can go, or also wait where it forks."""

    length: int
    fork: int = -1
    dead_end: int = -1

    def tasks(self, split: str) -> int:
        return 1

    def reset(self, split: str, task: int) -> _Step:
        return self._at(0)

    def step(self, state: _Step, action: str) -> _Step:
        return self._at(state.at + (action == "go"))

    def _at(self, place: int) -> _Step:
        commands = ("go", "wait") if place == self.fork else ("go",)
        done = place == self.length
        return _Step(place, self.length, () if done or place == self.dead_end else commands, won=done)

    def expert(self, state: _Step) -> str:
        return "go"

    def vocabulary(self) -> tuple[str, ...]:
        return ("go", "on", "wait")


def _on(path: Any, horizon: int) -> tuple[Sampler, list[Start]]:
    tokens = WordTokens(path.vocabulary())
    tiny = tiny_qwen3(len(tokens), hidden=16, layers=1, seed=0)
    state = path.reset("pool", 0)
    return Sampler(tiny, tokens, TrieBank(tokens), path, horizon), [Start(state, opening(tokens, state))]


def test_a_state_with_one_command_needs_no_forward_pass() -> None:
    sampler, starts = _on(_Path(3), 10)
    episode = sampler.play(starts, np.zeros((1, 1)))[0]
    assert episode.actions == [0, 0, 0]
    assert episode.won
    assert episode.n_actions == [1, 1, 1]
    assert set(episode.nodes) == {-1}
    assert episode.logprobs == [0.0] * 6


def test_forced_turns_before_and_after_a_choice_are_fed_with_it() -> None:
    sampler, starts = _on(_Path(5, fork=2), 10)
    episode = sampler.play(starts * 2, np.array([[0.0], [0.0]]))[0]
    assert episode.actions == [0, 0, 0, 0, 0]
    assert [node >= 0 for node in episode.nodes] == [False] * 4 + [True] + [False] * 5
    read = score(sampler.model, Transcripts.of([episode], sampler.bank))
    np.testing.assert_allclose(read, episode.logprobs, atol=1e-6)


def test_thousands_of_forced_turns_are_walked() -> None:
    sampler, starts = _on(_Path(3000), 5000)
    assert len(sampler.play(starts, np.zeros((1, 1)))[0].actions) == 3000


def test_a_dead_end_that_is_not_the_end_is_the_environments_fault() -> None:
    sampler, starts = _on(_Path(3, dead_end=1), 10)
    with pytest.raises(ExecutionError, match="got 'on' with neither; the environment has to end"):
        sampler.play(starts, np.zeros((1, 1)))
