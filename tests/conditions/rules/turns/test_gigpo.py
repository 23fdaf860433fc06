from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, RuleError, anchor_hit_rate, to_turns
from equipoise_conditions.rules.turns import shared_returns

RULE = RULES["gigpo"]


@pytest.mark.parametrize(
    ("std", "episode", "anchor"),
    [("sample", 0.7071, [0.4867, 0.6635, -1.1502]), ("none", 0.5, [0.2683, 0.3658, -0.6342])],
)
def test_two_trajectories_by_hand(batch: Any, std: str, episode: float, anchor: list[float]) -> None:
    # t1: A -> B -> A, success; t2: A -> C, failure. Returns .9025 .95 1 and 0 0; B and C are seen once.
    t = batch(outcome=[1, 0], lengths=[3, 2], state=[1, 2, 1, 1, 3])
    credit = RULE.apply(t, Context(), {"std": std})
    step = np.array([anchor[0], 0.0, anchor[1], anchor[2], 0.0])
    expected = np.array([episode] * 3 + [-episode] * 2) + step
    np.testing.assert_allclose(credit.value, expected, atol=1e-4)
    assert anchor_hit_rate(t) == pytest.approx(3 / 5)


def test_the_episode_term_alone_is_grpo(forest: Any) -> None:
    t = forest(3)
    gigpo = RULE.apply(t, Context(), {"omega": 0.0})
    assert gigpo.digest() == to_turns(RULES["grpo"].apply(t, Context()), t).digest()


def test_longer_trajectories_vote_more_often_only_when_turns_vote(batch: Any) -> None:
    # Outcomes 1 (three turns) and 0 (one turn): the mean is 3/4 by turns and 1/2 by trajectories.
    t = batch(outcome=[1, 0], lengths=[3, 1])
    params = {"std": "none", "omega": 0.0}
    assert RULE.apply(t, Context(), params | {"vote": "turn"}).value.tolist() == [0.25] * 3 + [-0.75]
    assert RULE.apply(t, Context(), params).value.tolist() == [0.5] * 3 + [-0.5]


def test_a_state_of_another_task_is_another_anchor(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], task=[0, 1], state=[7, 7])
    assert RULE.apply(t, Context()).value.tolist() == [0.0, 0.0]
    assert anchor_hit_rate(t) == 0.0


def test_agents_may_be_compared_with_themselves_alone(batch: Any) -> None:
    # Two agents act in turn in one state; agent 1 has the same return in both trajectories.
    t = batch(outcome=[1, 0], lengths=[2, 2], state=[5] * 4, agent=[0, 1, 0, 1], reward=[1, 2, 3, 2])
    params = {"std": "none", "gamma": 0.0}
    together = RULE.apply(t, Context(), params)
    alone = RULE.apply(t, Context(), params | {"per_agent": True})
    assert together.value.tolist() == [-0.5, 0.5, 0.5, -0.5]
    assert alone.value.tolist() == [-0.5, 0.5, 0.5, -0.5]
    # Agent 0 of the second trajectory acts twice: by turns it votes twice, by trajectories once.
    t = batch(outcome=[1, 0], lengths=[2, 3], agent=[0, 1, 0, 0, 1])
    params |= {"omega": 0.0, "per_agent": True}
    assert RULE.apply(t, Context(), params).value.tolist() == [0.5, 0.5, -0.5, -0.5, -0.5]
    third = 1 / 3
    np.testing.assert_allclose(
        RULE.apply(t, Context(), params | {"vote": "turn"}).value, [2 * third, 0.5, -third, -third, -0.5]
    )


@pytest.mark.parametrize(
    ("preset", "expected"),
    [
        ("verl-agent", [0.0, 0.0, 0.5]),
        ("drmas", [0.25, 0.25, 0.5]),
        ("drmas-agents", [0.0, 0.0, 0.5]),
        ("drmas-std", [0.25 / 1.000001, 0.25 / 1.000001, 0.5 / 1.000001]),
    ],
)
def test_presets_differ_in_what_a_lone_trajectory_gets(
    batch: Any, preset: str, expected: list[float]
) -> None:
    # Of two turns, its turns are two equal votes; of one turn, it is a group of one for every preset.
    t = batch(outcome=[0.25, 0.5], lengths=[2, 1], task=[0, 1])
    np.testing.assert_allclose(RULE.apply(t, Context(), {"preset": preset}).value, expected, rtol=1e-12)


def test_forks_neither_vote_nor_get_credit(forest: Any) -> None:
    t = forest(3)
    use = t.collected[t.trajectory_of_turn]
    for params in ({}, {"per_agent": True}, {"vote": "turn", "per_agent": True}):
        assert np.array_equal(RULE.apply(t, Context(), params).defined, use)


def test_a_vote_by_tokens_is_not_offered() -> None:
    with pytest.raises(RuleError, match="vote: expected one of trajectory, turn"):
        RULE.validate({"vote": "token"})


def test_turns_of_one_environment_step_share_one_return() -> None:
    # Steps 0, 1 with rewards 0 and 1, each acted in twice, then step 0 of another trajectory.
    reward = np.array([0.0, 0.0, 1.0, 1.0, 4.0])
    step = np.array([0, 0, 1, 1, 1])
    got = shared_returns(reward, np.array([0, 4, 5]), step, 0.5)
    assert got.tolist() == [0.5, 0.5, 1.0, 1.0, 4.0]


def direct(t: Any, gamma: float = 0.95, eps: float = 1e-6) -> Any:
    """The rule as the published code walks it: dictionaries of lists, one entry at a time."""
    returns = [0.0] * t.n_turns
    offsets, reward = t.turn_offsets.tolist(), t.reward.tolist()
    for i in range(t.n):
        running = 0.0
        for turn in reversed(range(offsets[i], offsets[i + 1])):
            running = reward[turn] + gamma * running
            returns[turn] = running
    groups: dict[Any, list[float]] = {}
    episodes: dict[Any, list[float]] = {}
    task, state = t.task.tolist(), t.state.tolist()
    owner, outcome = t.trajectory_of_turn.tolist(), t.outcome.tolist()
    for i in range(t.n):
        episodes.setdefault(task[i], []).append(outcome[i])
    for turn in range(t.n_turns):
        groups.setdefault((task[owner[turn]], state[turn]), []).append(returns[turn])
    moments = {
        key: (np.mean(values), np.std(values, ddof=1) if len(values) > 1 else 1.0)
        for source in (groups, episodes)
        for key, values in source.items()
    }
    result = []
    for turn in range(t.n_turns):
        mean, std = moments[task[owner[turn]], state[turn]]
        mean_e, std_e = moments[task[owner[turn]]]
        episode = (outcome[owner[turn]] - mean_e) / (std_e + eps)
        result.append(episode + (returns[turn] - mean) / (std + eps))
    return np.array(result)


def test_many_trajectories_are_what_a_walk_over_them_gives(batch: Any) -> None:
    rng = np.random.default_rng(0)
    n, turns = 512, 20
    t = batch(
        outcome=rng.integers(0, 2, n).tolist(),
        lengths=[turns] * n,
        task=np.repeat(np.arange(n // 8), 8).tolist(),
        state=rng.integers(0, 20, n * turns),
        reward=rng.random(n * turns),
    )
    expected = direct(t)
    credit = RULE.apply(t, Context())
    np.testing.assert_allclose(credit.value, expected, atol=1e-9)
