import base64
import csv
import io
import re

from equipoise_reports import Study, exports
from equipoise_stats import Analysis


def test_the_csv_holds_every_run_in_full_precision(study: Study) -> None:
    rows = list(csv.DictReader(io.StringIO(exports.runs_csv(study))))
    assert len(rows) == 105
    by_key = {run.key: run for run in study.runs}
    for row in rows:
        run = by_key[row["key"]]
        assert float(row["primary"]) == run.primary
        assert int(row["slots"]) == run.dose.slots
        assert row["weights_digest"] == run.weights_digest


def test_the_analysis_comes_back_from_its_json(study: Study) -> None:
    assert Analysis.from_json(exports.analysis_json(study)) == study.analysis


def test_the_page_holds_the_exports_as_files(study: Study, page: str) -> None:
    files = dict(re.findall(r'download="([^"]+)" href="data:[^,"]+;base64,([^"]+)"', page))
    stem = study.registration.hash8
    assert set(files) == {
        f"{stem}-{name}"
        for name in ("runs.csv", "suite.yaml", "analysis.json", "decomposition.md", "decomposition.tex")
    }
    assert base64.b64decode(files[f"{stem}-runs.csv"]).decode() == exports.runs_csv(study)
    assert base64.b64decode(files[f"{stem}-suite.yaml"]).decode() == study.registration.suite_yaml


def test_the_markdown_table_is_rectangular(study: Study) -> None:
    lines = exports.decomposition_markdown(study).splitlines()
    assert len(lines) == 2 + 6
    assert {line.count("|") for line in lines} == {7}
    assert lines[0].startswith("| Condition | TOTAL | = CONTENT |")


def test_the_latex_table_uses_booktabs_and_escapes_what_latex_would_obey(study: Study) -> None:
    text = exports.decomposition_latex(study)
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    assert body.count(r"\\") == 6
    assert "−" not in text
    assert r"95~\%" in text
    assert r"$\geq$" in text
    assert not re.search(r"[^\x00-\x7f]", text)


def test_exports_are_the_same_twice(study: Study) -> None:
    assert exports.decomposition_latex(study) == exports.decomposition_latex(study)
    assert exports.runs_csv(study) == exports.runs_csv(study)
