"""What a person sees in the browser: the table of cells, the charts, the report."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from equipoise.tracking.embedded import database_uri
from equipoise.tracking.links import artifact_url, run_url
from equipoise.tracking.pages import suite_pages

if TYPE_CHECKING:
    from tests.platform.tracking.conftest import Served

pytestmark = pytest.mark.skipif(
    os.environ.get("EQUIPOISE_NO_BROWSER") == "1", reason="EQUIPOISE_NO_BROWSER=1: no browser on this machine"
)

See = Callable[[str, str], str]


@pytest.fixture(scope="module")
def see(tmp_path_factory: pytest.TempPathFactory) -> See:
    """Open an address, keep a picture if EQUIPOISE_SCREENSHOTS names a folder, and return the page as HTML."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium, "these tests look at pages: install chromium, or set EQUIPOISE_NO_BROWSER=1"
    profile = tmp_path_factory.mktemp("profile")
    pictures = os.environ.get("EQUIPOISE_SCREENSHOTS")
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    command += ["--window-size=1600,1100", "--virtual-time-budget=30000"]

    def look(address: str, name: str) -> str:
        if pictures:
            shot = Path(pictures).absolute() / f"{name}.png"
            subprocess.run([*command, f"--screenshot={shot}", address], check=True, capture_output=True)
        page = subprocess.run([*command, "--dump-dom", address], check=True, capture_output=True, timeout=120)
        return page.stdout.decode()

    return look


def test_the_link_to_the_runs_shows_cells_in_order_with_outcomes_and_budget(
    served: "Served", see: See
) -> None:
    pages = suite_pages(database_uri(served.project.home), served.address)
    page = see(pages[0].runs, "runs")
    assert pages[0].name in page
    assert "Does step-level credit carry more" in page
    for heading in ("condition", "arm", "block", "eval/pool", "budget/slots"):
        assert f">{heading}<" in page, heading
    assert page.index("b0 outcome native") < page.index("b1 outcome native")
    assert "20 matching runs" in "".join(page.replace("<", "\n<").split("\n")) or "matching runs" in page


def test_the_link_to_the_charts_shows_means_by_condition_and_arm(served: "Served", see: See) -> None:
    page = see(suite_pages(database_uri(served.project.home), served.address)[0].charts, "charts")
    for chart in ("eval/pool", "train/loss"):
        assert chart in page, chart
    assert "Group by: condition" in page


def test_the_report_is_shown_in_its_run_with_scripts_and_pictures(served: "Served", see: See) -> None:
    pages = suite_pages(database_uri(served.project.home), served.address)
    page = see(pages[0].report, "report")
    assert "report/report.html" in page
    assert "<iframe" in page
    assert "The report of the suite" in page


def test_the_suite_run_says_the_verdicts_first(served: "Served", see: See) -> None:
    run = served.project.runs()["suite"]
    page = see(run_url(served.address, run.info.experiment_id, run.info.run_id), "suite")
    assert "INCONCLUSIVE" in page
    assert page.index("INCONCLUSIVE") < page.index("Registration")


def test_outcomes_by_task_are_shown_as_a_table(served: "Served", see: See) -> None:
    run = served.project.runs()["b1/cell/gigpo/matched/0"]
    page = see(
        artifact_url(served.address, run.info.experiment_id, run.info.run_id, "tables/outcomes.json"), "table"
    )
    for heading in ("split", "task", "successes", "episodes"):
        assert f">{heading}<" in page, heading
    assert "held_out" in page
