from pathlib import Path
from typing import Any

import pytest

from equipoise.store import BadResult, JobSpec, StaleLease, open_store, this_worker
from equipoise.store.ledgers import ledger_rows

SUITE = "eq1:" + "ab" * 32
RESULT: dict[str, Any] = {
    "planned": {"slots": 4, "optimizer_steps": 2, "weight_abs": 3.5, "fill": "cycle", "repetition": {"2": 2}},
    "dose": {"slots": 2, "optimizer_steps": 1, "weight_abs": 1.5, "kl_from_start": None},
    "cost": {"forward_tokens_train": 40, "flops": 1e6, "seconds": {}},
    "allocated": {"slots": [2, 2], "ess": [1.5, 2.0]},
    "steps": {"slots": [2], "ess": [1.5], "loss": [None]},
}


def test_allocated_stands_beside_counted_and_a_step_not_taken_has_no_counts() -> None:
    rows = ledger_rows("b0/cell/a/matched/0", RESULT)
    (run,) = rows.run
    assert (run["allocated_slots"], run["slots"]) == (4, 2)
    assert (run["allocated_weight_abs"], run["weight_abs"]) == (3.5, 1.5)
    assert (run["kl_from_start"], run["forward_tokens_train"], run["judge_calls"]) == (None, 40, None)
    assert [(row["step"], row["allocated_slots"], row["slots"]) for row in rows.steps] == [
        (1, 2, 2),
        (2, 2, None),
    ]
    assert [row["round"] for row in rows.steps] == [1, 1]
    later = ledger_rows("b0/cell/a/matched/0", RESULT | {"round_of_step": [1, 2]})
    assert [row["round"] for row in later.steps] == [1, 2]
    assert ledger_rows("b0/base", {"kind": "base"}) == ledger_rows("b0/base", {})


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"dose": {"slots": "many"}}, "the ledger's slots must be a number or null, came 'many'"),
        ({"dose": [1]}, r"result\['dose'\] must be a mapping, came list"),
        ({"steps": {"slots": 2}}, "the steps' slots must be a list, one number a step, came int"),
        ({"steps": {"slots": [True]}}, "the ledger's slots must be a number or null, came True"),
    ],
)
def test_numbers_that_are_none_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(BadResult, match=said):
        ledger_rows("b0/cell/a/matched/0", RESULT | changed)


def test_the_rows_come_with_the_result_and_only_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.add_suite(SUITE, "small", {}, "2026-09-21")
    store.add_jobs(SUITE, [JobSpec("b0/cell/a/matched/0", "cell")])
    late = store.claim(this_worker(), ttl=1.0, now=0.0)
    assert late is not None
    store.expire(now=10.0)
    lease = store.claim(this_worker(), now=10.0)
    assert lease is not None
    store.finish(lease, RESULT, now=11.0)
    with pytest.raises(StaleLease):
        store.finish(late, RESULT | {"dose": {"slots": 99}}, now=12.0)

    (ledger,) = store.ledgers(SUITE)
    assert (ledger.key, ledger.kind, ledger.values["slots"]) == ("b0/cell/a/matched/0", "cell", 2)
    first, second = store.steps(SUITE, "b0/cell/a/matched/0")
    assert (first.step, first.values["ess"], second.values["ess"], second.values["allocated_ess"]) == (
        1,
        1.5,
        None,
        2.0,
    )
    assert store.steps(SUITE, "another") == []
    store.close()
