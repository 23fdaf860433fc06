"""What holds for every credit and every budget: seven properties of plans, each of 300 random credit vectors."""

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from equipoise_budget import (
    Budget,
    BudgetError,
    BudgetRefused,
    Cost,
    Plan,
    Turns,
    affordable,
    apportioned,
    fitted,
    further_rollouts,
    kish,
)

MANY = settings(max_examples=300, deadline=None)


def case_of(seed: int) -> dict[str, Any]:
    """A batch of turns in trajectories in tasks, credit on some of them, and a budget: all from one number."""
    rng = np.random.default_rng(seed)
    trajectories = int(rng.integers(1, 13))
    lengths = rng.integers(1, 7, trajectories)
    trajectory = np.repeat(np.arange(trajectories), lengths)
    task = np.sort(rng.integers(0, rng.integers(1, 5), trajectories))[trajectory]
    values = rng.normal(size=trajectory.size) * rng.choice([0.1, 1.0, 100.0])
    values[rng.random(values.size) < rng.choice([0.0, 0.4])] = 0.0
    values[rng.random(values.size) < rng.choice([0.0, 0.3, 0.8])] = np.nan
    values[rng.integers(values.size)] = 1.0
    steps = int(rng.integers(1, 7))
    return {
        "values": values,
        "examples": np.flatnonzero(~np.isnan(values)),
        "turns": Turns(
            stratum=task if rng.random() < 0.7 else np.zeros_like(task),
            tokens=rng.integers(1, rng.choice([2, 9]), values.size),
            trajectory=trajectory,
            order=rng.random(trajectories),
        ),
        "task": task,
        "steps": steps,
        "slots": steps * int(rng.integers(1, 13)),
        "under": str(rng.choice(["resample", "cycle", "pad"])),
        "over": str(rng.choice(["thin", "keep_largest"])),
        "seed": seed,
    }


CASES = st.integers(0, 2**32 - 1).map(case_of)


def made(case: dict[str, Any], *, targets: dict[str, float] | None = None, **change: Any) -> Plan:
    case = case | change
    budget = Budget(
        case["slots"],
        case["steps"],
        case["under"],
        case["over"],
        targets=targets or {},
        tolerances=case.get("tolerances", {}),
    )
    rng = np.random.default_rng(case["seed"])
    return fitted(case["values"], case["examples"], case["turns"], budget, rng)


def twin_of(plan: Plan, trajectory: Any, seed: int) -> Plan:
    rng = np.random.default_rng(seed)
    keys = [rng.random(trajectory.size) for _ in range(plan.steps)]
    return plan.twin((np.lexsort((key, trajectory)), np.ones(key.size)) for key in keys)


