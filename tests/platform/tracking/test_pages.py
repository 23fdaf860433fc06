"""What a person sees in the browser: the table of cells, the charts, the report."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from equipoise.tracking.embedded import database_uri
from equipoise.tracking.links import artifact_url, run_url
from equipoise.tracking.pages import suite_pages

if TYPE_CHECKING:
    from tests.platform.tracking.conftest import Served

pytestmark = pytest.mark.skipif(
    os.environ.get("EQUIPOISE_NO_BROWSER") == "1", reason="EQUIPOISE_NO_BROWSER=1: no browser on this machine"
)

TEAL = (0, 128, 128)


@dataclass(frozen=True)
class Page:
    """A page as the browser built it, and as it looked."""

    html: str
    picture: Path


See = Callable[[str, str], Page]


@pytest.fixture(scope="module")
def see(tmp_path_factory: pytest.TempPathFactory) -> See:
    """Open an address; pictures stay in the folder that EQUIPOISE_SCREENSHOTS names."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium, "these tests look at pages: install chromium, or set EQUIPOISE_NO_BROWSER=1"
    profile = tmp_path_factory.mktemp("profile")
    pictures = Path(os.environ.get("EQUIPOISE_SCREENSHOTS") or tmp_path_factory.mktemp("pictures")).absolute()
    command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    command += ["--window-size=2200,1400", "--virtual-time-budget=30000"]

    def look(address: str, name: str) -> Page:
        shot = pictures / f"{name}.png"
        both = [*command, f"--screenshot={shot}", "--dump-dom", address]
        page = subprocess.run(both, check=True, capture_output=True, timeout=120)
        return Page(page.stdout.decode(), shot)

    return look


def column(html: str, name: str) -> int:
    """Where a column stands on the page; the document holds its headers in the order in which they were drawn."""
    before = html[: html.index(f">{name}<")]
    return int(re.findall(r'aria-colindex="(\d+)"', before)[-1])


def test_the_link_to_the_runs_shows_cells_in_order_with_outcomes_and_budget(
    served: "Served", see: See
) -> None:
    pages = suite_pages(database_uri(served.project.home), served.address)
    html = see(pages[0].runs, "runs").html
    assert pages[0].name in html
    assert "Does step-level credit carry more" in html
    at = [column(html, name) for name in ("condition", "arm", "block", "eval/pool", "budget/slots")]
    assert at == sorted(at)
    assert html.index("b0 outcome native") < html.index("b1 outcome native")
    rate = served.project.runs()["b0/cell/gigpo/matched/0"].data.metrics["eval/pool"]
    assert f">{rate}<" in html


def test_the_link_to_the_charts_shows_outcomes_first_grouped_by_condition_and_arm(
    served: "Served", see: See
) -> None:
    html = see(suite_pages(database_uri(served.project.home), served.address)[0].charts, "charts").html
    at = [html.index(f">{name}<") for name in ("eval/held_out", "eval/pool", "train/loss")]
    assert at == sorted(at)
    assert "Group by: condition" in re.sub(r"<[^>]+>", "", html)
    assert "js-plotly-plot" in html


def test_the_report_is_shown_in_its_run_with_scripts_and_pictures(served: "Served", see: See) -> None:
    page = see(suite_pages(database_uri(served.project.home), served.address)[0].report, "report")
    assert "report/report.html" in page.html
    # The report lies in a frame of its own, whose inside only the picture shows: its script dyes a bar teal.
    pixels = np.asarray(Image.open(page.picture).convert("RGB"))
    assert (pixels == TEAL).all(axis=-1).sum() == 300 * 150


def test_the_suite_run_says_the_verdicts_first(served: "Served", see: See) -> None:
    run = served.project.runs()["suite"]
    html = see(run_url(served.address, run.info.experiment_id, run.info.run_id), "suite").html
    assert html.index("<strong>H1: INCONCLUSIVE</strong>") < html.index("Registration <code>")


def test_outcomes_by_task_are_shown_as_a_table(served: "Served", see: See) -> None:
    run = served.project.runs()["b1/cell/gigpo/matched/0"]
    address = artifact_url(served.address, run.info.experiment_id, run.info.run_id, "tables/outcomes.json")
    html = see(address, "table").html
    at = [html.index(f">{heading}<") for heading in ("split", "task", "successes", "episodes", "held_out")]
    assert at == sorted(at)
