from pathlib import Path

import pytest

from equipoise.errors import StoreError
from equipoise.store import (
    Artifact,
    BadResult,
    JobSpec,
    NotReproduced,
    StaleLease,
    Store,
    Usage,
    open_store,
    this_worker,
)

SUITE = "eq1:0123456789abcdef"
RESULT = {"kind": "cell", "outcomes": [{"split": "pool", "task": 3, "successes": 5, "episodes": 8}]}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = open_store(tmp_path)
    store.add_suite(SUITE, "a suite", {"name": "a suite"}, "2026-01-01T00:00:00Z")
    return store


def add(store: Store, *specs: JobSpec) -> None:
    store.add_jobs(SUITE, specs)


def states(store: Store) -> dict[str, str]:
    return {job.key: job.state for job in store.jobs(SUITE)}


def test_a_job_is_claimed_once_and_the_lowest_order_first(store: Store) -> None:
    add(store, JobSpec("b1/c", "cell", order=2), JobSpec("b0/c", "cell", {"x": 1}, order=1))
    worker = this_worker()
    first = store.claim(worker)
    assert first is not None
    assert (first.key, first.payload, first.attempt) == ("b0/c", {"x": 1}, 1)
    second = store.claim(worker, suite=SUITE)
    assert second is not None
    assert second.key == "b1/c"
    assert second.token > first.token
    assert store.claim(worker) is None


def test_a_job_waits_until_all_that_it_needs_is_done(store: Store) -> None:
    add(
        store,
        JobSpec("b0/cell", "cell", needs=("b0/base", "b0/collect"), order=0),
        JobSpec("b0/base", "base", order=1),
        JobSpec("b0/collect", "collect", needs=("b0/base",), order=2),
    )
    worker = this_worker()
    claimed = []
    while (lease := store.claim(worker)) is not None:
        claimed.append((lease.key, lease.needs))
        assert store.claim(worker) is None, "everything else waits for the one that runs"
        store.finish(lease, {"kind": lease.kind})
    assert claimed == [
        ("b0/base", ()),
        ("b0/collect", ("b0/base",)),
        ("b0/cell", ("b0/base", "b0/collect")),
    ]


def test_another_suite_is_not_claimed_from(store: Store) -> None:
    store.add_suite("eq1:ffff", "other", {}, "2026-01-01T00:00:00Z")
    store.add_jobs("eq1:ffff", [JobSpec("b0/c", "cell")])
    assert store.claim(this_worker(), suite=SUITE) is None
    assert store.claim(this_worker(), suite="eq1:ffff") is not None


def test_a_result_enters_with_outcomes_files_event_and_message(store: Store) -> None:
    add(store, JobSpec("b0/c", "cell"))
    lease = store.claim(this_worker())
    assert lease is not None
    store.finish(lease, RESULT, {"weights.bin": Artifact("ab" * 32, 7)}, Usage(1.5, 2048))
    assert store.results(SUITE) == [RESULT]
    assert store.results_by_key(SUITE, "cell") == {"b0/c": RESULT}
    assert store.results(SUITE, "base") == []
    assert store.artifacts(SUITE, "b0/c") == {"weights.bin": Artifact("ab" * 32, 7)}
    (attempt,) = store.attempts(SUITE)
    assert (attempt.end, attempt.usage) == ("done", Usage(1.5, 2048))
    assert [event.kind for event in store.events(SUITE)] == ["suite_added", "jobs_added", "finished"]
    (message,) = store.outbox_pending()
    assert (message.suite, message.key, message.kind) == (SUITE, "b0/c", "finished")


def test_messages_stay_until_acknowledged_and_can_be_sent_again(store: Store) -> None:
    add(store, *(JobSpec(f"b{number}/c", "cell", order=number) for number in range(3)))
    worker = this_worker()
    while (lease := store.claim(worker)) is not None:
        store.finish(lease, RESULT)
    first, second = store.outbox_pending(limit=2)
    store.outbox_ack([first.id, second.id])
    assert [message.key for message in store.outbox_pending()] == ["b2/c"]
    store.outbox_rewind(SUITE)
    assert [message.key for message in store.outbox_pending()] == ["b0/c", "b1/c", "b2/c"]


def test_a_lease_that_ran_out_goes_to_another_worker_and_the_late_result_is_refused(store: Store) -> None:
    add(store, JobSpec("b0/c", "cell"))
    late = store.claim(this_worker("late"), 60, now=1000.0)
    assert late is not None
    assert store.expire(now=1059.0) == []
    assert store.expire(now=1061.0) == ["b0/c"]
    quick = store.claim(this_worker("quick"), 60, now=1062.0)
    assert quick is not None
    assert quick.attempt == 2
    for refused in (
        lambda: store.finish(late, {"kind": "cell", "who": "late"}),
        lambda: store.heartbeat(late),
        lambda: store.fail(late, "code_error", "x"),
        lambda: store.release(late),
    ):
        with pytest.raises(
            StaleLease, match=f"token {late.token}, the job is running under token {quick.token}"
        ):
            refused()
    store.finish(quick, {"kind": "cell", "who": "quick"})
    assert store.results(SUITE) == [{"kind": "cell", "who": "quick"}]
    with pytest.raises(StaleLease, match="the job is done"):
        store.finish(quick, {"kind": "cell", "who": "twice"})
    assert [attempt.end for attempt in store.attempts(SUITE)] == ["lost", "done"]


