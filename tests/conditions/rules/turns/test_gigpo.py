from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, anchor_hit_rate
from equipoise_conditions.groups import codes_within, standardised

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
    assert gigpo.digest() == RULES["grpo"].apply(t, Context()).digest()


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


def adapted(batch: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return the reference's rows (one an environment step) as a batch, and the order of its turns.

    The reference is handed returns; with gamma 0 a reward is its own return. Episode scores are row sums.
    """
    group = np.unique(given["index"], return_inverse=True)[1]
    walk = np.unique(given["traj_index"], return_inverse=True)[1]
    order = np.lexsort((walk, group))
    score = np.array(given["token_level_rewards"], dtype=float).sum(axis=1)[order]
    key = (group * 1000 + walk)[order]
    starts = np.flatnonzero(np.diff(key, prepend=-1))
    low, high = min(score.min(), 0.0), max(score.max(), 1.0)
    t = batch(
        outcome=((score - low) / (high - low))[starts].tolist(),
        lengths=np.diff(starts, append=key.size).tolist(),
        task=group[order][starts].tolist(),
        state=np.unique(given["anchor_obs"], return_inverse=True)[1][order],
        reward=np.array(given["step_rewards"], dtype=float)[order],
    )
    assert (low, high) == (0.0, 1.0) or given["mode"] == "mean_std_norm", "a z-score forgets the scale"
    return t, order


@pytest.mark.parametrize(
    ("name", "votes"),
    [("gigpo_verl_agent", None), ("gigpo_drmas", {False: "trajectory", True: "turn"})],
)
def test_credit_equals_the_code_of_the_authors(
    batch: Any, golden: Any, name: str, votes: dict[bool, str] | None
) -> None:
    seen = 0
    for case in golden(name):
        given = case["inputs"]
        t, order = adapted(batch, given)
        params = {
            "gamma": 0.0,
            "omega": given["step_advantage_w"],
            "std": {"mean_norm": "none", "mean_std_norm": "sample"}[given["mode"]],
            "vote": "turn" if votes is None else votes[given["group_by_agent_id"]],
            "singleton": "raw",
        }
        got = RULE.apply(t, Context(), params).value[:, None]
        mask = np.array(given["response_mask"], dtype=bool)[order]
        expected = np.array(case["expected"], dtype=float)[order]
        # The reference divides a group of one by 1 + 1e-6 in single precision.
        np.testing.assert_allclose(got * mask, expected, rtol=1e-7, atol=1e-9, err_msg=case["name"])
        seen += 1
    assert seen >= 20


def test_the_turn_term_equals_the_code_of_the_authors(golden: Any) -> None:
    for case in golden("gigpo_step_norm_reward"):
        given = case["inputs"]
        group = np.array(given["step_group"])
        std = "none" if given["remove_std"] else "sample"
        value = np.array(given["step_rewards"], dtype=float)
        got = standardised(value, group, int(group.max()) + 1, std=std, eps=1e-6)
        masked = got[:, None] * np.array(given["response_mask"], dtype=bool)
        np.testing.assert_allclose(masked, case["expected"], atol=1e-9, err_msg=case["name"])


def test_anchor_groups_are_those_of_the_authors(golden: Any) -> None:
    seen = 0
    for case in golden("gigpo_build_step_group"):
        given = case["inputs"]
        if not case["name"].startswith("exact|"):
            continue  # matching by similarity is not offered
        state = np.unique(given["anchor_obs"], return_inverse=True)[1].astype(np.int64)
        group = np.unique(given["index"], return_inverse=True)[1].astype(np.int64)
        code, _ = codes_within(state, group)
        expected = np.array(case["expected"])
        assert np.array_equal(code[:, None] == code, expected[:, None] == expected), case["name"]
        seen += 1
    assert seen == 8
