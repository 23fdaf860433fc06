"""A step is in the book once it is taken, and not before."""

import pytest

from equipoise.training.counts import Counts


def test_a_step_of_two_passes_by_hand() -> None:
    counts = Counts()
    counts.rows([4, 7], [1.0, -2.0], [10, 12], tokens=6, loss=0.5)
    counts.gradient(1.5)
    counts.rows([4], [0.0], [10], tokens=3, loss=0.25)
    counts.gradient(2.5)
    counts.step(0.01)
    row = counts.ledger.rows[0]
    assert (row.slots, row.tokens, row.weight_abs, row.weight_sq) == (3, 9, 3.0, 5.0)
    assert row.ess == pytest.approx(9 / 5)
    assert (row.grad_norm, row.learning_rate, row.loss) == (2.5, 0.01, 0.75)
    assert (counts.examples, counts.weights, counts.lengths) == ([4, 7, 4], [1.0, -2.0, 0.0], [10, 12, 10])
    assert (counts.tokens, counts.micro_batches) == (9, 2)


def test_rows_of_a_step_that_was_never_taken_leave_no_trace() -> None:
    counts = Counts()
    counts.rows([1], [1.0], [5], tokens=2, loss=0.1)
    counts.step(0.1)
    counts.rows([2], [1.0], [5], tokens=2, loss=0.1)
    counts.gradient(9.0)
    assert len(counts.ledger) == 1
    assert (counts.examples, counts.tokens, counts.micro_batches) == ([1], 2, 1)


def test_what_the_clip_held_back_is_a_share_of_the_tokens_of_the_whole_step() -> None:
    counts = Counts()
    counts.rows([4], [1.0], [10], tokens=6, loss=0.5, clipped=3)
    counts.rows([5], [1.0], [10], tokens=2, loss=0.5, clipped=1)
    counts.step(0.01, kl=0.25, l2=1.5)
    counts.rows([4], [1.0], [10], tokens=6, loss=0.5)
    counts.step(0.01)
    counts.rows([4], [1.0], [10], tokens=0, loss=0.5, clipped=0)
    counts.step(0.01)
    first, unclipped, empty = counts.ledger.rows
    assert (first.micro_batches, first.clip_fraction) == (2, 0.5)
    assert (first.kl_from_start, first.l2_from_start) == (0.25, 1.5)
    assert (unclipped.clip_fraction, unclipped.kl_from_start, unclipped.l2_from_start) == (None, None, None)
    assert empty.clip_fraction is None
