"""A whole analysis: the same from any order and under any names, and through JSON and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from equipoise_stats import Analysis, Hypothesis, Question, RunScore, StatsError, TaskScore, analyse

Runs = Callable[..., list[RunScore]]
NAMES = ("outcome", "gigpo", "carl", "oracle", "random")
QUESTION = Question(
    "outcome",
    NAMES,
    controls={"oracle": "positive", "random": "negative"},
    identical=frozenset({"outcome"}),
    hypotheses=(Hypothesis("H1", "gigpo helps", "content", "gigpo"),),
)
TASKS = 6


def suite(seed: int = 0, blocks: int = 5, twins: int = 1) -> tuple[list[RunScore], list[TaskScore]]:
    """Success by task: blocks, tasks and runs vary; gigpo and oracle have content, carl has volume."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0, 0.1, TASKS)
    runs, tasks = [], []
    for block in range(blocks):
        level = 0.45 + rng.normal(0, 0.04)
        for name in NAMES:
            for arm in ("native", "matched", "twin"):
                if (name, arm) == ("outcome", "twin"):
                    continue
                for twin in range(twins if arm == "twin" else 1):
                    gain = 0.15 * (name in ("gigpo", "oracle") and arm != "twin")
                    gain += 0.15 * ((name, arm) == ("carl", "native"))
                    chance = np.clip(level + gain + ease + rng.normal(0, 0.03), 0, 1)
                    wins = rng.binomial(40, chance)
                    runs.append(
                        RunScore(name, arm, twin, block, float(wins.sum() / (40 * TASKS)), 40 * TASKS)
                    )
                    tasks += [TaskScore(name, arm, twin, block, t, int(w), 40) for t, w in enumerate(wins)]
    return runs, tasks


@pytest.fixture(scope="module")
def analysis() -> Analysis:
    runs, tasks = suite()
    return analyse(runs, tasks, QUESTION, dict.fromkeys(range(5), 0.3))


def test_true_content_is_found_and_true_volume_is_not_taken_for_it(analysis: Analysis) -> None:
    assert analysis.contrast("gigpo", "content").verdict.startswith("superior")
    assert analysis.contrast("carl", "content").verdict in ("inconclusive", "equivalent")
    assert analysis.contrast("carl", "volume").verdict.startswith("superior")
    assert analysis.hypotheses[0].verdict == "CONFIRMED"
    assert [control.passed for control in analysis.controls] == [True, True]
    assert not analysis.void


def test_the_order_of_records_changes_nothing(analysis: Analysis) -> None:
    runs, tasks = suite()
    order = np.random.default_rng(1).permutation(len(runs))
    shuffled = analyse(
        [runs[i] for i in order], tasks[::-1], QUESTION, dict.fromkeys(reversed(range(5)), 0.3)
    )
    assert shuffled.to_json() == analysis.to_json()


def test_names_change_nothing_but_names(analysis: Analysis) -> None:
    # numeric-looking and reversed in the alphabet, the baseline last
    names = dict(zip(NAMES, ("9", "7", "5e3", "3.0", "-1"), strict=True))
    runs, tasks = suite()
    question = replace(
        QUESTION,
        baseline=names["outcome"],
        conditions=tuple(names[c] for c in NAMES),
        controls={names[c]: role for c, role in QUESTION.controls.items()},
        identical=frozenset({names["outcome"]}),
        hypotheses=(Hypothesis("H1", "gigpo helps", "content", names["gigpo"]),),
    )
    renamed = analyse(
        [replace(r, condition=names[r.condition]) for r in runs],
        [replace(t, condition=names[t.condition]) for t in tasks],
        question,
        dict.fromkeys(range(5), 0.3),
    )
    for ours, theirs in zip(analysis.contrasts, renamed.contrasts, strict=True):
        blank = {"condition": "", "sentence": "", "vector": {}}
        assert replace(ours, **blank) == replace(theirs, **blank)  # type: ignore[arg-type]
    assert analysis.stratum is not None
    assert renamed.stratum is not None
    assert analysis.stratum.covariance == renamed.stratum.covariance
    assert analysis.cross_check == renamed.cross_check
    assert analysis.cell_level.contrasts
    for level in ("run_level", "cell_level", "task_population"):
        assert [replace(c, condition="") for c in getattr(analysis, level).contrasts] == [
            replace(c, condition="") for c in getattr(renamed, level).contrasts
        ]


