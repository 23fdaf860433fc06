"""The page as a browser, a screen reader and a sceptic receive it."""

import dataclasses
import itertools
import re
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from equipoise_reports import ConditionCard, RunRecord, Slot, Study, render
from equipoise_stats import Analysis

VOID = {"meta", "link", "br", "img", "hr", "input", "col", "source", "wbr"}


class Outline(HTMLParser):
    """Collects what the tests ask of a page; complains about tags that do not close."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"{tag} is never closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((int(tag[1]), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1:]} at {self.getpos()}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"script", "style"}:
            return
        self.words.append(data)
        if self.headings and self.open and re.fullmatch("h[1-6]", self.open[-1]):
            level, text = self.headings[-1]
            self.headings[-1] = (level, text + data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="session")
def outline(page: str) -> Outline:
    return Outline(page)


def test_every_tag_is_closed_in_order(outline: Outline) -> None:
    assert outline.faults == []


def test_the_same_study_gives_the_same_bytes(study: Study, page: str) -> None:
    assert render(study) == page


def test_a_page_is_not_changed_by_the_callers_figure_settings(study: Study, page: str) -> None:
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 31.0, "axes.grid": True, "svg.fonttype": "path"}):
        assert render(study) == page
        assert mpl.rcParams["font.size"] == 31.0


def test_nothing_is_fetched(outline: Outline, page: str) -> None:
    for tag, attrs in outline.tags:
        for name in ("src", "srcset", "href", "action", "data", "xlink:href"):
            target = attrs.get(name)
            if target is None or target.startswith(("#", "data:")):
                continue
            assert tag == "a", f"<{tag} {name}={target}>"
    assert outline.all("link") == []
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_headings_descend_one_level_at_a_time(outline: Outline) -> None:
    levels = [level for level, _ in outline.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert all(text.strip() for _, text in outline.headings)


def test_sections_stand_in_reading_order(outline: Outline) -> None:
    anchors = [str(attrs["id"]) for attrs in outline.all("section")]
    assert anchors == [
        "result",
        "decomposition",
        "budget",
        "dose",
        "runs",
        "naive",
        "learning",
        "robustness",
        "curve",
        "power",
        "cost",
        "conditions",
        "reading",
        "methods",
        "provenance",
        "downloads",
    ]


def test_every_table_has_a_caption_and_scoped_headings(outline: Outline) -> None:
    assert len(outline.all("table")) == len(outline.all("caption")) > 6
    assert {attrs.get("scope") for attrs in outline.all("th")} == {"col", "row"}


def test_every_row_has_a_cell_for_every_column(page: str) -> None:
    for table in re.findall(r"<table.*?</table>", page, flags=re.DOTALL):
        columns = len(re.findall(r'<th scope="col"', table))
        for row in re.findall(r"<tr.*?</tr>", table[table.index("<tbody>") :], flags=re.DOTALL):
            assert len(re.findall(r"<t[dh][ >]", row)) == columns


def test_every_figure_is_named_and_described(outline: Outline) -> None:
    ids = {attrs["id"] for _, attrs in outline.tags if "id" in attrs}
    drawings = [attrs for attrs in outline.all("svg") if attrs.get("role") == "img"]
    assert len(drawings) == len(outline.all("svg")) == 4
    for drawing in drawings:
        assert set(str(drawing["aria-labelledby"]).split()) <= ids


def test_ids_are_unique_and_every_link_inside_the_page_arrives(outline: Outline) -> None:
    ids = [attrs["id"] for _, attrs in outline.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    inside = [str(attrs["href"]) for _, attrs in outline.tags if str(attrs.get("href", "")).startswith("#")]
    assert {target[1:] for target in inside} <= set(ids)


def test_every_run_has_its_own_anchor(study: Study, outline: Outline) -> None:
    anchors = {attrs["id"] for attrs in outline.all("tr") if "id" in attrs}
    assert len(anchors) == len(study.runs)
    assert "run-b0-cell-gigpo-matched-0" in anchors


def test_the_first_screen_says_verdicts_controls_and_budget(outline: Outline) -> None:
    first = outline.text[: outline.text.index("TOTAL is what a comparison")]
    assert "CONFIRMED" in first
    assert "oracle, the positive control, was detected" in first
    assert "random, the negative control, was not detected" in first
    assert "all 70 matched and twin runs received exactly that" in first
    assert "Deviations None recorded." in first


def test_a_name_that_is_markup_is_shown_and_not_obeyed(
    study: Study, concluder: Callable[..., Analysis]
) -> None:
    evil = "<b>x</b><script>alert(1)</script>"
    renamed = rename(study, "hindsight", evil)
    text = render(dataclasses.replace(renamed, analysis=concluder(renamed)))
    assert "<b>" not in text
    assert "<script>alert" not in text
    assert text.count("<script>") == 1
    assert Outline(text).faults == []
    assert "&lt;b&gt;x&lt;/b&gt;" in text


def rename(study: Study, old: str, new: str) -> Study:
    def card(item: ConditionCard) -> ConditionCard:
        return dataclasses.replace(item, id=new) if item.id == old else item

    def cell(item: Slot) -> Slot:
        return dataclasses.replace(item, condition=new) if item.condition == old else item

    def run(item: RunRecord) -> RunRecord:
        return dataclasses.replace(item, condition=new) if item.condition == old else item

    return dataclasses.replace(
        study,
        conditions=tuple(map(card, study.conditions)),
        design=dataclasses.replace(study.design, cells=tuple(map(cell, study.design.cells))),
        runs=tuple(map(run, study.runs)),
    )


def test_a_thousand_runs_fit_into_five_megabytes(builder: Callable[..., Study]) -> None:
    study = builder(blocks=48)
    assert len(study.runs) == 1008
    assert len(render(study).encode()) < 5_000_000
