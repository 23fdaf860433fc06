import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from equipoise_budget import (
    BudgetError,
    Cost,
    Decoder,
    Dose,
    Ledger,
    PlannedDose,
    StepRow,
    counted_dose,
    kish,
)

ROW = StepRow(4, 30, 2.0, 1.5, 8 / 3, 0.7, 1e-3, -0.1, 4)


def test_costs_add_up_phase_by_phase() -> None:
    first = Cost(rollout_tokens=10, environment_steps=2, flops=1e9, seconds={"collect": 1.0, "train": 2.0})
    second = Cost(rollout_tokens=5, environment_resets=1, scoring_tokens=7, seconds={"train": 0.5})
    both = first + second
    assert both == Cost(15, 2, 1, 7, 0, 1e9, {"collect": 1.0, "train": 2.5})
    assert Cost.from_json(json.loads(json.dumps(both.to_json()))) == both
    assert first + Cost() == first
    asked = Cost(judge_calls=2, judge_tokens=30, critic_tokens=4)
    assert asked + asked + first == Cost(
        10, 2, 0, 0, 0, 1e9, first.seconds, judge_calls=4, judge_tokens=60, critic_tokens=8
    )


def test_a_cost_from_before_judges_were_counted_asked_none() -> None:
    stored = Cost(rollout_tokens=3).to_json()
    for name in ("judge_calls", "judge_tokens", "critic_tokens"):
        del stored[name]
    assert Cost.from_json(stored) == Cost(rollout_tokens=3)
    del stored["flops"]
    with pytest.raises(BudgetError, match="these differ: flops"):
        Cost.from_json(stored)


def test_a_cost_below_nothing_is_refused() -> None:
    with pytest.raises(BudgetError, match=r"got rollout_tokens = -1, seconds\[train\] = nan"):
        Cost(rollout_tokens=-1, seconds={"train": float("nan")})


def test_a_ledger_is_a_table_of_steps() -> None:
    ledger = Ledger()
    ledger.record(ROW)
    ledger.record(StepRow(4, 28, 1.0, 0.5, 2.0, float("inf"), 1e-3, float("nan"), 3))
    assert len(ledger) == 2
    assert ledger.steps["tokens"] == [30, 28]
    assert (ledger.total("slots"), ledger.total("weight_abs")) == (8, 3.0)
    with pytest.raises(BudgetError, match="expected a column of slots, tokens"):
        ledger.total("prompts")


def test_a_ledger_comes_back_from_json_even_when_the_run_diverged() -> None:
    ledger = Ledger([ROW, StepRow(4, 28, 1.0, 0.5, 2.0, float("inf"), 1e-3, float("nan"), 3)])
    json.loads(ledger.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    back = Ledger.from_json(ledger.to_json())
    assert back.rows[0] == ROW
    assert repr(back.rows) == repr(ledger.rows)
    for text in ("{}", "no", '{"version": 1, "steps": [{"slots": 1}]}'):
        with pytest.raises(BudgetError):
            Ledger.from_json(text)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(BudgetError, match="step 0: expected at least 0, got negative slots"):
        Ledger([StepRow(-1, 0, 0, 0, 0, 0, 0, 0, 0)])


def test_the_counted_dose_by_hand() -> None:
    dose = counted_dose(
        np.array([4, 4, 9]),
        np.array([1.0, 1.0, 0.0]),
        grad_norms=np.array([1.0, 3.0]),
        micro_batches=3,
        tokens_in_loss=12,
        tokens_forward=40,
        displacement=(0.5, None),
    )
    assert dose == Dose(3, 2, 2, 3, 12, 40, 2.0, 2.0, 2.0, 1, 2, 2.0, 3.0, 0.5, None, {1: 1, 2: 1})
    assert Dose.from_json(json.loads(json.dumps(dose.to_json()))) == dose
    with pytest.raises(BudgetError, match="these differ: slots"):
        Dose.from_json({k: v for k, v in dose.to_json().items() if k != "slots"})


def test_a_planned_dose_comes_back_from_json(plan: Any) -> None:
    dose = plan(example=[0, 1, 0, 2], weight=[1.0, -2.0, 1.0, 0.0]).dose(
        [1] * 3, trajectory=[0] * 3, task=[0] * 3
    )
    assert PlannedDose.from_json(json.loads(json.dumps(dose.to_json()))) == dose


@pytest.mark.parametrize(
    ("weight", "expected"),
    [([1, 1, 1, 1], 4.0), ([1, -1], 2.0), ([3, 1], 1.6), ([0, 0], 0.0), ([1e-200, 1e-200], 2.0), ([], 0.0)],
)
def test_the_effective_sample_size_by_hand(weight: list[float], expected: float) -> None:
    assert kish(weight) == pytest.approx(expected)


def test_what_was_not_counted_at_a_step_stays_undefined() -> None:
    measured = replace(ROW, micro_batches=1, kl_from_start=0.25, clip_fraction=0.5)
    ledger = Ledger([measured, replace(ROW, micro_batches=2)])
    assert ledger.steps["kl_from_start"] == [0.25, None]
    assert ledger.total("micro_batches") == 3
    with pytest.raises(BudgetError, match="expected a kl_from_start at every step, got none at step 2"):
        ledger.total("kl_from_start")
    assert Ledger.from_json(ledger.to_json()) == ledger
    assert Ledger.from_steps(json.loads(json.dumps(ledger.steps))) == ledger


def test_tables_of_earlier_versions_lack_the_later_columns() -> None:
    later = ("micro_batches", "kl_from_start", "l2_from_start", "clip_fraction")
    steps = {name: column for name, column in Ledger([ROW]).steps.items() if name not in later}
    assert Ledger.from_steps(steps) == Ledger([ROW])
    diverged = Ledger.from_steps(steps | {"loss": [None]})
    assert math.isnan(diverged.rows[0].loss)
    with pytest.raises(KeyError, match="tokens"):
        Ledger.from_steps({"slots": [1]})
    stored = json.loads(Ledger([ROW]).to_json())
    for name in later:
        del stored["steps"][0][name]
    assert Ledger.from_json(json.dumps(stored)) == Ledger([ROW])


def test_operations_of_a_decoder_by_hand() -> None:
    # Lengths 1 and 2 have 1 + 3 causal pairs: 2 * 100 * 3 + 4 * 2 * 10 * 4 = 920.
    decoder = Decoder(parameters=100, layers=2, width=10)
    assert decoder.forward([1, 2]) == 920
    assert decoder.train([1, 2]) == 2760
    with pytest.raises(BudgetError, match="at least 1 in everything"):
        Decoder(0, 1, 1)