def test_an_analysis_goes_through_json_and_back(analysis: Analysis) -> None:
    text = analysis.to_json()
    assert Analysis.from_json(text) == analysis
    assert Analysis.from_json(text).to_json() == text


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"alpha": "big"}, "Analysis.alpha: expected float, got str"),
        ({"engine": 3}, "Analysis.engine: expected str, got int"),
        ({"blocks": [1, True]}, r"Analysis.blocks\[1\]: expected int, got bool"),
        ({"stranger": 1}, "unknown fields \\['stranger'\\]"),
    ],
)
def test_json_that_does_not_fit_is_refused_with_the_place(
    analysis: Analysis, change: dict[str, object], place: str
) -> None:
    text = json.dumps({**json.loads(analysis.to_json()), **change})
    with pytest.raises(StatsError, match=place):
        Analysis.from_json(text)


def test_text_that_is_no_json_is_refused() -> None:
    with pytest.raises(StatsError, match="expected the JSON of Analysis"):
        Analysis.from_json("{")


def test_anyone_can_recompute_a_contrast_from_what_is_written(analysis: Analysis) -> None:
    plain = json.loads(analysis.to_json())
    means = {f"{c['condition']}.{c['arm']}": c["mean"] for c in plain["cells"]}
    names = plain["stratum"]["cells"]
    pooled, own = (np.array(plain["stratum"][name]) for name in ("covariance", "sample_covariance"))
    for found in plain["contrasts"]:
        if found["vector"]:
            vector = np.array([found["vector"].get(name, 0) for name in names])
            estimate = sum(weight * means[name] for name, weight in found["vector"].items())
            assert estimate == pytest.approx(found["estimate"], abs=1e-12)
            assert found["se"] == found["m1h"]["se"]
            assert np.sqrt(vector @ own @ vector) == pytest.approx(found["se"], rel=1e-9)
            assert np.sqrt(vector @ pooled @ vector) == pytest.approx(found["m0"]["se"], rel=1e-9)


def test_the_second_engine_agrees(analysis: Analysis) -> None:
    assert analysis.cross_check.flag == "agree"


def test_the_crossed_model_of_balanced_task_scores_equals_the_run_means(analysis: Analysis) -> None:
    assert analysis.cell_level.status == "fitted"
    for found in analysis.cell_level.contrasts:
        primary = analysis.contrast(found.condition, found.kind)
        assert found.estimate == pytest.approx(primary.estimate, abs=1e-6)
        assert primary.m0 is not None
        assert found.se == pytest.approx(primary.m0.se, rel=1e-2)


def test_the_crossed_model_says_what_lies_at_the_boundary_and_keeps_it() -> None:
    runs, _ = suite()
    rng = np.random.default_rng(8)
    level = {(r.condition, r.arm, r.twin, r.block) for r in runs}
    # every run draws its successes alike: neither blocks nor runs vary
    flat = [
        TaskScore(*key, task, int(rng.binomial(40, 0.3 + 0.05 * task)), 40)
        for key in sorted(level)
        for task in range(TASKS)
    ]
    found = analyse(runs, flat, QUESTION, {}).cell_level
    assert found.status == "fitted"
    assert found.components is not None
    assert set(found.components) == {"block", "task", "run", "residual"}
    assert found.boundary
    assert {found.components[name] for name in found.boundary} == {0.0}
    assert found.certificate is not None
    assert found.certificate.kkt
    assert analyse(runs, (), QUESTION, {}).cell_level.reason == "no task scores"


