"""The page in a real browser: offline, in a sandboxed frame, at the width of a phone."""

import os
import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from equipoise_reports import Study
from equipoise_reports.sections.runs import anchor

PROBE = """
<script>
addEventListener("load", () => {
  const rows = () => [...document.querySelector("#runs-table").tBodies[0].rows];
  const shown = (form) => getComputedStyle(document.querySelector(`figure .${form}`)).display;
  const root = document.documentElement;
  const said = { over: root.scrollWidth - root.clientWidth, wide: shown("wide"), narrow: shown("narrow") };
  said.before = rows()[0].id;
  const heads = [...document.querySelector("#runs-table").tHead.rows[0].cells];
  const head = heads.find((cell) => cell.textContent.trim() === "pool");
  head.querySelector("button").click();
  said.order = head.getAttribute("aria-sort");
  said.lowest = rows()[0].id;
  head.querySelector("button").click();
  said.highest = rows()[0].id;
  parent.postMessage(said, "*");
});
</script>
"""
FRAME = """<!DOCTYPE html><title>frame</title><body>
<script>
addEventListener("message", (event) => {{
  for (const [name, value] of Object.entries(event.data)) document.body.dataset[name] = value;
}});
</script>
<iframe sandbox="allow-scripts" src="page.html" style="width:{width}px;height:844px;border:0"></iframe>
"""


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser; only EQUIPOISE_NO_BROWSER=1 allows a machine to do without."""
    if os.environ.get("EQUIPOISE_NO_BROWSER") == "1":
        pytest.skip("EQUIPOISE_NO_BROWSER=1: the browser tests were declined")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    if found is None:
        pytest.fail(
            "expected chromium on the PATH, found none; install it (apt-get install chromium fonts-dejavu) "
            "or decline the browser tests with EQUIPOISE_NO_BROWSER=1"
        )
    return found


def browse(chromium: str, address: Path, profile: Path, *options: str) -> str:
    command = [
        chromium,
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={profile}",
        *options,
        address.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def probed(chromium: str, page: str, folder: Path, width: int) -> dict[str, str]:
    (folder / "page.html").write_text(page.replace("</body>", f"{PROBE}</body>"))
    frame = folder / "frame.html"
    frame.write_text(FRAME.format(width=width))
    # One process for both frames: the browser's virtual clock does not wait for the frame of another.
    options = (
        "--disable-features=IsolateSandboxedIframes",
        "--window-size=1400,900",
        "--virtual-time-budget=20000",
        "--dump-dom",
    )
    seen = browse(chromium, frame, folder / "profile", *options)
    body = re.search(r"<body([^>]*)>", seen)
    assert body is not None, seen
    said = dict(re.findall(r'data-(\w+)="([^"]*)"', body[1]))
    assert said, f"the frame said nothing: {seen}"
    return said


def test_a_phone_scrolls_tables_and_not_the_page(chromium: str, page: str, tmp_path: Path) -> None:
    said = probed(chromium, page, tmp_path, 390)
    assert said["over"] == "0"
    assert (said["wide"], said["narrow"]) == ("none", "block")


def test_a_desktop_shows_the_wide_figures(chromium: str, page: str, tmp_path: Path) -> None:
    said = probed(chromium, page, tmp_path, 1280)
    assert said["over"] == "0"
    assert (said["wide"], said["narrow"]) == ("block", "none")


def test_tables_are_sorted_inside_a_sandboxed_frame(
    chromium: str, page: str, tmp_path: Path, study: Study
) -> None:
    said = probed(chromium, page, tmp_path, 1280)
    scores = {anchor(run): run.primary for run in study.runs}
    assert said["order"] == "ascending"
    assert scores[said["lowest"]] == min(scores.values())
    assert scores[said["highest"]] == max(scores.values())
    assert said["before"] == "run-b0-cell-outcome-native-0"


def test_the_page_opens_from_a_file_and_paints(chromium: str, page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    shot = tmp_path / "page.png"
    options = ("--window-size=1280,900", f"--screenshot={shot}")
    browse(chromium, tmp_path / "page.html", tmp_path / "profile", *options)
    data = shot.read_bytes()
    assert struct.unpack(">II", data[16:24]) == (1280, 900)
    # A blank page of this size compresses to a few kilobytes.
    assert len(data) > 40_000


def test_the_page_prints(chromium: str, page: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(page)
    paper = tmp_path / "page.pdf"
    browse(chromium, tmp_path / "page.html", tmp_path / "profile", f"--print-to-pdf={paper}")
    assert paper.read_bytes().startswith(b"%PDF")
