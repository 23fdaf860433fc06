"""The report and the files beside it: the same from the same results, honest about what precedes them."""

import json
import re
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.store import open_store
from equipoise.suites.freezing import exploratory
from equipoise.suites.publishing import publish
from equipoise.suites.running import enqueue
from equipoise_preregistration import ChainError, load_suite
from equipoise_reports import NothingToReport

if TYPE_CHECKING:
    from tests.platform.suites.conftest import Equipoise, Finished

pytestmark = pytest.mark.slow


@pytest.fixture
def home(finished: "Finished", tmp_path: Path) -> Path:
    """A copy of the finished project."""
    return Path(shutil.copytree(finished.home, tmp_path / "runs"))


def test_the_same_results_give_the_same_files(finished: "Finished", home: Path) -> None:
    (written,) = home.glob("reports/*")
    shutil.rmtree(written)
    published = publish(open_store(home, create=False), home)
    (expected,) = finished.home.glob("reports/*")
    assert published.folder.name == expected.name
    names = sorted(path.name for path in published.folder.iterdir())
    assert names == ["analysis.json", "decomposition.md", "decomposition.tex", "report.html", "runs.csv"]
    for name in names:
        assert (published.folder / name).read_bytes() == (expected / name).read_bytes()


def test_a_suite_is_found_by_name_and_by_the_beginning_of_its_hash(home: Path) -> None:
    store = open_store(home, create=False)
    (suite,) = store.suites()
    for wanted in (None, "small", suite.hash, suite.hash[:12], suite.hash[4:12]):
        assert publish(store, home, wanted).study.registration.hash == suite.hash


def test_a_chain_that_was_changed_gives_no_report(home: Path) -> None:
    chain = home / "registrations.jsonl"
    chain.write_text(chain.read_text().replace('"registered_at":"20', '"registered_at":"19'))
    with pytest.raises(ChainError, match="the line was changed"):
        publish(open_store(home, create=False), home)


def test_a_database_that_holds_another_suite_than_the_chain_gives_no_report(home: Path) -> None:
    with sqlite3.connect(home / "equipoise.db") as database:
        database.execute("UPDATE suites SET spec = replace(spec, '\\\"alpha\\\":0.05', '\\\"alpha\\\":0.5')")
    database.close()
    with pytest.raises(ChainError, match="expected the registration"):
        publish(open_store(home, create=False), home)


def test_a_result_that_was_changed_in_the_database_gives_no_report(home: Path) -> None:
    with sqlite3.connect(home / "equipoise.db") as database:
        cells = database.execute("SELECT id, result FROM jobs WHERE kind = 'cell' ORDER BY id").fetchall()
        job, text = cells[0]
        result = json.loads(text)
        result["outcomes"][0]["successes"] = result["outcomes"][0]["episodes"]
        assert json.dumps(result) != json.dumps(json.loads(text))
        database.execute("UPDATE jobs SET result = ? WHERE id = ?", (json.dumps(result), job))
    database.close()
    with pytest.raises(ChainError, match="expected every result as its run wrote it, got others for b"):
        publish(open_store(home, create=False), home)


def test_a_chain_that_is_gone_is_a_deviation(home: Path) -> None:
    (home / "registrations.jsonl").unlink()
    study = publish(open_store(home, create=False), home).study
    assert re.search("does not hold this registration any more", " ".join(study.deviations))


def test_before_any_run_there_is_nothing_to_report(small: Path, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    enqueue(store, exploratory(load_suite(small)))
    with pytest.raises(NothingToReport, match="run it first: `equipoise run small`"):
        publish(store, tmp_path)
    assert not (tmp_path / "reports").exists()


def test_programs_are_told_where_the_report_is(finished: "Finished", equipoise: "Equipoise") -> None:
    told = json.loads(equipoise("report", "small", "--home", finished.home, "--json").stdout)
    assert list(told) == ["name", "hash", "report", "interim", "missing"]
    assert (told["name"], told["interim"], told["missing"]) == ("small", False, 0)
    assert Path(told["report"]).is_file()
    assert told["hash"].startswith("eq1:")
