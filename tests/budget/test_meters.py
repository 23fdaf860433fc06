import pytest

from equipoise_budget import BudgetError, BudgetExceeded, Meter


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
    assert str(caught.value) == f"meter '{tripped}': expected at most 10 tokens, spent 11"
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
