from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_budget import Budget, BudgetError, EmptyBudget, Plan, matched, native
from equipoise_budget.fills import quotas

UNDER = pytest.mark.parametrize("under", ["resample", "cycle"])
OVER = pytest.mark.parametrize("over", ["thin", "keep_largest"])


@st.composite
def cases(draw: st.DrawFn) -> dict[str, Any]:
    """Return a batch of turns with credit on some, their tasks, and a budget."""
    turns = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = np.where(
        rng.random(turns) < draw(st.sampled_from([0.0, 0.3, 0.8])), np.nan, rng.normal(size=turns)
    )
    values[rng.integers(turns)] = 0.0
    steps = draw(st.integers(1, 8))
    return {
        "values": values,
        "examples": np.flatnonzero(~np.isnan(values)),
        "strata": rng.integers(0, draw(st.integers(1, 6)), turns),
        "steps": steps,
        "slots": steps * draw(st.integers(1, 12)),
        "seed": draw(st.integers(0, 2**32 - 1)),
        "under": draw(st.sampled_from(["resample", "cycle"])),
        "over": draw(st.sampled_from(["thin", "keep_largest"])),
    }


def made(case: dict[str, Any], **change: Any) -> Plan:
    case = case | change
    budget = Budget(case["slots"], case["steps"], case["under"], case["over"])
    rng = np.random.default_rng(case["seed"])
    return matched(case["values"], case["examples"], case["strata"], budget, rng)


