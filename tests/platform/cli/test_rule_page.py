"""The page of cards is made from the registry, and the copy in the documentation is what it makes."""

from pathlib import Path

import pytest

from equipoise.cli.rule_page import markdown
from equipoise_conditions import RULES
from equipoise_conditions.survey import METHODS

PAGE = Path(__file__).parents[3] / "docs" / "rules.md"


@pytest.mark.tree
def test_the_documentation_shows_the_cards_of_this_code() -> None:
    assert PAGE.read_text("utf-8") == markdown(), "make it again: `equipoise rules page > docs/rules.md`"


def test_a_line_ends_in_one_full_stop_and_an_empty_preset_is_the_defaults() -> None:
    page = markdown()
    assert ".." not in page.replace("...", "")
    assert " is ." not in page
    assert "- `preset: verl` is the defaults." in page


def test_every_rule_and_every_method_of_the_survey_is_on_the_page() -> None:
    page = markdown()
    for name, rule in RULES.items():
        assert f"### `{name}`: {rule.card.title}" in page
        assert rule.card.formula in page
    for method in METHODS:
        assert f"| {method.number} | {method.name} |" in page
    assert "formula not recovered" in page
    assert "leave-one-out" in page.split("### `sharp`")[1].split("###")[0], "what SHARP's name hides"
    assert "dose" in page.split("### `carl`")[1].split("###")[0], "what 72 % fewer updates are"