def test_every_analysis_stands_in_the_specification_table(analysis: Analysis) -> None:
    rows = [r for r in analysis.specification if (r.condition, r.kind) == ("gigpo", "content")]
    assert [r.model for r in rows] == ["M0", "M1", "M1h", "M2", "M3", "M5", "M6", "M1r"]
    assert [r.model for r in rows if r.primary] == ["M1h"]
    assert {r.question for r in rows if r.model == "M3"} == {"task population"}
    by_model = {r.model: r for r in rows}
    content = analysis.contrast("gigpo", "content")
    assert (by_model["M1h"].verdict, by_model["M1h"].p_adjusted) == (content.verdict, content.p_adjusted)
    assert by_model["M1"].p == pytest.approx(by_model["M0"].p, rel=1e-5)
    assert by_model["M2"].p == pytest.approx(by_model["M0"].p, rel=1e-5)
    assert by_model["M1r"].agrees is None  # five blocks and one twin cannot reject
    assert by_model["M1r"].note == "cannot reject: the smallest possible p is 0.0625"
    assert by_model["M5"].estimate == pytest.approx(content.estimate, abs=0.01)


def test_several_twins_make_the_paired_analysis_primary_and_holm_its_decision() -> None:
    runs, _ = suite(twins=2)
    found = analyse(runs, (), QUESTION, {})
    content = found.contrast("gigpo", "content")
    assert (found.engine, found.multiplicity, content.engine) == ("paired", "holm", "paired")
    assert content.df == 4
    assert content.m1h is not None
    assert content.p == content.m1h.p
    assert content.m1r is not None
    assert content.m1r.floor == 1 / 3**5
    assert "the 2 twins of a block are averaged" in found.engine_sentence
    forced = analyse(runs, (), replace(QUESTION, engine="exact-stratum"), {})
    assert forced.engine == "exact-stratum"
    assert "approximate" in forced.engine_sentence


def test_figures_beside_the_primary_are_those_of_scipy(analysis: Analysis) -> None:
    from scipy import stats

    runs, _ = suite()
    scores = {(r.condition, r.arm, r.block): r.y for r in runs}
    rule, twin, native, native_0 = (
        np.array([scores[(*cell, b)] for b in range(5)])
        for cell in (("gigpo", "matched"), ("gigpo", "twin"), ("gigpo", "native"), ("outcome", "native"))
    )
    paired, content = stats.ttest_rel(rule, twin), analysis.contrast("gigpo", "content")
    assert content.m1h is not None
    assert content.m1h.p == pytest.approx(float(paired.pvalue), rel=1e-9)
    welch = stats.ttest_ind(native, native_0, equal_var=False)
    naive = next(rule for rule in analysis.naive.rules if rule.condition == "gigpo")
    assert naive.p == pytest.approx(float(welch.pvalue), rel=1e-9)
    assert naive.df == pytest.approx(float(welch.df), rel=1e-9)


def test_learning_is_the_matched_baseline_over_the_base_policy(analysis: Analysis) -> None:
    assert analysis.learning.figures is not None
    runs, _ = suite()
    matched = [r.y for r in runs if (r.condition, r.arm) == ("outcome", "matched")]
    assert analysis.learning.figures.estimate == pytest.approx(np.mean(matched) - 0.3)
    assert "taught something" in analysis.learning.sentence
    assert "cannot be judged" in analyse(runs, (), QUESTION, {0: 0.3}).learning.sentence


def test_diverged_runs_stay_in_and_are_counted() -> None:
    runs, _ = suite()
    runs[3] = replace(runs[3], y=0.3, diverged=True)
    found = analyse(runs, (), QUESTION, {})
    assert sum(cell.diverged for cell in found.cells) == 1
    assert found.blocks == (0, 1, 2, 3, 4)
    assert any("1 of 70 runs diverged" in note for note in found.notes)


def test_the_digest_names_the_data_and_not_their_order(analysis: Analysis) -> None:
    runs, tasks = suite()
    same = analyse(runs[::-1], tasks, QUESTION, dict.fromkeys(range(5), 0.3)).data_sha256
    other = analyse(runs, tasks, QUESTION, dict.fromkeys(range(5), 0.31)).data_sha256
    assert same == analysis.data_sha256 != other
