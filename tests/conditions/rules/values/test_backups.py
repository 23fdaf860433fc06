from typing import Any

import numpy as np
import pytest

from equipoise_conditions import Reason
from equipoise_conditions.credit import on_collected
from equipoise_conditions.rules.values.backups import (
    Whitening,
    backed_up,
    differences,
    inside,
    lambda_returns,
    measured_credit,
    policy_token_rewards,
    suffix_min,
    weight_of_next,
)

LENGTHS = [1, 7, 2, 16, 3, 1]
NAN = float("nan")


def columns(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    trajectory = np.repeat(np.arange(len(LENGTHS)), LENGTHS)
    return rng.normal(size=trajectory.size), rng.normal(size=trajectory.size), trajectory


@pytest.mark.parametrize("lam", [0.0, 0.3, 0.95, 1.0])
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
def test_lambda_returns_are_a_loop_from_the_end_over_temporal_differences(gamma: float, lam: float) -> None:
    reward, value, trajectory = columns(1)
    discount = weight_of_next(inside(trajectory), gamma)
    got = lambda_returns(reward, value, discount, lam) - value
    advantage = 0.0
    for k in reversed(range(reward.size)):
        last = k + 1 == reward.size or trajectory[k + 1] != trajectory[k]
        advantage = 0.0 if last else advantage
        delta = reward[k] + (0.0 if last else gamma * value[k + 1]) - value[k]
        advantage = delta + gamma * lam * advantage
        assert got[k] == pytest.approx(advantage, abs=1e-12)


def test_each_entry_may_have_its_own_discount() -> None:
    got = backed_up(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 2.0, 0.0, 0.0]))
    assert got.tolist() == [5.0, 8.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("lam", "undefined"),
    [(1.0, []), (0.5, [0, 1]), (0.0, [1])],
)
def test_a_missing_value_reaches_only_what_depends_on_it(lam: float, undefined: list[int]) -> None:
    value = np.array([0.1, 0.2, NAN, 0.4, 0.5])
    discount = np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    returns = lambda_returns(np.ones(5), value, discount, lam)
    assert np.flatnonzero(np.isnan(returns)).tolist() == undefined


def test_suffix_minima_stay_in_their_trajectory() -> None:
    value, _, trajectory = columns(2)
    got = suffix_min(value, inside(trajectory))
    for i in range(len(LENGTHS)):
        mine = value[trajectory == i]
        assert got[trajectory == i].tolist() == [mine[k:].min() for k in range(mine.size)]


def test_differences_begin_with_what_stood_before_the_first() -> None:
    same = inside(np.array([0, 0, 1]))
    assert differences(np.array([1.0, 4.0, 9.0]), np.array([0.5, 2.0]), same).tolist() == [0.5, 3.0, 7.0]
    assert differences(np.array([1.0, 4.0, 9.0]), 1.0, same).tolist() == [0.0, 3.0, 8.0]


def test_a_reward_outside_the_loss_is_carried_back_or_dropped(batch: Any) -> None:
    t = batch(
        outcome=[1, 1],
        lengths=[2, 1],
        token_offsets=[0, 2, 4, 6],
        mask=np.array([True, False, True, False, False, True]),
        token_reward=[0.0, 1.0, 2.0, 4.0, 8.0, 16.0],
    )
    # The second trajectory's 8 came before its only decision: no decision earned it.
    assert policy_token_rewards(t, "carry").tolist() == [1.0, 6.0, 16.0]
    assert policy_token_rewards(t, "drop").tolist() == [0.0, 2.0, 16.0]


def test_a_batch_outside_the_loss_has_no_rewards(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], mask=np.zeros(2, dtype=bool))
    assert policy_token_rewards(t, "carry").size == policy_token_rewards(t, "drop").size == 0


def test_forks_and_unmeasured_turns_do_not_enter_the_whitening(batch: Any) -> None:
    t = batch(
        outcome=[1, 0, 1],
        lengths=[2, 1, 1],
        parent=[-1, -1, 0],
        branch=[0, 0, 0],
        state=np.array([0, 1, 2, 0]),
    )
    value = np.array([1.0, NAN, 3.0, 100.0])
    white = Whitening("batch", eps=0.0)
    credit = measured_credit(t, value, on_collected(t), whitening=white)
    np.testing.assert_allclose(credit.value, [-(0.5**0.5), NAN, 0.5**0.5, NAN])
    assert credit.reason.tolist() == [0, Reason.NOT_MEASURED, 0, Reason.DROPPED]


def test_whitening_over_groups_gives_a_group_of_one_nothing(batch: Any) -> None:
    t = batch(outcome=[1, 0, 1], lengths=[1, 1, 1], task=[0, 0, 1])
    credit = measured_credit(
        t, np.array([1.0, 3.0, 7.0]), on_collected(t), whitening=Whitening("group", std="population", eps=0.0)
    )
    assert credit.value.tolist() == [-1.0, 1.0, 0.0]


@pytest.mark.parametrize("over", ["batch", "group"])
def test_whitening_one_unit_leaves_nothing(batch: Any, over: str) -> None:
    t = batch(outcome=[1], lengths=[1])
    credit = measured_credit(t, np.ones(1), on_collected(t), whitening=Whitening(over))
    assert credit.value.tolist() == [0.0]
