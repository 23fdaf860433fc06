"""A twin moves credit, and keeps every sum that a dose is made of."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise_conditions import Credit, Reason, Twin, draw, shuffle_active_share, twin
from equipoise_conditions.twins import cells, trajectory_of_unit

NAN = float("nan")
KINDS = pytest.mark.parametrize("kind", list(Twin))


def random_credit(t: Any, granularity: str, rng: np.random.Generator) -> Credit:
    sizes = {"token": t.n_tokens, "turn": t.n_turns, "episode": t.n, "agent": t.agent_units[0].size}
    units = sizes.get(granularity, t.n)
    reason = rng.choice([0, 0, 1, 3], units)
    if granularity == "turn":
        reason[~t.own] = Reason.COPY
    value = np.where(reason == 0, rng.integers(-2, 3, units).astype(float), NAN)
    offsets = t.token_offsets_of_trajectory if granularity == "segment" else None
    return Credit(value, reason, granularity, offsets)  # type: ignore[arg-type]


def test_a_move_within_is_uniform_over_the_defined_turns_and_leaves_the_others(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[4, 1])
    credit = Credit([1.0, NAN, 2.0, 3.0, 9.0], [0, 1, 0, 0, 0])  # type: ignore[arg-type]
    rng = np.random.default_rng(1)
    moves = [tuple(draw(credit, t, Twin.WITHIN, rng).to.tolist()) for _ in range(6000)]
    assert all(move[1] == 1 and move[4] == 4 for move in moves)
    counts = [moves.count(move) for move in sorted(set(moves))]
    assert len(counts) == 6
    assert all(abs(count - 1000) < 144 for count in counts)


@KINDS
@pytest.mark.parametrize("granularity", ["token", "segment", "turn", "agent", "episode"])
def test_a_twin_keeps_the_weights_of_every_cell_and_what_is_undefined(
    kind: Twin, granularity: str, forest: Any
) -> None:
    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 30), st.integers(0, 2**32 - 1))
    def holds(batch_seed: int, seed: int) -> None:
        t = forest(batch_seed)
        credit = random_credit(t, granularity, np.random.default_rng(seed))
        moved = twin(credit, t, kind, np.random.default_rng(seed))
        cell = cells(credit, t, kind)
        for code in np.unique(cell):
            before, after = credit.value[cell == code], moved.value[cell == code]
            if kind == Twin.SIGN:
                before, after = np.abs(before), np.abs(after)
            assert np.array_equal(np.sort(before), np.sort(after), equal_nan=True)
        assert np.isclose(moved.mass, credit.mass)
        assert np.isclose(moved.sum_of_squares, credit.sum_of_squares)
        assert moved.sparsity == credit.sparsity
        assert np.isclose(moved.effective_sample_size, credit.effective_sample_size)
        if kind != Twin.SIGN:
            assert np.isclose(moved.total, credit.total)
        if kind != Twin.ANYWHERE:
            assert np.array_equal(moved.reason, credit.reason)
        again = twin(credit, t, kind, np.random.default_rng(seed))
        assert again.digest() == moved.digest()

    holds()


def test_anywhere_moves_credit_onto_turns_that_the_rule_left_out_but_never_onto_copies(forest: Any) -> None:
    t = forest(3)
    credit = random_credit(t, "turn", np.random.default_rng(3))
    moved = twin(credit, t, Twin.ANYWHERE, np.random.default_rng(4))
    assert not np.array_equal(moved.reason, credit.reason)
    assert (moved.reason[~t.own] == Reason.COPY).all()
    for trajectory in range(t.n):
        here = t.trajectory_of_turn == trajectory
        assert np.array_equal(np.sort(moved.value[here]), np.sort(credit.value[here]), equal_nan=True)


def test_equal_credit_stays_where_it_is_so_that_a_twin_repeats_its_rule(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[4, 3])
    credit = Credit([0.5] * 4 + [1.0, 2.0, 3.0], [0] * 7)  # type: ignore[arg-type]
    moves = [draw(credit, t, Twin.WITHIN, np.random.default_rng(seed)).to for seed in range(80)]
    assert all(move[:4].tolist() == [0, 1, 2, 3] for move in moves)
    assert len({tuple(move.tolist()) for move in moves}) == 6


def test_position_exchanges_only_turns_of_one_depth_and_group(batch: Any) -> None:
    t = batch(outcome=[1, 0, 1], lengths=[2, 2, 2], task=[0, 0, 5])
    credit = Credit(np.arange(6.0), np.zeros(6, dtype=int))
    seen = {tuple(twin(credit, t, Twin.POSITION, np.random.default_rng(s)).value.tolist()) for s in range(40)}
    assert seen == {
        (0.0, 1.0, 2.0, 3.0, 4.0, 5.0),
        (2.0, 1.0, 0.0, 3.0, 4.0, 5.0),
        (0.0, 3.0, 2.0, 1.0, 4.0, 5.0),
        (2.0, 3.0, 0.0, 1.0, 4.0, 5.0),
    }


def test_the_active_share_by_hand(batch: Any) -> None:
    t = batch(outcome=[1, 0, 1, 0], lengths=[2, 2, 2, 1])
    value = [1.0, 1.0, 0.0, 2.0, NAN, 3.0, NAN]
    credit = Credit(value, [0, 0, 0, 0, 1, 0, 1])  # type: ignore[arg-type]
    # Of the three trajectories with credit only the second holds two different ones.
    assert shuffle_active_share(credit, t) == pytest.approx(1 / 3)
    # A turn without credit is a place to move to: now the third can change as well.
    assert shuffle_active_share(credit, t, Twin.ANYWHERE) == pytest.approx(2 / 3)
    assert shuffle_active_share(credit, t, Twin.ACROSS) == 1.0
    assert shuffle_active_share(credit, t, Twin.SIGN) == 1.0
    nothing = Credit([NAN] * 7, [1] * 7)  # type: ignore[arg-type]
    assert shuffle_active_share(nothing, t) == 0.0


def test_credit_that_is_one_number_a_trajectory_has_no_active_share(batch: Any) -> None:
    t = batch(outcome=[1, 0], lengths=[3, 2])
    constant = Credit([0.5] * 3 + [-0.5] * 2, [0] * 5)  # type: ignore[arg-type]
    assert shuffle_active_share(constant, t) == 0.0
    assert shuffle_active_share(constant, t, Twin.ACROSS) == 1.0


def test_units_know_their_trajectory(forest: Any) -> None:
    t = forest(5)
    for granularity in ("token", "segment", "turn", "agent", "episode"):
        credit = random_credit(t, granularity, np.random.default_rng(0))
        owner = trajectory_of_unit(credit, t)
        assert owner.size == credit.value.size
        assert (np.diff(owner) >= 0).all()
