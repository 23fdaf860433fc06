import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise_budget import Budget, BudgetError, Plan, matched

PINNED = "eq1:51d2b719d3d941004f6716b7b9f184cf33a7933ef038dd96753f3e8f11b37f55"
SCRIPT = """
import numpy as np
from equipoise_budget import Budget, matched

turn = np.arange(60)
values = np.where(turn % 7 == 0, np.nan, (turn % 11 - 5) / 4)
examples = np.flatnonzero(~np.isnan(values))
plan = matched(values, examples, turn // 12, Budget(80, 8), np.random.default_rng(5))
print(plan.digest())
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"examples": 10, "optimizer_steps": 3}, "leave no whole batch; take 9 or 12 examples"),
        ({"examples": 2, "optimizer_steps": 3}, "take 3 examples"),
        ({"examples": 0, "optimizer_steps": 0}, "expected at least one slot and one step, got 0 and 0"),
        (
            {"examples": 4, "optimizer_steps": 2, "under": "stretch"},
            "under: expected one of resample, cycle, pad, refill",
        ),
        ({"examples": 4, "optimizer_steps": 2, "over": "drop"}, "over: expected one of thin, keep_largest"),
        (
            {"examples": 4, "optimizer_steps": 2, "max_repetition": 0},
            "max_repetition: expected at least 1, got 0",
        ),
        (
            {"examples": 4, "optimizer_steps": 2, "targets": {"token": 9.0}},
            "targets.token: expected one of tokens, weight_mass, effective_sample_size, displacement",
        ),
        (
            {"examples": 4, "optimizer_steps": 2, "targets": {"tokens": 0.0}},
            "targets.tokens: expected a finite number above 0, got 0.0",
        ),
        (
            {"examples": 4, "optimizer_steps": 2, "tolerances": {"tokens": 1.0}},
            "tolerances.tokens: expected at least 0 and below 1, got 1.0",
        ),
    ],
)
def test_an_impossible_budget_is_refused(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(BudgetError) as caught:
        Budget(**arguments)
    assert said in str(caught.value)


def test_a_budget_knows_its_batch() -> None:
    assert Budget(2048, 64).batch == 32


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weight": [1.0, np.nan, 0.0, 1.0]}, "slot 1: expected a finite weight"),
        ({"step": [0, 0, 1, 2]}, "expected steps 0, 1, ... of 2 rows each"),
        ({"presentation": [0, 0, 0, 0]}, "expected each example's showings numbered 0, 1, ... in order"),
        ({"fill": "drop"}, "fill: expected one of native, exact, resample, cycle, pad, refill, thin,"),
        ({"presentation": [0, 0, 1, -1], "fill": "pad"}, "padding: expected slots of weight 0"),
        ({"presentation": [0, -1, 1, 0]}, "padding: expected slots of weight 0 in a plan filled by pad"),
        ({"weight": [1.0]}, "expected four columns of one length"),
        ({"batch": 3, "step": [0, 0, 0, 1]}, "expected whole batches of 3, got 4 slots"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(plan: Any, change: dict[str, Any], said: str) -> None:
    good: dict[str, Any] = {"example": [3, 1, 3, 0], "weight": [1.0, 0.0, 1.0, -1.0]}
    plan(**good)
    with pytest.raises(BudgetError) as caught:
        plan(**good | change)
    assert said in str(caught.value)


def test_a_plan_is_read_only_and_every_part_of_it_is_hashed(plan: Any) -> None:
    given: dict[str, Any] = {"example": [3, 1, 2, 0], "weight": [1.0, 0.5, 1.0, -1.0]}
    base = plan(**given)
    with pytest.raises(ValueError, match="read-only"):
        base.weight[0] = 2.0
    others = [
        plan(**given | {"example": [3, 1, 0, 2]}),
        plan(**given | {"weight": [1.0, 0.5, 1.0, -1.0 + 2e-16]}),
        plan(**given, batch=4),
        plan(**given, fill="native"),
        plan(example=[1, 1, 2, 0], weight=given["weight"]),
    ]
    assert len({other.digest() for other in (base, *others)}) == 6
    assert base.digest().startswith("eq1:")
    assert (
        plan(**given | {"weight": [1, 0.0, 1, 1]}).digest()
        == plan(**given | {"weight": [1, -0.0, 1, 1]}).digest()
    )


def test_a_digest_is_the_same_in_every_process() -> None:
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "OMP_NUM_THREADS": "1"}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == PINNED


def test_a_plan_comes_back_from_disk(plan: Any, tmp_path: Path) -> None:
    base = plan(example=[3, 1, 3, 0], weight=[1.0, 0.0, 1.0, -1.0])
    base.save(tmp_path / "plan.npz")
    assert Plan.load(tmp_path / "plan.npz").digest() == base.digest()
    (tmp_path / "plan.npz").write_text("no")
    with pytest.raises(BudgetError, match=r"plan\.npz: expected a plan written by save"):
        Plan.load(tmp_path / "plan.npz")


def test_a_twin_moves_the_examples_of_each_step_and_nothing_else(plan: Any) -> None:
    base = plan(example=[0, 1, 0, 2], weight=[0.5, -1.0, 0.5, 2.0])
    ones, stay = [1.0] * 4, [0, 1, 2, 3]
    twin = base.twin([([1, 2, 0, 3], ones), ([0, 2, 1, 3], ones)])
    assert twin.example.tolist() == [1, 2, 0, 1]
    assert twin.presentation.tolist() == [0, 0, 0, 1]
    for column in ("weight", "step"):
        assert getattr(twin, column).tolist() == getattr(base, column).tolist()
    assert twin.digest() != base.digest()
    assert base.twin([(stay, ones), (stay, ones)]).digest() == base.digest()


def test_a_twin_with_signs_keeps_magnitudes(plan: Any) -> None:
    base = plan(example=[0, 1, 0, 2], weight=[0.5, -1.0, 0.5, 2.0])
    stay = [0, 1, 2]
    twin = base.twin([(stay, [-1.0, 1.0, 1.0]), (stay, [1.0, 1.0, -1.0])])
    assert twin.weight.tolist() == [-0.5, -1.0, 0.5, -2.0]
    assert twin.example.tolist() == base.example.tolist()


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ([([0, 0, 1], [1.0] * 3)], "expected a permutation of all turns"),
        ([([1, 0], [1.0] * 2)], "expected a move to reach turn 2"),
        ([([1, 0, 2], [1.0] * 3)], "expected a move for each of 2 steps, got 1"),
    ],
)
def test_a_twin_by_no_permutation_is_refused(plan: Any, moves: Any, said: str) -> None:
    with pytest.raises(BudgetError, match=said):
        plan(example=[0, 1, 0, 2], weight=[1.0] * 4).twin(moves)


def with_tokens(plan: Any) -> Plan:
    """Turns of 2, 1 and 3 tokens; the middle token of the last is not in the loss."""
    base: Plan = plan(example=[0, 1, 0, 2], weight=[1.5, 3.0, 1.5, 5.0])
    return base.with_tokens([1.0, 2.0, 3.0, 4.0, np.nan, 6.0], [0, 2, 3, 6])


def test_tokens_of_a_slot_are_those_of_its_example(plan: Any) -> None:
    fine = with_tokens(plan)
    assert fine.token_offsets.tolist() == [0, 2, 3, 5, 8]
    np.testing.assert_array_equal(fine.token_weight, [1, 2, 3, 1, 2, 4, np.nan, 6])
    dose = fine.dose(tokens=[2, 1, 3], trajectory=[0, 0, 0], task=[0, 0, 0])
    assert dose.tokens_in_loss == 7, "a token outside the loss is no token of the dose"


def test_a_plan_with_tokens_is_kept_and_hashed_with_them(plan: Any, tmp_path: Path) -> None:
    fine, coarse = with_tokens(plan), plan(example=[0, 1, 0, 2], weight=[1.5, 3.0, 1.5, 5.0])
    fine.save(tmp_path / "plan.npz")
    assert Plan.load(tmp_path / "plan.npz").digest() == fine.digest() != coarse.digest()
    changed = coarse.with_tokens([1.0, 2.5, 3.0, 4.0, np.nan, 6.0], [0, 2, 3, 6])
    assert changed.digest() != fine.digest()


def test_a_plan_with_tokens_is_not_moved_slot_by_slot(plan: Any) -> None:
    with pytest.raises(BudgetError, match="use token_twin"):
        with_tokens(plan).twin([])


def test_a_slot_without_a_token_in_the_loss_is_refused(plan: Any) -> None:
    base = plan(example=[0, 1], weight=[1.0, 1.0])
    with pytest.raises(BudgetError, match="slot 1: expected a token in the loss"):
        base.with_tokens([1.0, np.nan], [0, 1, 2])


def test_the_dose_of_a_plan_by_hand(plan: Any) -> None:
    base = plan(example=[0, 1, 0, 2], weight=[1.0, -2.0, 1.0, 0.0])
    dose = base.dose(tokens=[3, 4, 5, 9], trajectory=[0, 0, 1, 1], task=[0, 0, 6, 6])
    assert (dose.slots, dose.optimizer_steps, dose.unique_examples, dose.tokens_in_loss) == (4, 2, 3, 15)
    assert (dose.weight_abs, dose.weight_sq) == (4.0, 6.0)
    assert dose.ess == pytest.approx(16 / 6)
    # All mass lies in trajectory 0 of task 0.
    assert (dose.ess_trajectories, dose.ess_tasks, dose.trajectories, dose.tasks) == (1.0, 1.0, 2, 2)
    assert (dose.zero_weight_slots, dose.positive_slots) == (1, 2)
    assert dose.repetition == {1: 2, 2: 1}


def test_a_dose_needs_every_turn_of_the_batch(plan: Any) -> None:
    with pytest.raises(BudgetError, match="for more than 2 turns"):
        plan(example=[0, 2], weight=[1.0, 1.0]).dose([1, 1], trajectory=[0, 0], task=[0, 0])


def test_matched_by_hand() -> None:
    plan = matched([0.5, np.nan, -1.0], [0, 2], [0, 0, 0], Budget(4, 2, "cycle"), np.random.default_rng(0))
    assert sorted(plan.example[:2].tolist()) == sorted(plan.example[2:].tolist()) == [0, 2]
    assert plan.presentation.tolist() == [0, 0, 1, 1]
    assert plan.step.tolist() == [0, 0, 1, 1]
    assert plan.weight.tolist() == np.where(plan.example == 0, 0.5, -1.0).tolist()
