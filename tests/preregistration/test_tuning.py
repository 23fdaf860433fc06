"""The section `tuning`: what it may say, the points it stands for, and the amendment that ends the search."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise_conditions.errors import RuleError
from equipoise_preregistration import (
    ChainError,
    NotRegisteredError,
    SuiteError,
    derive_seed,
    find_registration,
    load_suite,
    parse_suite,
    register,
    registrations,
    verify_chain,
)
from equipoise_preregistration.chain import FILE
from equipoise_preregistration.code import CodeVersion
from equipoise_preregistration.points import at, draw_points, tuning_seeds
from equipoise_preregistration.registration import Surroundings
from equipoise_preregistration.registry import amend, amendments
from equipoise_preregistration.tuning import Dimension, Tuning

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
AROUND = Surroundings(
    CodeVersion("0.1.0", "c0ffee", dirty=False, sources=None), ("numpy==2.2",), "3.11.7", "x86_64"
)


def with_gamma(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """A rule with a number from 0 to 1 and a whole number."""
    unknown = [name for name in given if name not in ("gamma", "forks")]
    gamma, forks = given.get("gamma", 1.0), given.get("forks", 4)
    if unknown:
        message = f"unknown parameter {unknown[0]!r}"
        raise RuleError(message)
    if not 0 <= gamma <= 1:
        message = f"gamma: expected a number from 0 to 1, got {gamma}"
        raise RuleError(message)
    if forks != int(forks):
        message = f"forks: expected a whole number, got {forks}"
        raise RuleError(message)
    return {"gamma": gamma, "forks": forks}


def without(given: Mapping[str, Any]) -> Mapping[str, Any]:
    if given:
        message = f"unknown parameter {next(iter(given))!r}; this rule takes none"
        raise RuleError(message)
    return {}


RULES = {"grpo": without, "gigpo": with_gamma}

TEXT = """\
name: tiny
conditions:
  - {id: outcome, rule: grpo, baseline: true}
  - {id: gigpo, rule: gigpo}
budget: {examples: 64, optimizer_steps: 4}
blocks: 2
"""

TUNED = (
    TEXT
    + """\
tuning:
  trials: 8
  space:
    training.learning_rate: {low: 1.0e-4, high: 1.0e-2, log: true}
    training.clip: {choices: [null, [0.2, 0.2]]}
    forks: {type: int, low: 2, high: 5}
    gamma: {low: 0.5, high: 1.0}
