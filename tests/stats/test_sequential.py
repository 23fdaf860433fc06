"""Looks: boundaries against published values, levels by simulation, evidence that may be read at any time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from equipoise_stats import Analysis, Question, RunScore, StatsError, analyse, sequential, student

# Two-sided 0.05 with equally spaced looks: ldbounds and gsDesign print the same.
OBF = {
    2: (2.9626, 1.9686),
    3: (3.7103, 2.5114, 1.9930),
    4: (4.3326, 2.9631, 2.3590, 2.0141),
    5: (4.8769, 3.3570, 2.6803, 2.2898, 2.0310),
}
POCOCK = {
    2: (2.157, 2.201),
    3: (2.279, 2.295, 2.296),
    4: (2.368, 2.368, 2.358, 2.350),
    5: (2.438, 2.427, 2.410, 2.397, 2.386),
}


def shares(looks: int) -> tuple[float, ...]:
    return tuple((look + 1) / looks for look in range(looks))


@pytest.mark.parametrize("looks", [2, 3, 4, 5])
def test_boundaries_are_the_published_ones(looks: int) -> None:
    level = np.array([0.05])
    assert sequential.boundaries(level, shares(looks), "obf")[0] == pytest.approx(OBF[looks], abs=6e-5)
    assert sequential.boundaries(level, shares(looks), "pocock")[0] == pytest.approx(POCOCK[looks], abs=6e-4)


def test_one_look_spends_all_at_once() -> None:
    for spending in ("obf", "pocock"):
        assert sequential.nominal_level(0.05, 0, (1.0,), spending) == pytest.approx(0.05, rel=1e-9)


def test_unequal_looks_and_the_level_by_simulated_brownian_paths() -> None:
    information = (0.2, 0.35, 0.8, 1.0)
    critical = sequential.boundaries(np.array([0.05]), information, "pocock")[0]
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(400_000, 4)) * np.sqrt(np.diff((0.0, *information)))
    z = steps.cumsum(axis=1) / np.sqrt(information)
    assert (np.abs(z) >= critical).any(axis=1).mean() == pytest.approx(0.05, abs=0.0012)


@pytest.mark.parametrize("spending", ["obf", "pocock"])
@pytest.mark.parametrize("look", [0, 1, 2, 3])
def test_a_p_value_on_the_boundary_has_the_level_of_the_plan(spending: str, look: int) -> None:
    for level in (0.05, 0.05 / 6, 0.2):
        p = sequential.nominal_level(level, look, shares(4), spending)
        path = (*[1.0] * look, p)
        assert sequential.sequential_p(path, shares(4), spending) == pytest.approx(level, rel=1e-3)


def test_what_was_crossed_stays_crossed() -> None:
    early = sequential.sequential_p((1e-6,), shares(4), "obf")
    assert early < 0.05
    assert sequential.sequential_p((1e-6, 0.9, 0.9), shares(4), "obf") == pytest.approx(early)
    assert sequential.sequential_p((1.0, 1.0), shares(4), "obf") == 1.0


def test_the_e_value_by_hand() -> None:
    # n = 3, t = 2: (1 + 3)^-1/2 ((1 + 4/2) / (1 + 4/8))^(3/2) = 2^(3/2) / 2
    assert float(sequential.e_value(2.0, 3)) == pytest.approx(2**1.5 / 2)
    assert float(sequential.e_value(0.0, 10)) == pytest.approx(11**-0.5)


def test_the_critical_t_of_the_e_process_inverts_it_or_does_not_exist() -> None:
    critical = sequential.e_critical(0.05, 10)
    assert critical is not None
    assert float(sequential.e_value(critical, 10)) == pytest.approx(20.0)
    assert sequential.e_critical(0.05, 3) is None  # its e value never exceeds (1 + 3)^((3 - 1) / 2) = 4


def test_false_claims_of_t_tests_at_four_looks() -> None:
    # naive looks at 5, 10, 15 and 20 blocks claim in 13 % of null suites
    rng = np.random.default_rng(2)
    x = rng.normal(size=(20_000, 20))
    p, evidence = [], []
    for blocks in (5, 10, 15, 20):
        part = x[:, :blocks]
        t = part.mean(axis=1) / part.std(axis=1, ddof=1) * np.sqrt(blocks)
        p.append(student.two_sided_p(t, blocks - 1))
        evidence.append(sequential.e_value(t, blocks))
    looked = np.column_stack(p)
    assert (looked <= 0.05).any(axis=1).mean() == pytest.approx(0.13, abs=0.01)
    for spending in ("obf", "pocock"):
        nominal = 2 * ndtr(-sequential.boundaries(np.array([0.05]), shares(4), spending)[0])
        assert (looked <= nominal).any(axis=1).mean() == pytest.approx(0.05, abs=0.006)
    assert (np.column_stack(evidence) >= 20).any(axis=1).mean() < 0.02


NAMES = ("base", "a", "b")
PLAN = Question("base", NAMES, looks=(4, 8, 12), spending="obf", look=8)


def records(gain: float, blocks: int = 12) -> list[RunScore]:
    rng = np.random.default_rng(7)
    return [
        RunScore(c, arm, 0, block, 0.5 + gain * (c == "a" and arm == "matched") + rng.normal(0, 0.02), 100)
        for block in range(blocks)
        for c in NAMES
        for arm in ("native", "matched", "twin")
    ]


def test_a_look_sees_the_first_blocks_only_and_says_which_look_it_is() -> None:
    runs = records(0.1)
    whole, early = analyse(runs, (), PLAN, {}), analyse(runs[: 8 * 9], (), PLAN, {})
    assert whole.to_json() == early.to_json()
    assert whole.blocks == tuple(range(8))
    assert whole.sequential is not None
    assert whole.sequential.look == 2
    assert whole.sequential.sentence.startswith(
        "look 2 of 3, after 8 of 12 blocks; obf boundary |z| = 2.5114"
    )
    assert Analysis.from_json(whole.to_json()) == whole


def test_the_path_says_where_the_boundary_was_crossed() -> None:
    found = analyse(records(0.1), (), PLAN, {})
    content = found.contrast("a", "content")
    assert [point.blocks for point in content.path] == [4, 8]
    assert content.path[-1].crossed
    assert content.verdict.startswith("superior")
    assert found.sequential is not None
    assert "content(a) after" in found.sequential.sentence
    silent = found.contrast("b", "content")
    assert not any(point.crossed for point in silent.path)
    # Holm over two rules: the first step holds each look to the boundary of 0.025
    boundary = sequential.nominal_level(0.025, 1, (4 / 12, 8 / 12, 1.0), "obf")
    assert content.path[1].boundary == pytest.approx(boundary)
    assert content.ci_simultaneous is not None
    assert content.estimate is not None
    assert content.se is not None
    half = student.critical(boundary, content.df or 0.0) * content.se
    assert content.ci_simultaneous[1] - content.estimate == pytest.approx(half)


def test_a_look_costs_against_the_fixed_analysis_of_the_same_blocks() -> None:
    runs = records(0.03)[: 8 * 9]
    fixed = analyse(runs, (), Question("base", NAMES, multiplicity="holm"), {}).contrast("a", "content")
    look = analyse(runs, (), PLAN, {}).contrast("a", "content")
    assert fixed.p == look.p
    assert fixed.p_adjusted is not None
    assert look.p_adjusted is not None
    assert look.p_adjusted > fixed.p_adjusted


def test_the_e_process_pairs_blocks_and_may_leave_an_interval_open() -> None:
    plan = replace(PLAN, spending="e-process", looks=tuple(range(2, 13)), look=4)
    found = analyse(records(0.2), (), plan, {})
    content = found.contrast("a", "content")
    assert found.engine == "paired"
    assert content.ci_simultaneous is None
    assert len(content.path) == 3
    last = analyse(records(0.2), (), replace(plan, look=None), {}).contrast("a", "content")
    assert last.verdict.startswith("superior")
    best = max(point.e or 0.0 for point in last.path)
    assert last.p_adjusted == pytest.approx(2 / best)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"look": 5}, "look: expected a registered number of blocks (4, 8, 12), got 5"),
        ({"look": None}, None),
        ({"looks": (8, 4, 12)}, "looks: expected numbers of blocks in increasing order, got [8, 4, 12]"),
        ({"spending": "none"}, "spending: expected obf, pocock or e-process with 3 looks, got 'none'"),
        ({"spending": "e-process", "engine": "exact-stratum"}, "engine: expected paired (or auto)"),
    ],
)
def test_looks_that_were_not_registered_are_refused(changes: dict[str, object], said: str | None) -> None:
    question = replace(PLAN, **changes)  # type: ignore[arg-type]
    if said is None:
        assert analyse(records(0.1), (), question, {}).blocks == tuple(range(12))
        with pytest.raises(StatsError, match="expected runs of 12 blocks, got 8"):
            analyse(records(0.1, blocks=8), (), question, {})
        return
    with pytest.raises(StatsError) as caught:
        analyse(records(0.1), (), question, {})
    assert any(said in fault for fault in caught.value.faults)
