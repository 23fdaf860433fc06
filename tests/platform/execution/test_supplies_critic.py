"""The critic: fitted on other tasks, read off hidden states, and what follows from it."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.platform.execution.supplied import Block, collected

from equipoise.errors import ExecutionError
from equipoise.execution.batches import Batch, states_of
from equipoise.execution.forks import with_forks
from equipoise.execution.supplies.critic import RIDGE, fit_critic
from equipoise.execution.supplies.valued import (
    progress,
    step_scores,
    token_progress,
    token_values,
    values,
)
from equipoise_conditions import Trajectories
from equipoise_preregistration import Suite


@pytest.fixture(scope="module")
def block(make_suite: Callable[..., Suite], tmp_path_factory: pytest.TempPathFactory) -> Block:
    return collected(make_suite(), tmp_path_factory.mktemp("block"))


def _episodes(task: list[int], outcome: list[float]) -> Trajectories:
    """Trajectories of one turn of one token each."""
    n = len(task)
    zeros, offsets = np.zeros(n, dtype=np.int64), np.arange(n + 1)
    return Trajectories(
        task=np.array(task),
        outcome=np.array(outcome),
        turn_offsets=offsets,
        parent=zeros - 1,
        branch=zeros,
        state=zeros,
        action=zeros,
        n_actions=zeros + 2,
        reward=np.array(outcome),
        token_offsets=offsets,
        logprob=np.zeros(n),
        entropy=np.zeros(n),
    )


def test_the_critic_finds_what_a_feature_tells_of_other_tasks() -> None:
    rng = np.random.default_rng(0)
    outcome = rng.integers(2, size=200).astype(float)
    feature = rng.normal(size=(200, 5)) * 0.1
    feature[:, 2] = 2.0 * outcome - 1.0
    batch = _episodes(np.repeat(np.arange(20), 10).tolist(), outcome.tolist())
    critic, cost = fit_critic(batch, feature, feature, np.arange(200))
    np.testing.assert_allclose(critic.before, outcome, atol=0.05)
    np.testing.assert_array_equal(critic.before, critic.end)
    assert cost.critic_tokens == 400 * 7, "each row is in all of 8 fits but one"


def test_the_fit_is_the_penalised_least_squares_with_a_free_constant() -> None:
    rng = np.random.default_rng(1)
    outcome = rng.normal(size=12)
    feature, end = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    batch = _episodes([0] * 6 + [1] * 6, outcome.tolist())
    critic, _ = fit_critic(batch, feature, end, np.arange(12))
    seen = np.concatenate((feature[6:], end[6:]))
    target = np.concatenate((outcome[6:], outcome[6:]))
    size = RIDGE * (seen**2).sum() / 2
    centred = seen - seen.mean(axis=0)
    slope = np.linalg.solve(centred.T @ centred + size * np.eye(2), centred.T @ (target - target.mean()))
    expected = target.mean() + (feature[:6] - seen.mean(axis=0)) @ slope
    np.testing.assert_allclose(critic.before[:6], np.clip(expected, target.min(), target.max()), atol=1e-12)


def test_values_of_a_task_know_nothing_of_its_own_outcomes(block: Block) -> None:
    trajectories = block.batch.trajectories
    first = trajectories.task == 0
    turned = np.where(first, 1.0 - trajectories.outcome, trajectories.outcome)
    other = Batch(replace(trajectories, outcome=turned), block.batch.transcripts)
    before, after = (values(block.case("gae_turn", batch=batch)) for batch in (block.batch, other))
    mine = first[trajectories.trajectory_of_turn]
    np.testing.assert_array_equal(before[mine], after[mine])
    assert (before[~mine] != after[~mine]).any()


def test_a_task_alone_has_nobody_to_learn_from() -> None:
    batch = _episodes([3, 3], [0.0, 1.0])
    with pytest.raises(ExecutionError, match=r"at least 2 tasks, got 1; raise environment\.tasks\.pool"):
        fit_critic(batch, np.zeros((2, 1)), np.zeros((2, 1)), np.arange(2))


def test_features_are_the_policys_last_hidden_states_before_each_token_and_after_the_end(
    block: Block,
) -> None:
    case, transcripts = block.case(), block.batch.transcripts
    reading = case.reading
    _, after = states_of(block.world.env, block.batch.trajectories)
    for index in (0, 5):
        text = transcripts.tokens[transcripts.offsets[index] : transcripts.offsets[index + 1]].tolist()
        words = block.world.words
        whole = [*text, *words.encode(after[index].observation), words.act]
        with torch.inference_mode():
            hidden = block.sampler.model.model(input_ids=torch.tensor([whole])).last_hidden_state[0].numpy()
        np.testing.assert_allclose(reading.end[index], hidden[-1], atol=1e-5)
        place = 0
        for turn in np.flatnonzero(transcripts.trajectory == index):
            base = int(transcripts.token_offsets[turn])
            for step in range(3):
                at = int(transcripts.start[turn]) + step - 1
                np.testing.assert_allclose(reading.token[base + step], hidden[at], atol=1e-5)
                place += 1
        assert place == 12


def test_progress_leads_from_the_value_before_to_the_prediction_at_the_end(block: Block) -> None:
    case, trajectories = block.case("spa"), block.batch.trajectories
    value, boundary = values(case), progress(case)
    np.testing.assert_array_equal(boundary.before, value[trajectories.turn_offsets[:-1]])
    for index in range(trajectories.n):
        begin, stop = trajectories.turn_offsets[index : index + 2].tolist()
        np.testing.assert_array_equal(boundary.after[begin : stop - 1], value[begin + 1 : stop])
        assert boundary.after[stop - 1] == case.critic.end[index]
    np.testing.assert_array_equal(step_scores(case), boundary.after)


def test_tokens_have_a_critic_of_their_own(block: Block) -> None:
    case, trajectories = block.case("gae"), block.batch.trajectories
    value, after = token_values(case), token_progress(case)
    assert value.shape == after.shape == (trajectories.n_tokens,)
    last = trajectories.token_offsets_of_trajectory[1:] - 1
    np.testing.assert_array_equal(np.delete(after, last), np.delete(np.append(value[1:], 0.0), last))
    np.testing.assert_array_equal(after[last], case.token_critic.end)
    assert (value[trajectories.token_offsets[:-1]] != values(case)).any()


def test_a_critic_is_read_and_fitted_once_however_many_needs_it_serves(block: Block) -> None:
    one, both = block.case("gae_turn"), block.case("archer")
    values(one)
    for supply in (values, step_scores, progress):
        supply(both)
    assert one.spent == both.spent
    trajectories = block.batch.trajectories
    assert one.spent.critic_tokens == trajectories.n_turns + trajectories.n, "two tasks: each row in one fit"
    # every transcript, "end" and the marker that asks for an action
    assert one.spent.scoring_tokens == len(block.batch.transcripts.tokens) + 2 * trajectories.n
    assert one.spent.flops > 0
    token_values(both)
    assert both.spent.scoring_tokens == one.spent.scoring_tokens
    assert both.spent.critic_tokens == one.spent.critic_tokens + trajectories.n_tokens + trajectories.n


def test_forks_are_valued_and_not_learned_from(block: Block) -> None:
    forked, _ = with_forks(block.world, block.sampler, block.batch, {"forks": 2, "initial": 1})
    case = block.case(batch=forked)
    value, plain = values(case), values(block.case())
    assert value.shape == (forked.trajectories.n_turns,)
    assert np.isfinite(value).all()
    np.testing.assert_allclose(value[: len(plain)], plain, atol=1e-5)
    assert case.spent.critic_tokens == len(plain) + block.batch.trajectories.n
