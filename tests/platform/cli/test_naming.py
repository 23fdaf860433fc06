from pathlib import Path

import pytest

from equipoise.cli.naming import named
from equipoise_preregistration import SuiteError


def test_a_file_stands_for_the_suite_in_it(tmp_path: Path) -> None:
    text = (
        "name: small\nconditions:\n  - {id: outcome, rule: grpo, baseline: true}\n  - {id: hca, rule: hcapo}\n"
        "budget: {examples: 16, optimizer_steps: 4}\n"
    )
    file = tmp_path / "other.yaml"
    file.write_text(text, encoding="utf-8")
    assert named(str(file)) == "small"


@pytest.mark.parametrize("wanted", [None, "small", "a1b2c3", "missing.yaml"])
def test_names_and_hashes_stay_what_they_are(wanted: str | None) -> None:
    assert named(wanted) == wanted


def test_a_file_with_faults_is_told_with_all_of_them(tmp_path: Path) -> None:
    file = tmp_path / "bad.yaml"
    file.write_text("name: small\n", encoding="utf-8")
    with pytest.raises(SuiteError):
        named(str(file))
