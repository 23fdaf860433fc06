"""Values of agents (shapley) and of turns (scar) from the coalitions of a batch."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Coalitions, Context, MissingNeed, Reason, RuleError
from equipoise_conditions.projection import to_turns

AGENTS, TURNS = RULES["shapley"], RULES["scar"]
WORKED = [0, 0, 0, 1, 0.2, 0.2, 0.2, 1]
EITHER = [0, 1, 1, 1]
NAN = float("nan")


def coalitions(*tables: Sequence[float]) -> Context:
    players = np.array([len(table).bit_length() - 1 for table in tables])
    offsets = np.concatenate(([0], np.cumsum([len(table) for table in tables])))
    return Context(coalitions=Coalitions(players, offsets, np.concatenate(tables)))


@pytest.fixture
def team(batch: Any) -> Any:
    """Agents 0, 1 and 2 in the first trajectory, 5 and 7 in the second, some of them twice."""
    return batch(outcome=[1, 1], lengths=[4, 3], agent=[0, 2, 1, 0, 7, 5, 7])


def test_the_worked_game_gives_every_agent_its_share(team: Any) -> None:
    credit = AGENTS.apply(team, coalitions(WORKED, EITHER))
    assert credit.granularity == "agent"
    np.testing.assert_allclose(credit.value, [13 / 30, 13 / 30, 4 / 30, 0.5, 0.5])
    shares = to_turns(credit, team).value
    np.testing.assert_allclose(shares, [13 / 30, 4 / 30, 13 / 30, 13 / 30, 0.5, 0.5, 0.5])


def test_leave_one_out_and_banzhaf_of_the_same_game(team: Any) -> None:
    context = coalitions(WORKED, EITHER)
    last = AGENTS.apply(team, context, {"index": "leave_one_out"})
    np.testing.assert_allclose(last.value, [0.8, 0.8, 0, 0, 0])
    mean = AGENTS.apply(team, context, {"index": "banzhaf"})
    np.testing.assert_allclose(mean.value, [0.45, 0.45, 0.15, 0.5, 0.5])


def test_values_of_turns_add_up_to_what_the_trajectory_gained(batch: Any) -> None:
    t = batch(outcome=[1, 1, 0], lengths=[3, 1, 2])
    credit = TURNS.apply(t, coalitions(WORKED, [0.25, 1.0], [0.5] * 4))
    np.testing.assert_allclose(credit.value, [13 / 30, 13 / 30, 4 / 30, 0.75, 0, 0])
    assert credit.granularity == "turn"


def test_dense_rewards_are_summed_to_the_end(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    credit = TURNS.apply(t, coalitions(WORKED), {"to_go": True})
    np.testing.assert_allclose(credit.value, [1.0, 17 / 30, 4 / 30])


def test_a_game_that_nobody_changes_is_worth_exactly_nothing(team: Any) -> None:
    credit = AGENTS.apply(team, coalitions([1 / 3] * 8, [1e6] * 4))
    assert credit.value.tolist() == [0.0] * 5
    assert credit.defined.all()


def test_unevaluated_coalitions_leave_only_what_needs_them_undefined(team: Any) -> None:
    holed = [NAN if mask == 1 else v for mask, v in enumerate(WORKED)]
    credit = AGENTS.apply(team, coalitions(holed, EITHER))
    assert credit.reason.tolist() == [Reason.NOT_MEASURED] * 3 + [0, 0]
    assert AGENTS.apply(team, coalitions(holed, EITHER), {"index": "leave_one_out"}).defined.all()
    none = AGENTS.apply(team, coalitions(WORKED, [NAN]))
    assert none.reason.tolist() == [0, 0, 0] + [Reason.NOT_MEASURED] * 2


def test_forks_have_no_credit(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[0, 1, 0, 1])
    credit = TURNS.apply(t, coalitions(EITHER, EITHER))
    assert credit.reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED]
    agents = AGENTS.apply(t, coalitions([0, 1], [0, 1]))
    assert agents.reason.tolist() == [0, Reason.DROPPED]


def test_sampled_values_need_a_generator_and_come_near(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[3, 3])
    tables = coalitions(WORKED, WORKED)
    with pytest.raises(MissingNeed, match="generator"):
        TURNS.apply(t, tables, {"permutations": 10})
    with_stream = Context(generator=np.random.default_rng(4), coalitions=tables.coalitions)
    credit = TURNS.apply(t, with_stream, {"permutations": 2000})
    np.testing.assert_allclose(credit.value, [13 / 30, 13 / 30, 4 / 30] * 2, atol=0.03)
    np.testing.assert_allclose(credit.value[:3].sum(), 1.0)
    assert not np.array_equal(credit.value[:3], credit.value[3:]), "every trajectory has orders of its own"


def test_orders_are_for_shapley_values_only(team: Any) -> None:
    context = Context(generator=np.random.default_rng(4), coalitions=coalitions(WORKED, EITHER).coalitions)
    with pytest.raises(RuleError, match="expected 0 for the index 'banzhaf', got 8"):
        AGENTS.apply(team, context, {"index": "banzhaf", "permutations": 8})


def test_coalitions_of_others_are_refused(team: Any) -> None:
    with pytest.raises(RuleError, match=r"the 3 agents of trajectory 0 .* got 2"):
        AGENTS.apply(team, coalitions(EITHER, EITHER))
    with pytest.raises(
        RuleError, match=r"the 4 turns of trajectory 0 .* got 3; evaluate coalitions of turns"
    ):
        TURNS.apply(team, coalitions(WORKED, EITHER))
    with pytest.raises(RuleError, match="expected those of 2 trajectories, got 1"):
        AGENTS.apply(team, coalitions(WORKED))