@MANY
@given(CASES)
def test_counts_are_exact_and_padding_is_no_signal(case: dict[str, Any]) -> None:
    plan, n = made(case), case["examples"].size
    dose = plan.dose(case["turns"].tokens, trajectory=case["turns"].trajectory, task=case["task"])
    assert (dose.slots, dose.optimizer_steps) == (case["slots"], case["steps"])
    assert set(np.bincount(plan.step).tolist()) == {case["slots"] // case["steps"]}
    shown = plan.example[~plan.padding]
    assert np.isin(plan.example, case["examples"]).all()
    assert np.array_equal(plan.weight[~plan.padding], case["values"][shown])
    assert (
        sum(times * examples for times, examples in dose.repetition.items())
        == dose.slots - dose.padding_slots
    )
    if plan.fill == "pad":
        assert dose.padding_slots == case["slots"] - n
        assert dose.repetition == {1: n}
        real = np.bincount(plan.step[~plan.padding], minlength=plan.steps)
        assert int(real.max()) - int(real.min()) <= 1
    else:
        assert dose.padding_slots == 0


@MANY
@given(CASES)
def test_strata_are_kept_to_within_one_slot_also_where_tokens_are_matched(case: dict[str, Any]) -> None:
    case = case | {"over": "thin", "under": "cycle" if case["under"] == "pad" else case["under"]}
    wish = float(case["slots"] * case["turns"].tokens[case["examples"]].mean())
    plain = made(case)
    plan = made(case, targets={"tokens": wish}, tolerances={"tokens": 0.99})
    stratum = case["turns"].stratum
    size = int(stratum.max()) + 1
    share = np.bincount(stratum[case["examples"]], minlength=size) * case["slots"] / case["examples"].size
    got = np.bincount(stratum[plan.example], minlength=size)
    assert (np.abs(got - share) < 1 + (plain.fill == "cycle")).all()
    assert np.array_equal(got, np.bincount(stratum[plain.example], minlength=size))


@MANY
@given(CASES)
def test_matched_tokens_come_nearer_and_the_fill_keeps_its_promise(case: dict[str, Any]) -> None:
    case = case | {"over": "thin", "under": "cycle" if case["under"] == "pad" else case["under"]}
    tokens = case["turns"].tokens
    wish = float(case["slots"] * tokens[case["examples"]].mean())
    plain = made(case)
    plan = made(case, targets={"tokens": wish}, tolerances={"tokens": 0.99})
    before, after = (abs(int(tokens[p.example].sum()) - wish) for p in (plain, plan))
    assert after <= before
    assert plan.fill == plain.fill
    shown = np.unique(plan.example, return_counts=True)[1]
    if plan.fill == "thin":
        assert shown.max() == 1
    if plan.fill == "cycle":
        n = case["examples"].size
        assert shown.size == min(n, plan.slots)
        assert set(shown.tolist()) <= {plan.slots // n, -(-plan.slots // n)}


@MANY
@given(CASES, st.floats(1e-3, 1e6))
def test_weight_mass_is_conserved_by_rescaling_and_by_twins(case: dict[str, Any], mass: float) -> None:
    plan = made(case)
    assume(plan.mass > 0)
    scaled = plan.scaled_to(mass)
    assert abs(scaled.mass - mass) <= 1e-12 * mass
    assert np.array_equal(np.sign(scaled.weight), np.sign(plan.weight))
    assert scaled.scaled_to(plan.mass).weight == pytest.approx(plan.weight, rel=1e-12)
    trajectory = case["turns"].trajectory
    # Moved and then rescaled, or rescaled and then moved: the same plan, bit for bit.
    assert twin_of(plan, trajectory, 3).scaled_to(mass).digest() == twin_of(scaled, trajectory, 3).digest()


@MANY
@given(CASES)
def test_the_dose_of_a_twin_is_its_rules_to_the_last_bit(case: dict[str, Any]) -> None:
    plan = made(case)
    assume(plan.mass > 0)
    plan = plan.scaled_to(float(plan.slots))
    trajectory = case["turns"].trajectory
    twin = twin_of(plan, trajectory, case["seed"])
    doses = [
        p.dose(np.ones(trajectory.size, dtype=int), trajectory=trajectory, task=case["task"])
        for p in (plan, twin)
    ]
    # Which turns are shown, and how often, is all that a move of the credit changes.
    same = [replace(dose, unique_examples=0, repetition={}) for dose in doses]
    assert same[0] == same[1]
    assert np.array_equal(twin.padding, plan.padding)


@MANY
@given(CASES, st.floats(0.1, 1.0))
def test_an_effective_sample_size_is_met_or_refused_with_the_number_reached(
    case: dict[str, Any], part: float
) -> None:
    case = case | {"under": "cycle", "over": "thin"}
    trajectory = case["turns"].trajectory

    def size(plan: Plan) -> float:
        return kish(np.bincount(trajectory[plan.example], np.abs(plan.weight)))

    whole = size(made(case))
    assume(whole > 0)
    target = max(1.0, part * whole)
    try:
        plan = made(case, targets={"effective_sample_size": target})
    except BudgetRefused as refused:
        said = str(refused)
        assert f"effective_sample_size: expected {target:g}" in said
        return
    assert abs(size(plan) - target) <= 0.05 * target
    assert (plan.slots, plan.steps) == (case["slots"], case["steps"])


@MANY
@given(CASES, st.lists(st.text(max_size=5), min_size=2, max_size=4, unique=True), st.randoms())
def test_plans_depend_on_no_name_and_no_order_of_conditions(
    case: dict[str, Any], names: list[str], random: Any
) -> None:
    # Each condition leaves its own credit; names and the order of planning are shuffled between the two passes.
    given_credit = [
        np.where(np.isnan(case["values"]), np.nan, case["values"] * k) for k in range(1, len(names) + 1)
    ]
    first = {
        name: made(case, values=credit).digest() for name, credit in zip(names, given_credit, strict=True)
    }
    order = list(range(len(names)))
    random.shuffle(order)
    second = {k: made(case, values=given_credit[k]).digest() for k in order}
    assert [first[name] for name in names] == [second[k] for k in range(len(names))]


@MANY
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=8),
    st.integers(0, 200),
    st.integers(0, 200),
    st.integers(0, 2**32 - 1),
)
def test_affordable_prompts_are_the_longest_prefix_that_fits(
    spent: list[tuple[int, int]], tokens: int, calls: int, seed: int
) -> None:
    costs = [Cost(rollout_tokens=a, judge_calls=b) for a, b in spent]
    order = np.random.default_rng(seed).permutation(len(costs))
    found = affordable(costs, {"rollout_tokens": tokens, "judge_calls": calls}, order)
    k = found.prompts.size
    assert found.prompts.tolist() == order[:k].tolist()

    def fits(count: int) -> bool:
        chosen = [costs[p] for p in order[:count].tolist()]
        return bool(
            sum(c.rollout_tokens for c in chosen) <= tokens and sum(c.judge_calls for c in chosen) <= calls
        )

    assert fits(k)
    assert (found.binding is None) == (k == len(costs))
    if found.binding is not None:
        assert not fits(k + 1)
        assert found.next[found.binding] > found.limits[found.binding]


