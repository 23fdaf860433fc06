"""Rules that compare each agent with itself: Dr. MAS and M-GRPO."""

from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason
from equipoise_conditions.projection import to_turns

DR_MAS, MGRPO = RULES["dr_mas"], RULES["mgrpo"]
BOTH = pytest.mark.parametrize("rule", [DR_MAS, MGRPO], ids=["dr_mas", "mgrpo"])


@pytest.fixture
def uneven(batch: Any) -> Any:
    """Agent 1 only acts in the two successes and one failure, agent 0 in all four trajectories."""
    return batch(outcome=[1, 1, 0, 0], lengths=[2, 2, 2, 1], agent=[0, 1, 0, 1, 0, 1, 0])


@BOTH
def test_an_agent_is_compared_with_its_own_trajectories(rule: Any, uneven: Any) -> None:
    credit = rule.apply(uneven, Context(), {"std": "none"})
    # Agent 0: mean 1/2; agent 1: mean 2/3.
    np.testing.assert_allclose(credit.value, [0.5, 1 / 3, 0.5, 1 / 3, -0.5, -2 / 3, -0.5])
    assert credit.granularity == "agent"


@BOTH
def test_deviations_are_the_agents_own_too(rule: Any, uneven: Any) -> None:
    credit = rule.apply(uneven, Context(), {"std": "sample", "eps": 0.0})
    zero, one = np.std([1, 1, 0, 0], ddof=1), np.std([1, 1, 0], ddof=1)
    expected = np.array([0.5 / zero, 1 / 3 / one] * 2 + [-0.5 / zero, -2 / 3 / one, -0.5 / zero])
    np.testing.assert_allclose(credit.value, expected)


@BOTH
def test_with_one_agent_everywhere_it_is_grpo(rule: Any, forest: Any) -> None:
    t = forest(3)
    credit, grpo = to_turns(rule.apply(t, Context()), t), to_turns(RULES["grpo"].apply(t, Context()), t)
    assert np.array_equal(credit.reason, grpo.reason)
    np.testing.assert_allclose(credit.value, grpo.value, atol=1e-12)


@BOTH
def test_groups_are_not_mixed(rule: Any, batch: Any) -> None:
    t = batch(outcome=[1, 0, 3, 1], lengths=[1] * 4, task=[0, 0, 1, 1])
    assert rule.apply(t, Context(), {"std": "none"}).value.tolist() == [0.5, -0.5, 1.0, -1.0]


@BOTH
def test_equal_outcomes_of_any_size_give_exactly_nothing(rule: Any, batch: Any) -> None:
    t = batch(outcome=[1e6 / 3] * 3, lengths=[1, 1, 1])
    assert rule.apply(t, Context(), {"eps": 0.0}).value.tolist() == [0.0] * 3


@BOTH
def test_a_lone_agent_follows_the_singleton(rule: Any, batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 1], agent=[0, 1, 0])
    assert rule.apply(t, Context(), {"std": "none"}).value.tolist() == [0.5, 0.0, -0.5]
    raw = rule.apply(t, Context(), {"singleton": "raw"})
    assert raw.value[1] == pytest.approx(1 / (1 + 1e-6))
    undefined = rule.apply(t, Context(), {"singleton": "undefined"})
    assert undefined.reason.tolist() == [0, Reason.NO_GROUP, 0]


@BOTH
def test_forks_are_left_out(rule: Any, batch: Any) -> None:
    t = batch(outcome=[1, 0, 1], lengths=[1, 1, 1], parent=[-1, -1, 0], state=[0, 1, 0])
    credit = rule.apply(t, Context(), {"std": "none"})
    assert credit.reason.tolist() == [0, 0, Reason.DROPPED]
    assert credit.value[:2].tolist() == [0.5, -0.5]


def test_turns_and_tokens_may_vote(batch: Any) -> None:
    # Outcome 1 with three turns of one token, 0 with one turn of one token, one of whose siblings is masked.
    t = batch(outcome=[1, 0], lengths=[3, 1], mask=[True, False, False, True])
    assert DR_MAS.apply(t, Context(), {"std": "none", "vote": "turn"}).value.tolist() == [0.25, -0.75]
    assert DR_MAS.apply(t, Context(), {"std": "none", "vote": "token"}).value.tolist() == [0.5, -0.5]


def test_an_agent_without_tokens_in_the_loss_does_not_vote(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[1, 1], mask=[False, False])
    assert DR_MAS.apply(t, Context(), {"vote": "token"}).reason.tolist() == [Reason.MASKED] * 2
    two = batch(outcome=[1, 0], lengths=[2, 2], agent=[0, 1, 0, 1], mask=[True, False] * 2)
    credit = DR_MAS.apply(two, Context(), {"vote": "token", "std": "none"})
    assert credit.value[[0, 2] if two.agent_units[1][1] else [0, 1]].tolist() == [0.5, -0.5]
    assert sorted(credit.reason.tolist()) == [0, 0, Reason.MASKED, Reason.MASKED]


def test_the_preset_groups_rows_by_prompt_and_agent(batch: Any) -> None:
    # Rows of agent 0: 1, 1, 0 (mean 2/3); agent 1 has two rows of one trajectory, agent 2 a single row.
    t = batch(outcome=[1, 0], lengths=[5, 1], agent=[0, 0, 1, 1, 2, 0])
    credit = DR_MAS.apply(t, Context(), {"preset": "drmas"})
    deviation = np.std([1, 1, 0], ddof=1) + 1e-6
    expected = np.array([1 / 3 / deviation, 0.0, 1 / (1 + 1e-6), -2 / 3 / deviation], dtype=float)
    np.testing.assert_allclose(credit.value, expected)


def test_a_role_may_be_scored_by_its_own_rewards_too(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], agent=[0, 1, 0, 1], reward=[0.0, 0.4, 0.2, 0.0])
    credit = MGRPO.apply(t, Context(), {"own_weight": 0.5, "std": "none"})
    # Role 0: 1 and .1; role 1: 1.2 and 0.
    np.testing.assert_allclose(credit.value, [0.45, 0.6, -0.45, -0.6])