@given(cases())
def test_a_matched_plan_has_exactly_the_slots_steps_and_rows_of_its_budget(case: dict[str, Any]) -> None:
    plan = made(case)
    assert plan.slots == case["slots"]
    assert plan.steps == case["steps"]
    assert set(np.bincount(plan.step).tolist()) == {case["slots"] // case["steps"]}
    assert np.isin(plan.example, case["examples"]).all()
    assert np.array_equal(plan.weight, case["values"][plan.example])


@given(cases())
def test_every_fill_keeps_its_promise(case: dict[str, Any]) -> None:
    plan, n = made(case), case["examples"].size
    shown = np.unique(plan.example, return_counts=True)[1]
    if plan.fill == "exact":
        assert shown.tolist() == [1] * n
        assert n == plan.slots
    elif plan.fill == "cycle":
        assert shown.size == n
        assert set(shown.tolist()) <= {plan.slots // n, -(-plan.slots // n)}
    elif plan.fill == "resample":
        assert n < plan.slots
        assert shown.size <= n
    else:
        assert n > plan.slots
        assert shown.max() == 1
    if plan.fill == "keep_largest":
        left = np.setdiff1d(case["examples"], plan.example)
        assert np.abs(case["values"][left]).max() <= np.abs(plan.weight).min()


@given(cases())
def test_tasks_get_their_share_to_within_one_slot(case: dict[str, Any]) -> None:
    plan = made(case, over="thin")
    tasks = case["strata"]
    share = np.bincount(tasks[case["examples"]], minlength=6) * plan.slots / case["examples"].size
    got = np.bincount(tasks[plan.example], minlength=6)
    assert (np.abs(got - share) < 1).all()


@given(cases())
def test_the_same_stream_gives_the_same_plan(case: dict[str, Any]) -> None:
    assert made(case).digest() == made(case).digest()
    per_example = case["strata"][case["examples"]]
    assert made(case, strata=per_example).digest() == made(case).digest()


@given(cases())
def test_rules_with_the_same_examples_get_the_same_slots(case: dict[str, Any]) -> None:
    other = np.where(np.isnan(case["values"]), np.nan, 1.0)
    plan, second = made(case, over="thin"), made(case, over="thin", values=other)
    assert np.array_equal(plan.example, second.example)


@given(cases())
def test_the_order_of_shared_examples_does_not_depend_on_the_others(case: dict[str, Any]) -> None:
    fewer = case["examples"][::2]
    everything = native(case["values"], case["examples"], 4, np.random.default_rng(case["seed"]))
    some = native(case["values"], fewer, 4, np.random.default_rng(case["seed"]))
    assert everything.example[np.isin(everything.example, fewer)].tolist() == some.example.tolist()


@given(cases())
def test_a_twin_has_the_weights_of_its_rule_in_every_step(case: dict[str, Any]) -> None:
    plan = made(case)
    # Trajectories of up to five turns; the twin stays inside them.
    trajectory = np.arange(case["values"].size) // 5
    rng = np.random.default_rng(case["seed"])
    keys = [rng.random(trajectory.size) for _ in range(plan.steps)]
    twin = plan.twin((np.lexsort((key, trajectory)), np.ones(key.size)) for key in keys)
    for step in range(plan.steps):
        rule, placebo = plan.weight[plan.step == step], twin.weight[twin.step == step]
        assert sorted(rule) == sorted(placebo)
        assert np.abs(rule).sum() == np.abs(placebo).sum()
        assert (rule**2).sum() == (placebo**2).sum()
    assert np.array_equal(trajectory[twin.example], trajectory[plan.example])
    tokens = np.ones(trajectory.size, dtype=int)
    doses = [p.dose(tokens, trajectory=trajectory, task=trajectory) for p in (plan, twin)]
    # Which turns are shown, and how often, is the only thing that a move of the credit changes.
    same = [replace(dose, unique_examples=0, repetition={}) for dose in doses]
    assert same[0] == same[1]


@given(cases(), st.integers(1, 20))
def test_a_native_plan_shows_every_example_once_and_may_end_ragged(case: dict[str, Any], batch: int) -> None:
    plan = native(case["values"], case["examples"], batch, np.random.default_rng(case["seed"]))
    assert sorted(plan.example.tolist()) == case["examples"].tolist()
    assert plan.steps == -(-case["examples"].size // batch)
    assert plan.fill == "native"


def test_resampling_draws_every_example_of_a_stratum_as_often() -> None:
    # Two strata of 2 and 6 examples share 24 slots as 6 and 18: every example is expected 3 times.
    values, strata = np.ones(8), np.array([0, 0, 1, 1, 1, 1, 1, 1])
    counts = np.zeros(8)
    twice = 0
    for seed in range(1000):
        plan = matched(values, np.arange(8), strata, Budget(24, 1), np.random.default_rng(seed))
        counts += np.bincount(plan.example, minlength=8)
        twice += int(plan.example[0] == plan.example[1])
    # 3,000 expected, with at most sqrt(1000 * 6 * 1/4) = 39 to sqrt(1000 * 18 * 5/36) = 50 of deviation.
    assert (np.abs(counts - 3000) < 220).all()
    # Neighbours are independent draws: the same example twice in a row 1/8 of the time.
    assert abs(twice - 125) < 60


def test_resampling_has_binomial_repetitions() -> None:
    # One stratum of 4 and 8 slots: shown k times with probability C(8, k) (1/4)^k (3/4)^(8-k).
    none = 0
    for seed in range(1000):
        plan = matched(np.ones(4), np.arange(4), np.zeros(4), Budget(8, 1), np.random.default_rng(seed))
        none += 4 - np.unique(plan.example).size
    # 4000 x .75^8 = 400, standard deviation below 19.
    assert abs(none - 400) < 90


def test_a_single_example_can_fill_any_budget() -> None:
    for under in ("resample", "cycle"):
        plan = matched([np.nan, 2.0], [1], [0, 0], Budget(300, 3, under), np.random.default_rng(0))
        assert plan.example.tolist() == [1] * 300
        assert plan.presentation.tolist() == list(range(300))


def test_largest_remainders_are_served_first() -> None:
    # 10 slots over 7, 2, 1 of 10 is exact; 5 slots are 3.5, 1, .5: the tie goes to the smaller key.
    assert quotas(np.array([7, 2, 1]), 10, np.zeros(3)).tolist() == [7, 2, 1]
    assert quotas(np.array([7, 2, 1]), 5, np.array([0.9, 0.5, 0.1])).tolist() == [3, 1, 1]
    assert quotas(np.array([7, 2, 1]), 5, np.array([0.1, 0.5, 0.9])).tolist() == [4, 1, 0]


def test_the_largest_credit_is_kept_whatever_its_sign() -> None:
    values = np.array([0.1, -3.0, 2.0, 0.0])
    plan = matched(
        values, np.arange(4), np.zeros(4), Budget(2, 1, over="keep_largest"), np.random.default_rng(0)
    )
    assert sorted(plan.example.tolist()) == [1, 2]


def test_no_examples_are_no_plan() -> None:
    nothing = np.array([], dtype=int)
    with pytest.raises(EmptyBudget, match="the rule left none"):
        native([np.nan], nothing, 2, np.random.default_rng(0))
    with pytest.raises(EmptyBudget):
        matched([np.nan], nothing, [0], Budget(2, 1), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("values", "examples", "strata", "said"),
    [
        ([1.0, np.nan], [0, 1], [0, 0], "turn 1: expected finite credit"),
        ([1.0, 1.0], [0, 0], [0, 0], "expected ascending turns below 2, got 0..0"),
        ([1.0, 1.0], [1, 0], [0, 0], "expected ascending turns below 2, got 0..1"),
        ([1.0, 1.0], [0, 5], [0, 0], "expected ascending turns below 2, got 0..5"),
        ([1.0, 1.0], [0.0, 1.0], [0, 0], "turns whole"),
        ([1.0, 1.0], [0, 1], [0, 0, 0], "strata: expected one for each of 2 turns or 2 examples, got"),
    ],
)
def test_examples_that_cannot_be_planned_are_refused(
    values: list[float], examples: list[int], strata: list[int], said: str
) -> None:
    with pytest.raises(BudgetError, match=said):
        matched(values, examples, strata, Budget(4, 2), np.random.default_rng(0))
