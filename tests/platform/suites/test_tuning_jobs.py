"""The search as jobs: blocks of its own, trials as matched runs, and cells that use what was chosen."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from equipoise.execution.world import World
from equipoise.suites.jobs import jobs_of
from equipoise.suites.planning import outline
from equipoise.suites.tuning_jobs import tuning_jobs
from equipoise.tuning.studies import Proposed
from equipoise_preregistration import Suite
from equipoise_preregistration.points import Point

MakeSuite = Callable[..., Suite]

SPACE = {
    "training.learning_rate": {"low": 1e-4, "high": 1e-2, "log": True},
    "gamma": {"low": 0.5, "high": 1.0},
    "forks": {"type": "int", "low": 2, "high": 6},
}


@pytest.fixture
def tuned(make_suite: MakeSuite) -> Suite:
    return make_suite(tuning={"trials": 2, "blocks": 2, "space": SPACE})


def trial(condition: str, number: int, values: Point) -> Proposed:
    return Proposed(condition, number, values)


def by_key(jobs: list[Any]) -> dict[str, Any]:
    assert len({job.key for job in jobs}) == len(jobs)
    return {job.key: job for job in jobs}


def test_a_trial_is_one_matched_run_in_every_tuning_block(tuned: Suite) -> None:
    values: Point = {"gamma": 0.75, "training.learning_rate": 0.002}
    jobs = by_key(tuning_jobs(tuned, [trial("gigpo", 1, values)]))
    assert sorted(key for key in jobs if "/trial/" in key) == [
        "tuning/trial/gigpo/1/0",
        "tuning/trial/gigpo/1/1",
    ]
    payload = jobs["tuning/trial/gigpo/1/1"].payload
    assert payload["cell"] == {"condition": "gigpo", "rule": "gigpo", "arm": "matched", "twin": 0, "block": 1}
    assert payload["values"] == values
    told = Suite.model_validate(payload["suite"])
    assert told.training.learning_rate == 0.002
    assert told.conditions[1].parameters["gamma"] == 0.75
    assert told.conditions[3] == tuned.conditions[3]


def test_no_job_of_the_search_belongs_to_a_block_of_the_comparison(tuned: Suite) -> None:
    jobs = tuning_jobs(tuned, [trial("gigpo", 0, {"gamma": 0.75, "training.learning_rate": 0.002})])
    assert {job.block for job in jobs} == {None}
    assert not {job.key for job in jobs} & {job.key for job in jobs_of(tuned)}
    assert not {job.kind for job in jobs} & {job.kind for job in jobs_of(tuned)}


def test_neither_seeds_nor_tasks_of_a_tuning_block_are_those_of_any_other(tuned: Suite) -> None:
    (job,) = (job for job in tuning_jobs(tuned, []) if job.key == "tuning/base/0")
    world = World.of(json.loads(json.dumps(job.payload)))
    assert world.tuning
    for block in range(3):
        assert world.seed("weights") != World(tuned, block).seed("weights")
    assert world.seed("weights") != World(tuned, 1, tuning=True).seed("weights")
    confirmatory = World(tuned, 0)
    assert world.rng("collect").random() != confirmatory.rng("collect").random()
    # The layouts of the corridor's rooms are drawn from the seed of the tasks.
    tasks = [[str(w.env.reset("pool", task)) for task in range(2)] for w in (world, confirmatory)]
    assert tasks[0] != tasks[1]
    assert World(tuned, 2).env.reset("pool", 0) == confirmatory.env.reset("pool", 0)


def test_credit_is_assigned_once_for_trials_with_the_same_rule_parameters(tuned: Suite) -> None:
    rates = (0.001, 0.002)
    outcome = [trial("outcome", n, {"training.learning_rate": rate}) for n, rate in enumerate(rates)]
    gigpo = [
        trial("gigpo", n, {"gamma": 0.6 + n / 10, "training.learning_rate": rate})
        for n, rate in enumerate(rates)
    ]
    signals = [job for job in tuning_jobs(tuned, outcome + gigpo) if job.kind == "tuning_signals"]
    assert sorted(job.payload["condition"] for job in signals) == 2 * ["gigpo"] + 2 * ["gigpo"] + 2 * [
        "outcome"
    ]
    for job in signals:
        # What the optimizer does is no matter of credit.
        assert Suite.model_validate(job.payload["suite"]).training == tuned.training


def test_every_job_needs_what_its_payload_reads_and_comes_after_it(tuned: Suite) -> None:
    values: Point = {"forks": 3, "training.learning_rate": 0.001}
    jobs = by_key(tuning_jobs(tuned, [trial("carl", 0, values)]))
    for job in jobs.values():
        assert job.payload["job"] == job.kind
        assert set(job.needs) == set(job.payload["inputs"].values())
        assert all(jobs[need].order < job.order for need in job.needs)
    run = jobs["tuning/trial/carl/0/0"]
    assert run.payload["inputs"]["batch"] == run.payload["inputs"]["signals"]


def test_a_trial_asked_for_again_is_the_same_jobs(tuned: Suite) -> None:
    values: Point = {"gamma": 0.75, "training.learning_rate": 0.002}
    once = by_key(tuning_jobs(tuned, [trial("gigpo", 0, values)]))
    again = by_key(tuning_jobs(tuned, [Proposed("gigpo", 0, values, 0.5), trial("outcome", 0, {})]))
    assert once.items() <= again.items()


def test_held_out_tasks_are_not_played_where_no_choice_rests_on_them(tuned: Suite) -> None:
    (base, *_) = tuning_jobs(tuned, [])
    assert base.payload["suite"]["evaluation"]["held_out_episodes"] == 0
    other = tuned.model_copy(
        update={"evaluation": tuned.evaluation.model_copy(update={"primary": "held_out"})}
    )
    assert tuning_jobs(other, [])[0].payload["suite"]["evaluation"]["held_out_episodes"] == 1


def test_every_cell_and_signal_of_a_condition_uses_what_was_chosen_for_it(tuned: Suite) -> None:
    chosen: dict[str, Point] = {
        "gigpo": {"gamma": 0.75, "training.learning_rate": 0.002},
        "outcome": {"training.learning_rate": 0.004},
    }
    for job in jobs_of(tuned, chosen):
        told = Suite.model_validate(job.payload["suite"])
        name = job.key.split("/")[2] if job.kind in ("signals", "cell") else None
        expected = {"gigpo": 0.002, "outcome": 0.004}.get(name or "", tuned.training.learning_rate)
        assert told.training.learning_rate == expected
        gamma = told.conditions[1].parameters.get("gamma")
        assert gamma == (0.75 if name == "gigpo" else None)


def test_without_a_choice_jobs_are_what_the_suite_says(make_suite: MakeSuite) -> None:
    suite = make_suite()
    assert jobs_of(suite, {}) == jobs_of(suite)
    assert {json.dumps(job.payload["suite"]) for job in jobs_of(suite)} == {
        json.dumps(suite.model_dump(mode="json"))
    }


def test_a_plan_says_what_the_search_grants(tuned: Suite, make_suite: MakeSuite) -> None:
    # Two trials in two blocks of two steps.
    assert outline(tuned, 0.1)["search_of_each_condition"] == {"trials": 2, "runs": 4, "steps": 8}
    assert "search_of_each_condition" not in outline(make_suite(), 0.1)