def test_a_heartbeat_keeps_a_lease(store: Store) -> None:
    add(store, JobSpec("b0/c", "cell"))
    lease = store.claim(this_worker(), 60, now=1000.0)
    assert lease is not None
    store.heartbeat(lease, 60, now=1050.0)
    assert store.expire(now=1100.0) == []
    assert store.expire(now=1111.0) == ["b0/c"]


@pytest.mark.parametrize("end", ["lost", "oom", "timeout"])
def test_a_job_that_keeps_losing_its_worker_is_given_up_after_three_tries(store: Store, end: str) -> None:
    add(store, JobSpec("b0/c", "cell"), JobSpec("b0/d", "cell", needs=("b0/c",)))
    after = []
    while (lease := store.claim(this_worker())) is not None:
        after.append(store.fail(lease, end, "gone"))
    assert after == ["queued", "queued", "exhausted"]
    assert states(store) == {"b0/c": "exhausted", "b0/d": "queued"}
    assert [message.kind for message in store.outbox_pending()] == ["exhausted"]
    assert store.retry(SUITE) == ["b0/c"]
    assert store.claim(this_worker()) is not None


@pytest.mark.parametrize("end", ["released", "preempted", "no_space"])
def test_ends_that_are_not_the_jobs_own_use_up_no_try(store: Store, end: str) -> None:
    add(store, JobSpec("b0/c", "cell"))
    for _ in range(5):
        lease = store.claim(this_worker())
        assert lease is not None
        assert store.fail(lease, end, "not its fault") == "queued"
    (job,) = store.jobs(SUITE)
    assert job.tries == 0


def test_a_code_error_is_not_tried_again_until_someone_says_so(store: Store) -> None:
    add(store, JobSpec("b0/c", "cell"))
    lease = store.claim(this_worker())
    assert lease is not None
    assert store.fail(lease, "code_error", "ValueError: no") == "failed"
    assert store.claim(this_worker()) is None
    (job,) = store.jobs(SUITE)
    assert job.message == "ValueError: no"
    store.retry(SUITE, ["b0/c"])
    assert states(store) == {"b0/c": "queued"}


def test_an_end_that_is_none_is_refused(store: Store) -> None:
    add(store, JobSpec("b0/c", "cell"))
    lease = store.claim(this_worker())
    assert lease is not None
    with pytest.raises(StoreError, match="expected one of lost, preempted"):
        store.fail(lease, "tired", "x")


def test_cancelled_jobs_are_not_claimed(store: Store) -> None:
    add(store, JobSpec("b0/c", "cell"), JobSpec("b0/d", "cell"))
    assert store.cancel(SUITE, ["b0/c"]) == ["b0/c"]
    lease = store.claim(this_worker())
    assert lease is not None
    assert lease.key == "b0/d"


def test_adding_the_same_jobs_again_changes_nothing(store: Store) -> None:
    specs = [JobSpec("b0/a", "base"), JobSpec("b0/c", "cell", {"x": [1, 2.5]}, ("b0/a",), 1)]
    assert store.add_jobs(SUITE, specs) == 2
    lease = store.claim(this_worker())
    assert lease is not None
    store.finish(lease, RESULT)
    assert store.add_jobs(SUITE, specs) == 0
    assert states(store) == {"b0/a": "done", "b0/c": "queued"}
    with pytest.raises(StoreError, match="b0/c is known with other contents"):
        store.add_jobs(SUITE, [JobSpec("b0/c", "cell", {"x": [1, 3.5]})])


def test_a_payload_is_known_again_by_what_json_makes_of_it(store: Store) -> None:
    spec = JobSpec("b0/c", "cell", {"range": (0.35, 0.55), "by_task": {3: "x"}})
    assert store.add_jobs(SUITE, [spec]) == 1
    assert store.add_jobs(SUITE, [spec]) == 0
    (job,) = store.jobs(SUITE)
    assert job.payload == {"range": [0.35, 0.55], "by_task": {"3": "x"}}


@pytest.mark.parametrize("value", [object(), float("nan")])
def test_a_payload_that_json_cannot_hold_is_refused(store: Store, value: object) -> None:
    with pytest.raises(StoreError, match="b0/c: expected what JSON can hold"):
        store.add_jobs(SUITE, [JobSpec("b0/c", "cell", {"x": value})])