@MANY
@given(st.lists(st.integers(0, 30), min_size=1, max_size=9), st.integers(0, 10**6), st.floats(0, 1e12))
def test_shares_of_a_cost_add_up_to_it(sizes: list[int], tokens: int, flops: float) -> None:
    assume(sum(sizes) > 0)
    shares = apportioned(Cost(rollout_tokens=tokens, scoring_tokens=7, flops=flops), sizes)
    assert sum(share.rollout_tokens for share in shares) == tokens
    assert sum(share.scoring_tokens for share in shares) == 7
    assert sum(share.flops for share in shares) == pytest.approx(flops, rel=1e-12)
    for share, size in zip(shares, sizes, strict=True):
        assert abs(share.rollout_tokens - Fraction(tokens * size, sum(sizes))) < 1


@MANY
@given(st.integers(0, 500), st.integers(1, 500), st.integers(1, 20), st.integers(0, 20), st.integers(0, 20))
def test_refills_stay_under_their_cap_and_end(
    examples: int, slots: int, rollouts: int, spent: int, cap: int
) -> None:
    assume(spent <= cap)
    if examples < slots and spent == cap:
        with pytest.raises(BudgetRefused, match=f"expected {slots} examples, got {examples} from {rollouts}"):
            further_rollouts(examples, slots, rollouts, spent=spent, cap=cap)
        return
    more = further_rollouts(examples, slots, rollouts, spent=spent, cap=cap)
    assert (more == 0) == (examples >= slots)
    assert spent + more <= max(cap, spent)


SCRIPT = """
import hashlib, sys
sys.path.insert(0, {folder!r})
from test_properties import digests
print(digests())
"""


def digests() -> str:
    """One hash of 100 cases with every axis that chooses examples, or of the words they are refused with."""
    import hashlib

    content = hashlib.sha256()
    for seed in range(100):
        case = case_of(seed)
        axes: list[dict[str, float]] = [{}, {"effective_sample_size": 2.0}]
        if case["under"] != "pad":
            axes.append({"tokens": 3.0 * case["slots"]})
        for targets in axes:
            try:
                content.update(made(case, targets=targets).digest().encode())
            except BudgetRefused as refused:
                content.update(str(refused).encode())
    return content.hexdigest()


def test_plans_are_the_same_in_every_process() -> None:
    here = digests()
    folder = os.path.dirname(__file__)  # noqa: PTH120 - the script that it goes into takes text
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(folder=folder)],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert run.stdout.strip() == here


def test_faulty_tables_are_refused() -> None:
    column = np.zeros(3, dtype=np.int64)
    with pytest.raises(BudgetError, match="turns: expected three columns of one length"):
        Turns(column, column[:2], column, np.zeros(1))
    with pytest.raises(BudgetError, match="an order of every trajectory"):
        Turns(column, column, column + 2, np.zeros(2))
