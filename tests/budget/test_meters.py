from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_budget import BudgetError, BudgetExceeded, BudgetRefused, Cost, Meter, Meters, charge


def test_inner_spending_is_charged_to_every_meter_around_it() -> None:
    with Meter("suite", limit=100) as suite:
        with Meter("block", limit=60) as block:
            block.spend(40)
            assert (block.usage, block.remaining) == (40, 20)
        with Meter("block", limit=80) as block:
            block.spend(10)
            # The suite has less left than the block.
            assert block.remaining == 50
        assert (suite.usage, suite.remaining) == (50, 50)


@pytest.mark.parametrize(("outer", "inner", "tripped"), [(100, 10, "inner"), (10, 100, "outer")])
def test_the_meter_that_tripped_is_named_and_what_was_spent_stays_counted(
    outer: float, inner: float, tripped: str
) -> None:
    with (
        pytest.raises(BudgetExceeded) as caught,
        Meter("outer", outer) as out,
        Meter("inner", inner) as meter,
    ):
        meter.spend(11)
    assert str(caught.value) == (
        f"meter '{tripped}': expected at most 10 tokens, spent 11; raise {tripped} by at least 1, or do less"
    )
    assert isinstance(caught.value, BudgetRefused)
    assert (caught.value.meter, caught.value.limit, caught.value.usage) == (tripped, 10, 11)
    assert out.usage == meter.usage == 11


def test_a_limit_may_be_reached_but_not_passed() -> None:
    with Meter("exact", limit=5) as meter:
        meter.spend(5)
        assert meter.remaining == 0


def test_meters_of_another_unit_do_not_mix() -> None:
    with Meter("calls", limit=1, unit="judge calls") as calls, Meter("tokens") as tokens:
        tokens.spend(1000)
        assert calls.usage == 0
        assert tokens.remaining is None


def test_a_meter_counts_only_while_it_runs() -> None:
    meter = Meter("closed")
    with pytest.raises(BudgetError, match="expected to be running"):
        meter.spend(1)
    with meter, pytest.raises(BudgetError, match="that is not running; make a new one"), meter:
        pass
    with meter, pytest.raises(BudgetError, match="expected at least 0 tokens, got -1"):
        meter.spend(-1)
    with pytest.raises(BudgetError, match="expected a limit of at least 0"):
        Meter("negative", limit=-1)


def test_leaving_by_an_error_closes_the_meter() -> None:
    with Meter("outer") as outer:
        with pytest.raises(KeyError), Meter("inner"):
            raise KeyError
        outer.spend(1)
        with Meter("next") as following:
            following.spend(2)
    assert outer.usage == 3


def test_a_cost_is_charged_to_the_innermost_meters_and_all_around_them() -> None:
    cost = Cost(rollout_tokens=30, environment_steps=4, environment_resets=2, judge_calls=1, flops=1.5)
    with Meters("budget.generation", {"rollout_tokens": 100, "flops": 10.0}) as whole:
        charge(Cost(rollout_tokens=20))
        with Meters("refill") as refill:
            assert charge(cost) is cost
            assert refill.remaining == {"rollout_tokens": 50, "flops": 8.5}
        charge(cost)
    assert refill.cost == cost
    assert whole.cost == Cost(rollout_tokens=20) + cost + cost
    assert whole.remaining == {"rollout_tokens": 20, "flops": 7.0}


def test_all_of_a_cost_stays_counted_when_one_limit_trips() -> None:
    with (
        Meters("budget.generation", {"environment_steps": 5, "flops": 1.0}) as whole,
        Meters("refill") as refill,
        pytest.raises(BudgetExceeded) as caught,
    ):
        charge(Cost(rollout_tokens=7, environment_steps=6, flops=2.0, critic_tokens=3))
    assert str(caught.value) == (
        "meter 'budget.generation.environment_steps': expected at most 5 environment_steps, spent 6; "
        "raise budget.generation.environment_steps by at least 1, or do less"
    )
    assert (
        whole.cost == refill.cost == Cost(rollout_tokens=7, environment_steps=6, flops=2.0, critic_tokens=3)
    )
    assert whole.remaining == {"environment_steps": 0, "flops": 0}


def test_where_no_meter_runs_nothing_is_counted() -> None:
    assert charge(Cost(rollout_tokens=5)) == Cost(rollout_tokens=5)
    with Meter("tokens", unit="rollout_tokens") as meter:
        charge(Cost(rollout_tokens=5, environment_steps=1))
    assert meter.usage == 5
    with pytest.raises(BudgetError, match=r"expected limits of rollout_tokens, .* got one of tokens"):
        Meters("budget.generation", {"tokens": 1})


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=20), st.integers(0, 200))
def test_a_meter_trips_exactly_when_the_sum_passes_its_limit(
    spent: list[tuple[int, bool]], limit: int
) -> None:
    total = 0
    with Meters("outer", {"rollout_tokens": limit}) as outer:
        for amount, inside in spent:
            with Meters("inner") if inside else nullcontext():
                total += amount
                if total <= limit:
                    charge(Cost(rollout_tokens=amount))
                else:
                    with pytest.raises(BudgetExceeded, match=f"expected at most {limit} rollout_tokens"):
                        charge(Cost(rollout_tokens=amount))
            assert outer.cost.rollout_tokens == total