"""
)


def faults(tuning: str) -> str:
    with pytest.raises(SuiteError) as caught:
        parse_suite(f"{TEXT}tuning: {tuning}\n".encode(), "suite.yaml", rules=RULES)
    return str(caught.value)


def test_a_search_reads_as_it_is_written() -> None:
    tuning = parse_suite(TUNED.encode(), "suite.yaml", rules=RULES).tuning
    assert (tuning.trials, tuning.blocks, tuning.sampler, tuning.pruner) == (8, 2, "qmc", "none")
    assert tuning.names == ("forks", "gamma", "training.clip", "training.learning_rate")
    assert tuning.space["training.clip"].type == "categorical"
    assert tuning.space["gamma"] == Dimension(low=0.5, high=1.0)


def test_without_the_section_nothing_is_searched() -> None:
    suite = parse_suite(TEXT.encode(), "suite.yaml", rules=RULES)
    assert suite.tuning == Tuning()
    assert draw_points(suite.tuning, suite.seed) == ()
    assert tuning_seeds(suite.tuning, suite.seed) == {}


@pytest.mark.parametrize(
    ("tuning", "words"),
    [
        ("{trials: 4}", "expected dimensions under `space`, got none"),
        ("{space: {gamma: {low: 0.1, high: 0.9}}}", "expected at least one trial of the space, got 0"),
        ("{trials: 2, space: {gama: {low: 0.1, high: 0.9}}}", "did you mean 'gamma'?"),
        ("{trials: 2, space: {learning_rate: {low: 0.1, high: 0.9}}}", "write training.learning_rate"),
        ("{trials: 2, space: {training.learning_rat: {low: 0.1, high: 0.9}}}", "'training.learning_rate'?"),
        (
            "{trials: 2, space: {training.learning_rate: {low: 0.0, high: 0.9}}}",
            "training.learning_rate takes",
        ),
        ("{trials: 2, space: {gamma: {low: 0.1, high: 1.9}}}", "the rule 'gigpo' takes"),
        ("{trials: 2, space: {forks: {low: 2, high: 8}}}", "for whole numbers write `type: int`"),
        ("{trials: 2, space: {gamma: {low: 0.9, high: 0.1}}}", "expected low below high, got 0.9 and 0.1"),
        ("{trials: 2, space: {gamma: {low: 0.0, high: 0.1, log: true}}}", "above 0 where `log: true`"),
        ("{trials: 2, space: {gamma: {low: 0.1}}}", "expected low and high (or choices)"),
        ("{trials: 2, space: {gamma: {choices: [0.1]}}}", "expected at least two choices, got 1"),
        ("{trials: 2, space: {gamma: {choices: [0.1, 0.1]}}}", "expected every choice once"),
        ("{trials: 2, space: {gamma: {choices: [0.1, 0.2], low: 0.1}}}", "expected choices alone"),
        ("{trials: 2, space: {forks: {type: int, low: 1.5, high: 3}}}", "expected whole ends"),
        ("{trials: 2, space: {gamma: {low: 0.1, high: 0.9, lag: true}}}", "did you mean 'log'?"),
        ("{trials: 2, pruner: median, space: {gamma: {low: 0.1, high: 0.9}}}", "expected one of 'none'"),
    ],
)
def test_a_faulty_search_is_refused_with_what_would_mend_it(tuning: str, words: str) -> None:
    assert words in faults(tuning)


def test_all_faults_of_a_space_are_said_at_once() -> None:
    said = faults("{trials: 2, space: {gama: {low: 0.1, high: 0.9}, gamma: {low: 2.0, high: 3.0}}}")
    assert "gama" in said
    assert "got 2.0" in said


def test_points_cover_the_space_and_are_the_same_every_time() -> None:
    suite = parse_suite(TUNED.encode(), "suite.yaml", rules=RULES)
    points = draw_points(suite.tuning, suite.seed)
    assert points == draw_points(suite.tuning, suite.seed)
    assert points != draw_points(suite.tuning, suite.seed + 1)
    assert len(points) == 8
    # A scrambled Sobol sequence puts exactly one of its first eight points into each eighth of each axis.
    eighths = sorted(int((float(str(point["gamma"])) - 0.5) / 0.5 * 8) for point in points)
    assert eighths == list(range(8))
    assert {point["forks"] for point in points} <= {2, 3, 4, 5}
    assert sum(point["training.clip"] is None for point in points) == 4


def test_the_order_in_which_dimensions_are_written_changes_no_point() -> None:
    suite = parse_suite(TUNED.encode(), "suite.yaml", rules=RULES)
    turned = dict(reversed(suite.tuning.space.items()))
    assert draw_points(suite.tuning.model_copy(update={"space": turned}), 0) == draw_points(suite.tuning, 0)


@pytest.mark.parametrize(("sampler", "number"), [("qmc", 5), ("random", 5), ("tpe", 3)])
def test_tpe_leaves_half_of_its_trials_to_be_proposed(sampler: str, number: int) -> None:
    tuning = Tuning.model_validate(
        {"trials": 5, "sampler": sampler, "space": {"gamma": {"low": 0.0, "high": 1.0}}}
    )
    assert len(draw_points(tuning, 1)) == number


@pytest.mark.parametrize(
    ("dimension", "u", "expected"),
    [
        (Dimension(low=1.0, high=3.0), 0.25, 1.5),
        (Dimension(low=1e-4, high=1e-2, log=True), 0.5, 1e-3),
        (Dimension(type="int", low=2, high=5), 0.0, 2),
        (Dimension(type="int", low=2, high=5), 0.24, 2),
        (Dimension(type="int", low=2, high=5), 0.26, 3),
        (Dimension(type="int", low=2, high=5), 0.999, 5),
        (Dimension(type="categorical", choices=("a", None, 3)), 0.34, None),
        (Dimension(type="categorical", choices=("a", None, 3)), 0.99, 3),
    ],
)
def test_a_share_of_a_dimension_is_worked_out_by_hand(
    dimension: Dimension, u: float, expected: object
) -> None:
    assert at(dimension, u) == (pytest.approx(expected) if isinstance(expected, float) else expected)


@given(
    low=st.floats(1e-6, 1e3),
    factor=st.floats(1.0001, 1e3),
    u=st.floats(0.0, 1.0, exclude_max=True),
    log=st.booleans(),
)
def test_no_value_leaves_its_interval(low: float, factor: float, u: float, log: bool) -> None:
    value = at(Dimension(low=low, high=low * factor, log=log), u)
    assert isinstance(value, float)
    assert low <= value <= low * factor


def test_no_tuning_block_has_the_seed_of_a_confirmatory_one() -> None:
    tuning = Tuning.model_validate({"trials": 1, "blocks": 50, "space": {"g": {"low": 0.0, "high": 1.0}}})
    seeds = tuning_seeds(tuning, 7)
    assert seeds["tuning/3"] == derive_seed(7, "tuning", 3)
    assert not set(seeds.values()) & {derive_seed(7, "block", block) for block in range(1000)}


def test_points_and_seeds_stand_in_the_registration(tmp_path: Path) -> None:
    made = registered(tmp_path)
    suite = made.model
    assert made.points == draw_points(suite.tuning, suite.seed)
    assert made.seeds["tuning/1"] == derive_seed(suite.seed, "tuning", 1)
    assert registrations(tmp_path) == (made,)


def test_a_registration_without_a_search_says_nothing_of_points(tmp_path: Path) -> None:
    made = registered(tmp_path, TEXT)
    assert made.points == ()
    assert "points" not in made.as_json()


def registered(home: Path, text: str = TUNED) -> Any:
    path = home / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    return register(load_suite(path, rules=RULES), home, around=AROUND, now=NOON)


CONTENT = {"tuning": {"chosen": {"gigpo": {"gamma": 0.75}}}}


def test_an_amendment_is_chained_and_leaves_its_registration_as_it_was(tmp_path: Path) -> None:
    made = registered(tmp_path)
    added = amend(tmp_path, made.hash, "the search ended", CONTENT, now=NOON + timedelta(hours=1))
    after = registered(tmp_path, TEXT)
    report = verify_chain(tmp_path)
    assert report.broken is None
    assert report.registrations == (made, after)
    assert report.amendments == (added,)
    assert after.previous != made.previous
    assert find_registration(tmp_path, made.hash) == made
    assert amendments(tmp_path, made.hash) == (added,)
    assert amendments(tmp_path, after.hash) == ()


def test_the_same_amendment_again_is_one_line(tmp_path: Path) -> None:
    made = registered(tmp_path)
    first = amend(tmp_path, made.hash, "why", CONTENT, now=NOON)
    assert amend(tmp_path, made.hash, "why", CONTENT, now=NOON + timedelta(days=1)) == first
    assert len((tmp_path / FILE).read_text().splitlines()) == 2
    amend(tmp_path, made.hash, "another reason", CONTENT, now=NOON)
    assert len(amendments(tmp_path, made.hash)) == 2


def test_what_is_not_registered_cannot_be_amended(tmp_path: Path) -> None:
    registered(tmp_path)
    with pytest.raises(NotRegisteredError, match="to amend, got eq1:beef"):
        amend(tmp_path, "eq1:beef", "why", CONTENT)


@pytest.mark.parametrize(("reason", "content"), [(" ", CONTENT), ("why", {})])
def test_an_amendment_has_a_reason_and_a_content(
    tmp_path: Path, reason: str, content: dict[str, object]
) -> None:
    made = registered(tmp_path)
    with pytest.raises(SuiteError, match="with a reason and a content"):
        amend(tmp_path, made.hash, reason, content)


def test_a_time_without_a_zone_is_refused(tmp_path: Path) -> None:
    made = registered(tmp_path)
    with pytest.raises(SuiteError, match="without"):
        amend(tmp_path, made.hash, "why", CONTENT, now=datetime(2026, 1, 2))


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda lines: [lines[0], lines[1].replace("0.75", "0.5"), lines[2]], 2, "the line was changed"),
        (
            lambda lines: [lines[0], lines[1].replace('"why"', '"because"'), lines[2]],
            2,
            "the line was changed",
        ),
        (lambda lines: [lines[0], lines[2]], 2, "removed, added or moved"),
        (lambda lines: [lines[1], lines[0], lines[2]], 1, "of a registration before it|removed, added"),
        (lambda lines: [lines[0], lines[1].replace('"reason"', '"raison"'), lines[2]], 2, "something else"),
    ],
)
def test_a_changed_amendment_is_found(tmp_path: Path, change: Any, line: int, words: str) -> None:
    made = registered(tmp_path)
    amend(tmp_path, made.hash, "why", CONTENT, now=NOON)
    registered(tmp_path, TEXT)
    lines = (tmp_path / FILE).read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / FILE).write_text("".join(change(lines)), encoding="utf-8")
    broken = verify_chain(tmp_path).broken
    assert broken is not None
    assert broken.line == line
    assert any(word in broken.reason for word in words.split("|"))
    with pytest.raises(ChainError):
        amend(tmp_path, made.hash, "why", CONTENT)


def test_an_amendment_of_nothing_before_it_breaks_the_chain(tmp_path: Path) -> None:
    from equipoise_preregistration.amendment import draft_amendment
    from equipoise_preregistration.chain import GENESIS, chain_line

    (tmp_path / FILE).write_bytes(chain_line(draft_amendment("eq1:beef", "why", CONTENT, NOON, GENESIS)))
    broken = verify_chain(tmp_path).broken
    assert broken is not None
    assert "expected an amendment of a registration before it, got one of eq1:beef" in broken.reason
