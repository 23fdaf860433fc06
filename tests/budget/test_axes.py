"""Hand-worked plans on the optional axes, and the words in which they are refused."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise_budget import (
    Budget,
    BudgetError,
    BudgetRefused,
    Cost,
    Dose,
    EmptyBudget,
    PlannedDose,
    Stop,
    Turns,
    affordable,
    apportioned,
    breaches,
    counted_dose,
    fitted,
    further_rollouts,
    kish,
    matched,
    reached,
    token_twin,
    with_levels,
)


def turns_of(tokens: list[int], trajectory: list[int] | None = None) -> Turns:
    owner = np.arange(len(tokens)) if trajectory is None else np.array(trajectory)
    return Turns(
        stratum=np.zeros(len(tokens), dtype=np.int64),
        tokens=np.array(tokens),
        trajectory=owner,
        order=np.arange(int(owner.max()) + 1) / 10,
    )


def plan_of(turns: Turns, slots: int, targets: dict[str, float], **budget: Any) -> Any:
    values = np.ones(turns.tokens.size)
    chosen = Budget(slots, 1, targets=targets, **budget)
    return fitted(values, np.arange(values.size), turns, chosen, np.random.default_rng(0))


def test_slots_are_exchanged_until_the_tokens_are_met() -> None:
    # 2 of 1, 1, 5, 5, 9, 9: sums from 2 to 18, and 10 as 1 + 9 or 5 + 5.
    turns = turns_of([1, 1, 5, 5, 9, 9])
    for target in (2, 6, 10, 14, 18):
        plan = plan_of(turns, 2, {"tokens": target})
        assert int(turns.tokens[plan.example].sum()) == target
        assert plan.fill == "thin"


def test_a_cycle_moves_only_what_it_shows_once_more() -> None:
    # 7 slots over 1, 2, 4: each twice are 14 tokens, and one of them a third time.
    turns = turns_of([1, 2, 4])
    for extra in (1, 2, 4):
        plan = plan_of(turns, 7, {"tokens": 14 + extra}, under="cycle")
        assert np.bincount(plan.example).tolist() == [2 + (extra == n) for n in (1, 2, 4)]


def test_tokens_that_no_choice_meets_are_refused_with_what_was_reached() -> None:
    turns = turns_of([1, 1, 5, 5])
    with pytest.raises(BudgetRefused) as caught:
        plan_of(turns, 2, {"tokens": 20})
    assert str(caught.value) == (
        "tokens: expected 20 in 2 slots within 0.02, reached 10 (thin, 4 examples of 1 to 5 tokens); "
        "register another target, or a wider budget.tolerances.tokens"
    )
    with pytest.raises(BudgetRefused, match=r"expected 13 in 4 slots within 0\.02, reached 12 \(exact"):
        plan_of(turns, 4, {"tokens": 13})


def test_strata_keep_their_slots_when_tokens_are_matched() -> None:
    turns = Turns(
        stratum=np.array([0, 0, 1, 1]),
        tokens=np.array([1, 9, 1, 2]),
        trajectory=np.arange(4),
        order=np.arange(4.0),
    )
    # One slot each: 9 + 2 is the most that stays inside the strata.
    plan = plan_of(turns, 2, {"tokens": 11})
    assert sorted(plan.example.tolist()) == [1, 3]


def test_trajectories_are_left_out_in_their_order_until_the_effective_sample_size_is_met() -> None:
    # 8 slots over 8 trajectories of one turn each are worth 8; over the first 4, twice each, 4.
    turns = turns_of([1] * 8)
    plan = plan_of(turns, 8, {"effective_sample_size": 4.0}, under="cycle")
    assert sorted(plan.example.tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert kish(np.bincount(plan.example, plan.weight)) == 4.0


def test_every_stratum_gives_up_trajectories_alike() -> None:
    turns = Turns(
        stratum=np.array([0, 0, 0, 0, 1, 1, 1, 1]),
        tokens=np.ones(8, dtype=np.int64),
        trajectory=np.arange(8),
        order=np.array([0.3, 0.1, 0.2, 0.4, 0.8, 0.7, 0.6, 0.5]),
    )
    plan = plan_of(turns, 8, {"effective_sample_size": 4.0}, under="cycle")
    assert sorted(set(plan.example.tolist())) == [1, 2, 6, 7]


def test_an_effective_sample_size_above_what_a_rule_has_is_refused() -> None:
    with pytest.raises(BudgetRefused) as caught:
        plan_of(turns_of([1, 1, 1, 1], [0, 0, 1, 1]), 4, {"effective_sample_size": 3.0})
    assert "expected 3 trajectories within 0.05, reached 2 with 2 of 2 trajectories" in str(caught.value)


def test_both_axes_are_met_at_once() -> None:
    turns = turns_of([1, 3, 1, 3, 1, 3, 1, 3], [0, 0, 1, 1, 2, 2, 3, 3])
    plan = plan_of(turns, 4, {"effective_sample_size": 2.0, "tokens": 8}, under="cycle")
    assert int(turns.tokens[plan.example].sum()) == 8
    assert set(turns.trajectory[plan.example].tolist()) == {0, 1}


def test_padding_lies_evenly_between_the_examples() -> None:
    plan = matched([1.0, 2.0, np.nan], [0, 1], [0, 0, 0], Budget(8, 4, under="pad"), np.random.default_rng(0))
    assert plan.padding.tolist() == [False, True, True, True, False, True, True, True]
    assert sorted(plan.weight[[0, 4]].tolist()) == [1.0, 2.0]
    assert set(plan.example.tolist()) == {0, 1}
    fine = plan.with_tokens([1.0, np.nan, 2.0], [0, 2, 3, 3])
    inside = ~np.isnan(fine.token_weight)
    padded = np.repeat(fine.padding, np.diff(fine.token_offsets))
    assert set(fine.token_weight[inside & padded].tolist()) == {0.0}
    stay = [([0, 1, 2], [1.0] * 3)] * 4
    loss = [True, False, True]
    twin = token_twin(fine, stay, loss, [0, 2, 3, 3], np.random.default_rng(1))
    assert twin.weight[plan.padding].tolist() == [0.0] * 6


def test_more_examples_than_slots_are_thinned_whatever_would_fill_them() -> None:
    for under in ("pad", "refill"):
        plan = matched(
            np.ones(4), np.arange(4), np.zeros(4), Budget(2, 1, under=under), np.random.default_rng(0)
        )
        assert plan.fill == "thin"


def test_examples_that_would_be_shown_too_often_are_refused() -> None:
    budget = Budget(9, 1, "cycle", max_repetition=4)
    with pytest.raises(BudgetRefused, match=r"cycle: expected at least 3 examples for 9 slots .*, got 2"):
        matched(np.ones(2), np.arange(2), np.zeros(2), budget, np.random.default_rng(0))
    assert matched(np.ones(3), np.arange(3), np.zeros(3), budget, np.random.default_rng(0)).slots == 9


def test_a_refill_that_was_not_made_is_no_plan() -> None:
    with pytest.raises(BudgetRefused, match="refill: expected at least 4 examples, got 3; collect more"):
        matched(np.ones(3), np.arange(3), np.zeros(3), Budget(4, 1, "refill"), np.random.default_rng(0))
    assert issubclass(EmptyBudget, BudgetRefused)


def test_the_next_wave_is_what_the_yield_makes_likely() -> None:
    # 8 rollouts a task left 20: 44 more take 17.6 rollouts.
    assert further_rollouts(20, 64, 8, spent=0, cap=30) == 18
    assert further_rollouts(20, 64, 8, spent=0, cap=5) == 5
    assert further_rollouts(0, 64, 8, spent=0, cap=30) == 8
    assert further_rollouts(64, 64, 8, spent=0, cap=0) == 0
    with pytest.raises(
        BudgetRefused, match=r"expected 64 examples, got 63 from 13 rollouts a task, 5 of them"
    ):
        further_rollouts(63, 64, 13, spent=5, cap=5)
    with pytest.raises(BudgetError, match="expected counts"):
        further_rollouts(-1, 64, 8, spent=0, cap=5)


def test_a_prefix_of_prompts_fits_and_the_binding_limit_is_named() -> None:
    costs = [
        Cost(rollout_tokens=10, judge_calls=1),
        Cost(rollout_tokens=30, judge_calls=1),
        Cost(rollout_tokens=20),
    ]
    found = affordable(costs, {"rollout_tokens": 45, "judge_calls": 5}, [1, 0, 2])
    assert found.prompts.tolist() == [1, 0]
    assert (found.used, found.next) == (
        {"rollout_tokens": 40.0, "judge_calls": 2.0},
        {"rollout_tokens": 60.0, "judge_calls": 2.0},
    )
    assert found.binding == "rollout_tokens"
    assert found.sentence == (
        "rollout_tokens: the limit 45 allows 2 of 3 prompts (40 used); one more would cost 60, all cost 60"
    )
    assert found.to_json()["says"] == found.sentence
    assert affordable(costs, {}, [0, 1, 2]).sentence == "all 3 prompts fit"
    none = affordable(costs, {"judge_calls": 0}, [0, 1, 2])
    assert (none.prompts.tolist(), none.binding) == ([], "judge_calls")


@pytest.mark.parametrize(
    ("limits", "order", "said"),
    [
        ({"seconds": 1.0}, [0, 1], "seconds: expected one of rollout_tokens"),
        ({"flops": -1.0}, [0, 1], "flops: expected at least 0, got -1.0"),
        ({}, [0, 0], "expected a permutation of 2 prompts"),
    ],
)
def test_faulty_limits_are_refused(limits: dict[str, float], order: list[int], said: str) -> None:
    with pytest.raises(BudgetError, match=said):
        affordable([Cost(), Cost()], limits, order)


def test_a_cost_is_shared_out_whole() -> None:
    shares = apportioned(Cost(rollout_tokens=10, flops=6.0), [1, 2, 0])
    # 3.33 and 6.67: the larger remainder is served.
    assert [share.rollout_tokens for share in shares] == [3, 7, 0]
    assert [share.flops for share in shares] == [2.0, 4.0, 0.0]
    with pytest.raises(BudgetError, match="at least 1 in all"):
        apportioned(Cost(), [0, 0])


def test_a_run_stops_at_the_first_step_inside_the_window_or_beyond_it() -> None:
    stop = Stop(0.5, 0.1)
    path = [0.1, 0.44, 0.46, 0.7]
    assert [stop.arrived(kl) for kl in path] == [False, False, True, True]
    assert [stop.held(kl) for kl in path] == [False, False, True, False]
    assert not stop.arrived(None)
    assert not stop.held(None)
    with pytest.raises(BudgetError, match="expected a finite divergence above 0"):
        Stop(0.0, 0.1)


def test_a_plan_that_stops_is_another_plan_and_comes_back_from_disk(plan: Any, tmp_path: Any) -> None:
    base = plan(example=[0, 1, 0, 2], weight=[1.0, -2.0, 1.0, 0.0])
    stops = replace(base, stop=Stop(0.5, 0.1))
    assert stops.digest() != base.digest()
    assert replace(base, stop=Stop(0.5, 0.2)).digest() != stops.digest()
    stops.save(tmp_path / "plan.npz")
    again = type(base).load(tmp_path / "plan.npz")
    assert (again.stop, again.digest()) == (stops.stop, stops.digest())


def test_what_a_run_received_that_stopped_early_is_the_beginning_of_its_plan(plan: Any) -> None:
    base = plan(example=[0, 1, 0, 2], weight=[1.0, -2.0, 1.0, 0.0])
    begun = base.until(1)
    assert (begun.slots, begun.steps, begun.example.tolist()) == (2, 1, [0, 1])
    fine = base.with_tokens([1.0, 2.0, np.nan, 3.0, 4.0], [0, 2, 4, 5]).until(1)
    assert fine.token_offsets.tolist() == [0, 2, 4]
    assert base.until(2).digest() == base.digest()
    with pytest.raises(BudgetError, match="expected 1 to 2 steps, got 3"):
        base.until(3)


def test_rescaling_by_hand(plan: Any) -> None:
    base = plan(example=[0, 1, 0, 2], weight=[1.0, -2.0, 1.0, 0.0])
    assert base.scaled_to(8.0).weight.tolist() == [2.0, -4.0, 2.0, 0.0]
    # Two slots of 3 and 1 tokens; mean |w| of the four is 2, and two slots make 4 of it.
    fine = plan(example=[0, 1], weight=[1.0, 5.0]).with_tokens([1.0, -1.0, 1.0, 5.0], [0, 3, 4])
    assert fine.mass == 4.0
    assert fine.scaled_to(2.0).token_weight.tolist() == [0.5, -0.5, 0.5, 2.5]
    with pytest.raises(BudgetRefused, match="got a mass of 0"):
        plan(example=[0, 1], weight=[0.0, 0.0]).scaled_to(2.0)


def test_the_effective_sample_size_of_tokens_by_hand(plan: Any) -> None:
    base = plan(example=[0, 1], weight=[1.0, 2.0])
    # Tokens 1, 1, 1, 2: 25 / 7.
    dose = base.dose([3, 1], trajectory=[0, 1], task=[0, 0])
    assert dose.ess_tokens == pytest.approx(25 / 7)
    assert dose.weight_mass == 3.0
    fine = base.with_tokens([1.0, np.nan, 3.0, 2.0], [0, 3, 4])
    assert fine.dose([3, 1], trajectory=[0, 1], task=[0, 0]).ess_tokens == pytest.approx(36 / 14)


@pytest.fixture
def received() -> tuple[PlannedDose, Dose, Budget]:
    budget = Budget(2, 1, targets={"tokens": 4.0, "weight_mass": 3.0, "effective_sample_size": 1.8})
    plan = matched([1.0, 2.0], [0, 1], [0, 0], Budget(2, 1), np.random.default_rng(0))
    planned = plan.dose([3, 1], trajectory=[0, 1], task=[0, 0])
    dose = counted_dose(
        plan.example,
        plan.weight,
        grad_norms=np.array([1.0]),
        micro_batches=1,
        tokens_in_loss=4,
        tokens_forward=9,
        displacement=(0.1, 0.52),
    )
    places = {"trajectory": np.array([0, 1]), "task": np.array([0, 0])}
    leveled = with_levels(dose, (plan.example, plan.weight), (5.0, 7.0), of_tokens=False, **places)
    return planned, leveled, budget


def test_what_was_reached_is_said_and_held(received: tuple[PlannedDose, Dose, Budget]) -> None:
    planned, dose, budget = received
    assert breaches(planned, dose, budget=budget) == ()
    told = reached(budget, dose)
    assert told["effective_sample_size"] == {
        "target": 1.8,
        "tolerance": 0.05,
        "counted": 1.8,
        "held": True,
    }


def test_an_axis_that_was_missed_is_a_breach(received: tuple[PlannedDose, Dose, Budget]) -> None:
    planned, dose, _ = received
    other = Budget(2, 1, targets={"tokens": 5.0, "weight_mass": 3.1})
    assert breaches(planned, dose, budget=other) == (
        "the budget is 5 tokens in the loss within 0.02, counted 4",
        "the budget is 3.1 weight mass within 1e-09, counted 3",
    )


def test_a_run_that_stops_at_a_displacement_owes_that_and_not_its_last_slots(
    received: tuple[PlannedDose, Dose, Budget],
) -> None:
    planned, dose, _ = received
    longer = Budget(8, 4, targets={"displacement": 0.5, "tokens": 99.0})
    assert breaches(planned, dose, budget=longer) == ()
    told = reached(longer, dose)
    assert told["displacement"] == {
        "target": 0.5,
        "tolerance": 0.1,
        "counted": 0.52,
        "held": True,
        "steps": 1,
    }
    assert "steps" not in told["tokens"]
    further = Budget(8, 4, targets={"displacement": 0.6})
    assert breaches(planned, dose, budget=further) == (
        "the budget is 0.6 divergence from the start within 0.1, counted 0.52 after 1 steps",
    )
    shorter = Budget(1, 1, targets={"displacement": 0.5})
    assert "the budget is 1 slots, counted 2" in breaches(planned, dose, budget=shorter)
