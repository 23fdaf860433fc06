import re
from dataclasses import replace

import pytest

from equipoise_conditions import RULES
from equipoise_conditions.errors import RuleError
from equipoise_conditions.survey import (
    IMPLEMENTED,
    JUDGE_DEFINED,
    METHODS,
    STATUSES,
    UNRECOVERED,
    Method,
    unrecovered,
)

EVERY = pytest.mark.parametrize("method", METHODS, ids=[method.id for method in METHODS])


def test_the_survey_has_exactly_its_47_methods() -> None:
    assert [method.number for method in METHODS] == list(range(1, 48))
    for column in ("id", "name", "arxiv", "mechanism"):
        assert len({getattr(method, column) for method in METHODS}) == 47, column


@EVERY
def test_a_method_is_told_in_full(method: Method) -> None:
    assert all((method.setting, method.category, method.granularity, method.methodology, method.mechanism))
    assert all(re.fullmatch(r"\d{4}\.\d{5}", number) for number in (method.arxiv, *method.other_arxiv))
    assert method.year in (2024, 2025, 2026)
    assert method.status in STATUSES
    assert method.note or not method.other_arxiv, "a second identifier is explained"


@EVERY
def test_the_rule_of_a_method_exists_and_takes_its_parameters(method: Method) -> None:
    for name in method.also:
        assert name in RULES
    if method.rule is None:
        assert method.params == {}
        return
    rule = RULES[method.rule]
    rule.validate(method.params)
    cited = "".join(RULES[name].card.source for name in (method.rule, *method.also))
    assert method.arxiv in cited, f"the card of '{method.rule}' cites {cited}"


def test_nothing_is_made_up_where_no_formula_is_known() -> None:
    missing = unrecovered()
    assert [method.number for method in missing] == [11, 13, 14, 15, 20, 30, 34, 38, 39, 40, 41, 44]
    assert sum(method.status == UNRECOVERED for method in missing) == 11
    assert {method.status for method in METHODS if method.rule} == {IMPLEMENTED, JUDGE_DEFINED}


def test_a_status_that_contradicts_the_rule_is_refused() -> None:
    with pytest.raises(RuleError, match="a rule exactly where it is implemented"):
        replace(METHODS[0], status=UNRECOVERED)