def test_all_faults_of_a_list_of_jobs_are_named_at_once(store: Store) -> None:
    specs = [
        JobSpec("b0/a", "base"),
        JobSpec("b0/a", "base"),
        JobSpec("b0", "base"),
        JobSpec("b0/c", "cell", needs=("b0/zzz",)),
        JobSpec("b0/x", "cell", needs=("b0/y",)),
        JobSpec("b0/y", "cell", needs=("b0/x",)),
    ]
    with pytest.raises(StoreError) as caught:
        store.add_jobs(SUITE, specs)
    for fault in (
        "b0/a is stated twice",
        "needs b0/zzz",
        "b0 is also the folder",
        "b0/x, b0/y need each other",
    ):
        assert fault in str(caught.value)
    assert store.jobs(SUITE) == []


@pytest.mark.parametrize("key", ["", "/abs", "a//b", "../up", "a/../b", "a b", "a/.hidden", "a/"])
def test_a_key_that_cannot_name_a_folder_is_refused(key: str) -> None:
    with pytest.raises(StoreError, match="job key"):
        JobSpec(key, "cell")


@pytest.mark.parametrize(
    "row",
    [
        {"split": "pool", "task": 0, "successes": 9, "episodes": 8},
        {"split": "pool", "task": 0, "successes": -1, "episodes": 8},
        {"split": "pool", "task": 0, "successes": 0.5, "episodes": 8},
        {"split": "pool", "task": 3, "successes": 1, "episodes": 8},
        {"task": 0, "successes": 1, "episodes": 8},
        "nothing",
    ],
)
def test_outcomes_that_are_not_counts_are_refused_and_leave_nothing(store: Store, row: object) -> None:
    add(store, JobSpec("b0/c", "cell"))
    lease = store.claim(this_worker())
    assert lease is not None
    good = {"split": "pool", "task": 3, "successes": 5, "episodes": 8}
    with pytest.raises(BadResult, match=r"result\['outcomes'\]\[1\]"):
        store.finish(lease, {"outcomes": [good, row]})
    assert states(store) == {"b0/c": "running"}
    assert store.results(SUITE) == []


def test_numbers_that_json_cannot_hold_are_refused_by_their_path(store: Store) -> None:
    add(store, JobSpec("b0/c", "cell"))
    lease = store.claim(this_worker())
    assert lease is not None
    with pytest.raises(BadResult, match=r"result\['steps'\]\['loss'\]\[1\] is nan"):
        store.finish(lease, {"steps": {"loss": [0.5, float("nan")]}})


def test_a_reopened_job_must_give_the_same_files_and_keeps_its_first_result(store: Store) -> None:
    add(store, JobSpec("b0/collect", "collect"))
    lease = store.claim(this_worker())
    assert lease is not None
    files = {"t.npz": Artifact("aa" * 32, 3), "result.json": Artifact("bb" * 32, 9)}
    store.finish(lease, {"seconds": 1}, files)
    store.reopen(SUITE, "b0/collect", "t.npz is missing")
    assert states(store) == {"b0/collect": "queued"}
    again = store.claim(this_worker())
    assert again is not None
    with pytest.raises(NotReproduced, match="came out different"):
        store.finish(again, {"seconds": 2}, {**files, "t.npz": Artifact("cc" * 32, 3)})
    store.finish(again, {"seconds": 2}, {**files, "result.json": Artifact("dd" * 32, 9)})
    assert store.results(SUITE) == [{"seconds": 1}]
    assert store.artifacts(SUITE, "b0/collect")["result.json"].sha256 == "dd" * 32
    assert len(store.outbox_pending()) == 1


def test_progress_counts_by_kind_and_state_and_knows_complete_blocks(store: Store) -> None:
    add(
        store,
        *(JobSpec(f"b{block}/base", "base", order=block) for block in range(2)),
        *(JobSpec(f"b{block}/cell", "cell", {}, (f"b{block}/base",), 2 + block) for block in range(2)),
    )
    worker = this_worker()
    for expected in ("b0/base", "b1/base", "b0/cell"):
        lease = store.claim(worker, now=1000.0)
        assert lease is not None
        assert lease.key == expected
        store.finish(lease, {}, usage=Usage(10.0), now=1030.0)
    store.claim(worker, now=1030.0)
    progress = store.progress(SUITE, now=1030.0)
    assert progress.counts == {"base": {"done": 2}, "cell": {"done": 1, "running": 1}}
    assert (progress.done, progress.total) == (3, 4)
    assert (progress.blocks_complete, progress.blocks) == (1, 2)
    assert progress.seconds == {"base": 20.0, "cell": 10.0}
    assert progress.per_minute == pytest.approx(6.0)
    assert progress.eta_seconds == pytest.approx(5.0), "half of ten seconds for the one that runs"
