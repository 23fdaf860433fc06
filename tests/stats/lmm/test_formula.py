"""Formulas in lme4's notation, read against data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_stats import StatsError
from equipoise_stats.lmm import formula, notation, splines


def _runs() -> pd.DataFrame:
    rules, arms, seeds = ["prm", "grpo", "gae"], ["matched", "native"], ["1", "2"]
    rows = [(rule, arm, seed) for rule in rules for arm in arms for seed in seeds]
    frame = pd.DataFrame(rows, columns=["rule", "arm", "seed"])
    frame["score"] = np.arange(len(rows), dtype=float)
    frame["steps"] = np.tile([1.0, 2.0, 4.0, 8.0], 3)
    frame["run"] = [f"r{k}" for k in range(len(rows))]
    return frame


BASE = {"rule": "grpo", "arm": "matched"}


def test_columns_are_named_as_r_names_them_with_the_baseline_left_out() -> None:
    made = formula.read("score ~ rule * arm + (1 | seed)", _runs(), baseline=BASE)
    assert made.names == (
        "(Intercept)",
        "rulegae",
        "ruleprm",
        "armnative",
        "rulegae:armnative",
        "ruleprm:armnative",
    )


def test_a_row_of_the_design_says_which_cell_it_is() -> None:
    made = formula.read("score ~ rule * arm + (1 | seed)", _runs(), baseline=BASE)
    # Row 2 is prm, native.
    assert made.X[2].tolist() == [1, 0, 1, 1, 0, 1]


def test_cell_means_need_no_baseline() -> None:
    made = formula.read("score ~ 0 + rule + (1 | seed)", _runs())
    assert made.names == ("rulegae", "rulegrpo", "ruleprm")


def test_transforms_keep_the_names_they_are_written_with() -> None:
    made = formula.read("log(score + 1) ~ I(steps^2) + log(steps) + ns(steps, 2) + (1 | seed)", _runs())
    assert made.names == ("(Intercept)", "I(steps^2)", "log(steps)", "ns(steps, 2)1", "ns(steps, 2)2")
    assert made.y[3] == pytest.approx(np.log(4.0))


def test_new_rows_use_the_knots_and_levels_of_the_old_ones() -> None:
    made = formula.read("score ~ rule + ns(steps, 2) + (1 | seed)", _runs(), baseline=BASE)
    again = made.design.rows([{"rule": "prm", "steps": 1.0}, {"rule": "prm", "steps": 2.0}])
    assert again == pytest.approx(made.X[:2])


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        ("(1 | seed)", [("seed", ("(Intercept)",))]),
        ("(1 | rule:seed)", [("rule:seed", ("(Intercept)",))]),
        ("(1 | rule/seed)", [("rule", ("(Intercept)",)), ("seed:rule", ("(Intercept)",))]),
        ("(steps | seed)", [("seed", ("(Intercept)", "steps"))]),
        ("(1 + steps | seed)", [("seed", ("(Intercept)", "steps"))]),
        ("(0 + steps | seed)", [("seed", ("steps",))]),
        ("(steps || seed)", [("seed", ("(Intercept)",)), ("seed", ("steps",))]),
        ("((1 | seed) + (0 + steps | seed))", [("seed", ("(Intercept)",)), ("seed", ("steps",))]),
    ],
)
def test_every_form_of_random_term_is_read(term: str, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    made = formula.read(f"score ~ 1 + {term}", _runs())
    assert [(random.name, random.columns) for random in made.terms] == expected


def test_groups_of_a_combination_are_the_pairs_that_occur() -> None:
    frame = _runs().iloc[:5]
    (term,) = formula.read("score ~ 1 + (1 | rule:seed)", frame).terms
    assert set(term.levels) == {"prm:1", "prm:2", "grpo:1"}
    assert [term.levels[code] for code in term.codes] == ["prm:1", "prm:2", "prm:1", "prm:2", "grpo:1"]


def test_labels_that_look_like_numbers_stay_labels() -> None:
    made = formula.read("score ~ seed + (1 | rule)", _runs(), baseline={"seed": "2"})
    assert made.names == ("(Intercept)", "seed1")


def test_levels_that_look_like_code_are_only_labels() -> None:
    frame = _runs().replace({"rule": {"prm": "a:b[T.0]", "gae": "v1 + x", "grpo": "1"}})
    made = formula.read("score ~ rule + (1 | seed)", frame, baseline={"rule": "1"})
    assert made.names == ("(Intercept)", "rulea:b[T.0]", "rulev1 + x")


def test_ordered_categories_are_coded_by_orthogonal_polynomials() -> None:
    frame = _runs()
    frame["rule"] = pd.Categorical(frame["rule"], categories=["grpo", "gae", "prm"], ordered=True)
    made = formula.read("score ~ rule + (1 | seed)", frame)
    assert made.names == ("(Intercept)", "rule.L", "rule.Q")
    # Row 0 is prm, the last of three: (1/sqrt 2, 1/sqrt 6).
    assert made.X[0] == pytest.approx([1.0, 1 / np.sqrt(2), 1 / np.sqrt(6)])


def test_names_with_dots_and_columns_after_the_functions_of_r_are_columns() -> None:
    frame = _runs().rename(columns={"score": "Informed.liking", "steps": "log"})
    made = formula.read("Informed.liking ~ log + log(log) + (1 | seed)", frame)
    assert made.names == ("(Intercept)", "log", "log(log)")


def test_every_fault_of_a_call_is_said_at_once() -> None:
    frame = _runs()
    frame.loc[3, "score"] = np.nan
    with pytest.raises(StatsError) as caught:
        formula.read(
            "score ~ ruel + foo(steps) + (1 | sed) + 1 | rule",
            frame,
            baseline={"rule": "ppo", "stage": "x"},
            unique=("steps",),
        )
    said = "\n".join(caught.value.faults)
    for part in (
        "'ruel'; did you mean 'rule'",
        "foo()",
        "'sed'; did you mean 'seed'",
        "in brackets, such as (1 | seed)",
        "score: expected a value in every row, got none in 1 (rows 3)",
        "one row for each steps, got 8 repeated",
        "got 'stage'",
    ):
        assert part in said


def test_a_factor_without_a_named_baseline_is_refused_with_its_levels() -> None:
    with pytest.raises(StatsError, match=r"factor rule: expected its baseline by name.*gae, grpo, prm"):
        formula.read("score ~ rule + (1 | seed)", _runs())


def test_a_baseline_that_is_no_level_is_refused_with_the_nearest() -> None:
    with pytest.raises(StatsError, match="got 'gro'; did you mean 'grpo'"):
        formula.read("score ~ rule + (1 | seed)", _runs(), baseline={"rule": "gro"})


def test_a_run_that_stands_twice_is_refused() -> None:
    frame = pd.concat([_runs(), _runs().iloc[:1]], ignore_index=True)
    with pytest.raises(
        StatsError, match=r"one row for each run, got 1 repeated .the first: run r0 in row 12"
    ):
        formula.read("score ~ 1 + (1 | seed)", frame, unique=("run",))


def test_a_factor_with_one_level_is_refused() -> None:
    with pytest.raises(StatsError, match="factor arm: expected at least 2 levels, got only 'native'"):
        formula.read("score ~ arm + (1 | seed)", _runs().query("arm == 'native'"), baseline={"arm": "native"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("score", "one '~'"),
        ("score ~ (1 | seed", "bracket"),
        ("score ~ rule", "at least one random term"),
        ("score ~ rule - (1 | seed)", "never dropped"),
        ("score ~ rule + (1 | f(seed))", "joined by ':' or '/'"),
        ("score ~ rule + ( | seed)", "before the |"),
        ("score ~ rule + (1 | a | b)", "one | or ||"),
    ],
)
def test_a_formula_that_cannot_be_read_is_refused(text: str, said: str) -> None:
    with pytest.raises(StatsError) as caught:
        notation.parse(text)
    assert said in str(caught.value)


@given(st.permutations(range(12)))
@settings(max_examples=10, deadline=None)
def test_permuted_rows_give_permuted_designs(order: list[int]) -> None:
    text = "score ~ rule * steps + (1 | rule:seed)"
    made = formula.read(text, _runs(), baseline=BASE)
    turned = formula.read(text, _runs().iloc[order], baseline=BASE)
    assert pytest.approx(made.X[order]) == turned.X
    assert [turned.terms[0].levels[k] for k in turned.terms[0].codes] == [
        made.terms[0].levels[k] for k in made.terms[0].codes[order]
    ]


def test_natural_splines_are_straight_outside_and_reproduce_lines() -> None:
    x = np.linspace(0.0, 9.0, 40)
    knots = splines.natural_knots(x, 3)
    basis = splines.natural_basis(np.concatenate([x, [-3.0, -2.0, -1.0, 10.0, 11.0, 12.0]]), knots)
    assert np.diff(basis[40:43], n=2, axis=0) == pytest.approx(np.zeros((1, 3)), abs=1e-12)
    assert np.diff(basis[43:46], n=2, axis=0) == pytest.approx(np.zeros((1, 3)), abs=1e-12)
    design = np.column_stack([np.ones(40), basis[:40]])
    fitted = design @ np.linalg.lstsq(design, 2 * x + 1, rcond=None)[0]
    assert fitted == pytest.approx(2 * x + 1)


def test_more_spline_columns_than_distinct_values_are_refused() -> None:
    with pytest.raises(StatsError, match="between 1 and 2 degrees of freedom for 3 distinct values, got 3"):
        splines.natural_knots(np.array([1.0, 2.0, 3.0, 3.0]), 3)
