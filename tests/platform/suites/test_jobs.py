"""A suite as jobs: every cell once, after what it needs, in an order that favours no arm."""

import json
from collections import Counter
from collections.abc import Callable

import pytest

from equipoise.suites.jobs import Cell, cells_of, jobs_of
from equipoise.suites.planning import outline
from equipoise_preregistration import Suite

MakeSuite = Callable[..., Suite]


def test_every_cell_is_there_once(make_suite: MakeSuite) -> None:
    cells = cells_of(make_suite(arms={"twins": 2}))
    assert len(cells) == len(set(cells)) == 3 * 4 * (1 + 1 + 2)
    assert Counter((c.arm, c.twin) for c in cells) == {
        ("native", 0): 12,
        ("matched", 0): 12,
        ("twin", 0): 12,
        ("twin", 1): 12,
    }
    assert Counter(c.block for c in cells) == {0: 16, 1: 16, 2: 16}


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ({"native": False}, {"matched", "twin"}),
        ({"twins": 0}, {"native", "matched"}),
        ({"matched": False, "twins": 0}, {"native"}),
    ],
)
def test_arms_that_are_off_have_no_cells(
    make_suite: MakeSuite, arms: dict[str, object], expected: set[str]
) -> None:
    assert {cell.arm for cell in cells_of(make_suite(arms=arms, hypotheses=[]))} == expected


def test_keys_say_what_a_job_is(make_suite: MakeSuite) -> None:
    assert Cell("gigpo", "gigpo", "twin", 1, 2).key == "b2/cell/gigpo/twin/1"
    keys = {job.key for job in jobs_of(make_suite())}
    assert len(keys) == 3 * (1 + 1 + 4 + 12)
    assert {"b0/base", "b1/collect", "b2/signals/carl", "b0/cell/oracle/native/0"} <= keys


def test_a_job_needs_what_its_payload_reads_and_comes_after_it(make_suite: MakeSuite) -> None:
    jobs = {job.key: job for job in jobs_of(make_suite())}
    for job in jobs.values():
        payload = json.loads(json.dumps(job.payload))
        assert payload["job"] == job.kind
        assert set(job.needs) == set(payload["inputs"].values())
        assert len(job.needs) == len(set(job.needs))
        assert all(jobs[need].order < job.order for need in job.needs)
        assert Suite.model_validate(payload["suite"]) == make_suite()
    assert jobs["b1/base"].needs == ()
    assert jobs["b1/collect"].needs == ("b1/base",)
    assert set(jobs["b1/signals/gigpo"].needs) == {"b1/base", "b1/collect"}
    assert set(jobs["b1/cell/gigpo/twin/0"].needs) == {"b1/base", "b1/signals/gigpo", "b1/collect"}


def test_cells_of_a_rule_that_forks_read_its_own_batch(make_suite: MakeSuite) -> None:
    jobs = {job.key: job for job in jobs_of(make_suite())}
    assert jobs["b0/cell/carl/matched/0"].payload["inputs"] == {
        "base": "b0/base",
        "signals": "b0/signals/carl",
        "batch": "b0/signals/carl",
    }
    assert set(jobs["b0/cell/carl/matched/0"].needs) == {"b0/base", "b0/signals/carl"}


def test_the_order_is_drawn_from_the_suites_seed(make_suite: MakeSuite) -> None:
    def order(seed: int) -> list[str]:
        return [job.key for job in sorted(jobs_of(make_suite(seed=seed, blocks=8)), key=lambda j: j.order)]

    assert order(1) == order(1)
    assert sorted(order(1)) == sorted(order(2))
    assert order(1) != order(2)


def test_no_two_jobs_share_a_place_and_blocks_are_whole(make_suite: MakeSuite) -> None:
    jobs = sorted(jobs_of(make_suite(seed=1, blocks=8)), key=lambda job: job.order)
    assert len({job.order for job in jobs}) == len(jobs)
    blocks = [job.payload["block"] for job in jobs]
    assert blocks != sorted(blocks), "blocks are in random order"
    assert [block for i, block in enumerate(blocks) if i == 0 or blocks[i - 1] != block] == list(
        dict.fromkeys(blocks)
    )


def test_cells_are_shuffled_anew_in_every_block(make_suite: MakeSuite) -> None:
    jobs = sorted(jobs_of(make_suite(seed=1, blocks=8)), key=lambda job: job.order)
    orders = {
        tuple(
            job.key.split("/", 1)[1] for job in jobs if job.kind == "cell" and job.payload["block"] == block
        )
        for block in range(8)
    }
    assert len(orders) == 8


def test_an_outline_counts_what_would_be_run(make_suite: MakeSuite) -> None:
    suite = make_suite()
    told = outline(suite, 0.1)
    assert told["cells"] == 3 * 4 * 3
    assert told["jobs"] == len(jobs_of(suite)) == 3 * (1 + 1 + 4 + 12)
    assert told["jobs_by_kind"] == {"base": 3, "collect": 3, "signals": 12, "cell": 36}
    assert told["episodes_collected"] == 3 * 2 * 8
    assert told["episodes_judged"] == (36 + 3) * (2 * 8 + 3 * 1)
    assert told["content_family"] == 2
    least = told["minimal_detectable_content"]
    assert isinstance(least, float)
    assert 0.1 < least < 1.0


def test_an_outline_without_twins_promises_no_content(make_suite: MakeSuite) -> None:
    assert outline(make_suite(arms={"twins": 0}, hypotheses=[]), 0.1)["minimal_detectable_content"] is None
    assert outline(make_suite(blocks=1), 0.1)["minimal_detectable_content"] is None
