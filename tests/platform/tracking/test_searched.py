"""Values that a search chose are parameters of the runs that use them."""

from equipoise.tracking.facts import EndedJob, SuiteFacts
from equipoise.tracking.model import run_view

FACTS = SuiteFacts("s", "eq1:" + "ab" * 32, rules={"a": ("gigpo", {"gamma": 0.9, "std": "sample"})})


def test_what_was_chosen_stands_in_the_place_of_what_the_suite_says() -> None:
    cell = {"condition": "a", "rule": "gigpo", "arm": "twin", "twin": 0, "block": 0}
    values = {"gamma": 0.75, "training.learning_rate": 0.002, "training.clip": None}
    job = EndedJob(
        "b0/cell/a/twin/0", "cell", "done", {"cell": cell, "values": values}, {"cell": cell}, 1, 0, 1
    )
    params = run_view(job, FACTS, reveal=False).params
    assert params["rule.gamma"] == "0.75"
    assert params["rule.std"] == "sample"
    assert params["training.learning_rate"] == "0.002"
    assert "training.clip" in params
