"""Which suite a command works on, and that runs without registration stay apart from registered ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from equipoise.store import open_store
from equipoise.suites.freezing import Frozen, exploratory, recorded, registered
from equipoise.suites.running import enqueue
from equipoise_preregistration import LoadedSuite, NotRegisteredError, load_suite, register
from equipoise_preregistration.registration import surroundings


@pytest.fixture
def loaded(small: Path) -> LoadedSuite:
    return load_suite(small)


def test_a_registered_suite_is_found_with_its_text(loaded: LoadedSuite, tmp_path: Path) -> None:
    registration = register(loaded, tmp_path)
    assert registered(loaded, tmp_path) == Frozen(registration, loaded.raw.decode())


def test_comments_and_order_of_keys_do_not_change_the_suite(
    loaded: LoadedSuite, small: Path, tmp_path: Path
) -> None:
    registration = register(loaded, tmp_path)
    lines = small.read_text(encoding="utf-8").splitlines()
    (tmp_path / "other.yaml").write_text("\n".join(["# other words", *lines[2:], lines[1]]))
    found = registered(load_suite(tmp_path / "other.yaml"), tmp_path)
    assert found.registration.hash == registration.hash


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"python": "3.10.0"}, "other Python (3.10.0, now "),
        ({"machine": "pdp11"}, "other processor (pdp11, now "),
        ({"lock": ("numpy==1.0",)}, "other libraries (numpy==1.0 then, "),
    ],
)
def test_a_registration_under_other_surroundings_is_not_this_one(
    changed: dict[str, object], said: str, loaded: LoadedSuite, tmp_path: Path
) -> None:
    around = replace(surroundings(), **changed)  # type: ignore[arg-type]
    older = register(loaded, tmp_path, around=around)
    with pytest.raises(NotRegisteredError) as refused:
        registered(loaded, tmp_path)
    assert said in str(refused.value)
    assert older.hash8 in str(refused.value)
    assert "other contents" not in str(refused.value)


def test_exploring_has_a_hash_of_its_own_that_stays_the_same(loaded: LoadedSuite, tmp_path: Path) -> None:
    registration = register(loaded, tmp_path)
    first, second = exploratory(loaded), exploratory(loaded)
    assert first.registration.hash == second.registration.hash
    assert first.registration.hash != registration.hash
    assert first.registration.hash.startswith("eq1:")
    assert first.exploratory
    assert first.registration.suite == registration.suite


def test_exploratory_and_registered_runs_share_no_job(loaded: LoadedSuite, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    register(loaded, tmp_path)
    kept, explored = registered(loaded, tmp_path), exploratory(loaded)
    enqueue(store, kept)
    enqueue(store, explored)
    counts = [len(store.jobs(frozen.registration.hash)) for frozen in (kept, explored)]
    assert counts == [20, 20]
    assert len({suite.hash for suite in store.suites()}) == 2


def test_what_was_put_into_the_store_comes_back_as_it_was(loaded: LoadedSuite, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    register(loaded, tmp_path)
    kept, explored = registered(loaded, tmp_path), exploratory(loaded)
    for frozen in (kept, explored):
        enqueue(store, frozen)
        enqueue(store, frozen)
        assert recorded(store, frozen.registration.hash)[1] == frozen
    assert recorded(store, None)[1] == explored
    assert recorded(store, "small")[1] == explored
    assert recorded(store, kept.registration.hash8)[1] == kept


@pytest.mark.parametrize("wanted", ["other", "eq1:ffffffff", "12345"])
def test_an_unknown_suite_is_told_which_there_are(wanted: str, loaded: LoadedSuite, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    explored = exploratory(loaded)
    enqueue(store, explored)
    with pytest.raises(NotRegisteredError, match=f"small @ {explored.registration.hash8}"):
        recorded(store, wanted)
