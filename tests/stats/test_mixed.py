"""Ragged layouts: the mixed model against the exact stratum where they must agree, and where only it can tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats import Analysis, Question, RunScore, analyse
from equipoise_stats.drafts import Engine, draft_all, tabulate

NAMES = ("base", "a", "b")
QUESTION = Question("base", NAMES)


def records(blocks: int = 6, spread: float = 0.05, seed: int = 3) -> list[RunScore]:
    rng = np.random.default_rng(seed)
    level = rng.normal(0.5, spread, blocks)
    return [
        RunScore(
            c,
            arm,
            0,
            block,
            float(level[block] + 0.1 * (c == "a" and arm == "matched") + rng.normal(0, 0.02)),
            100,
        )
        for block in range(blocks)
        for c in NAMES
        for arm in ("native", "matched", "twin")
    ]


def without(runs: list[RunScore], *gone: tuple[str, str, int]) -> list[RunScore]:
    return [r for r in runs if (r.condition, r.arm, r.block) not in gone]


def test_balanced_runs_give_the_closed_form_under_the_mixed_model() -> None:
    found = analyse(records(), (), QUESTION, {})
    assert found.engine == "both"
    for c in found.contrasts:
        assert c.m0 is not None
        assert c.m1 is not None
        assert c.m1_kr is not None
        assert c.m1.estimate == pytest.approx(c.m0.estimate, abs=1e-12)
        assert c.m1.se == pytest.approx(c.m0.se, rel=1e-7)
        assert c.m1.df == pytest.approx(c.m0.df, rel=1e-6)
        assert c.m1_kr.df == pytest.approx(c.m0.df, rel=1e-6)


def test_a_missing_run_costs_its_cell_and_not_its_block() -> None:
    runs = without(records(), ("b", "native", 2))
    found = analyse(runs, (), QUESTION, {})
    assert found.engine == "both"
    assert "1 of 6 blocks are incomplete" in found.engine_sentence
    content = found.contrast("a", "content")
    assert content.m0 is not None
    assert content.m1 is not None
    assert content.m1h is not None
    assert (content.m0.df, content.m1h.df) == (8 * 4, 5)  # the stratum loses the block, the pairs do not
    assert (content.se, content.df) == (content.m1h.se, 5)
    assert content.m1.df > content.m0.df
    assert content.m1.se < content.m0.se * 1.2
    assert any(note.startswith("block 2 is incomplete") for note in found.notes)
    assert Analysis.from_json(found.to_json()) == found


def test_the_mixed_model_and_the_pairs_must_agree_where_blocks_are_incomplete() -> None:
    runs = without(records(), ("b", "native", 2))
    weaker: set[str] = set()
    for c in analyse(runs, (), QUESTION, {}).contrasts:
        assert c.m1 is not None
        assert c.m1h is not None
        alone, pooled, factor = c.m1h.p or 1.0, c.m1.p or 1.0, 2.0 if c.in_family else 1.0
        pairs = min(1.0, factor * alone)  # of two members both may be noisy
        assert c.p_adjusted is not None
        assert c.p_adjusted >= max(pairs, pooled) - 1e-12
        if c.p_adjusted != pairs:  # the mixed model's larger p decides, of one or two t
            assert c.p_adjusted <= factor * pooled
        weaker.add("pairs" if c.p_adjusted == pairs else "mixed model")
    assert weaker == {"pairs", "mixed model"}


def test_a_seed_that_one_rule_lacks_keeps_its_other_cells() -> None:
    gone = [("a", arm, 4) for arm in ("native", "matched", "twin")]
    found = analyse(without(records(), *gone), (), QUESTION, {})
    b = found.contrast("b", "content").m1h
    a = found.contrast("a", "content").m1h
    assert a is not None
    assert b is not None
    assert (a.df, b.df) == (4, 5)


def test_a_cell_with_one_run_is_estimated_with_the_error_of_all() -> None:
    gone = [("a", "twin", block) for block in range(1, 6)]
    content = analyse(without(records(), *gone), (), QUESTION, {}).contrast("a", "content")
    assert content.m1h is None
    assert content.m1 is not None
    assert (content.estimate, content.se) == (content.m1.estimate, content.m1.se)
    assert (content.verdict, content.p_adjusted) == ("inconclusive", None)
    assert "too few blocks have its cells for its pairs and the pooled error to agree" in content.sentence
    assert content.m1r is None


def test_a_cell_without_any_run_is_not_estimable_and_never_zero() -> None:
    gone = [("a", "twin", block) for block in range(6)]
    found = analyse(without(records(), *gone, ("b", "twin", 0)), (), QUESTION, {})
    for kind in ("content", "shape"):
        contrast = found.contrast("a", kind)
        assert contrast.verdict == "not estimable"
        assert contrast.estimate is None
        assert contrast.reasons == ("a.twin has no run",)
    assert found.contrast("a", "volume").estimate is not None


def test_renamed_levels_and_permuted_rows_change_no_digit_of_the_mixed_model() -> None:
    runs = without(records(), ("b", "native", 2), ("a", "twin", 5))
    names = {"base": "10", "a": "9", "b": "1e1"}
    renamed = [replace(r, condition=names[r.condition]) for r in runs]
    order = np.random.default_rng(5).permutation(len(runs))
    one = analyse(runs, (), QUESTION, {})
    two = analyse([renamed[i] for i in order], (), Question("10", ("10", "9", "1e1")), {})
    for ours, theirs in zip(one.contrasts, two.contrasts, strict=True):
        assert (ours.estimate, ours.se, ours.df, ours.p_adjusted) == (
            theirs.estimate,
            theirs.se,
            theirs.df,
            theirs.p_adjusted,
        )


def test_no_variation_leaves_the_mixed_model_without_a_fit_and_says_so() -> None:
    runs = without([replace(r, y=1.0) for r in records()], ("b", "native", 2))
    table = tabulate(runs, QUESTION)
    assert isinstance(table.mixed, str)
    assert table.mixed == "no score varies within its cell"
    drafts = draft_all(table, QUESTION, Engine("mixed", max_t=True, sentence=""))
    assert {d.verdict for d in drafts.values()} == {"not estimable"}
    assert "error pooled over 9 cells" in analyse(runs, (), QUESTION, {}).engine_sentence
