"""A label stands on the last token of its step, and nowhere else."""

from typing import Any

import pytest

from equipoise.errors import ExecutionError
from equipoise.policies.step_labels import IGNORED, StepRowSettings, tokenize_steps

STEPS = ("open box", "take key", "leave")


def encode(text: str) -> list[int]:
    """One id a word, its number of letters; a separator "." is a word of its own."""
    return [len(word) for word in text.replace(".", " . ").split()]


def row(labels: tuple[Any, ...] = (True, False, 2), **settings: Any) -> Any:
    chosen = StepRowSettings(**{"step_separator": ".", "bos": 0, **settings})
    return tokenize_steps("what now", STEPS, labels, encode, chosen)


def test_a_row_of_three_steps_by_hand() -> None:
    found = row()
    assert found.input_ids == (0, 4, 3, 4, 3, 1, 4, 3, 1, 5, 1)
    assert found.labels == (*[IGNORED] * 5, 1, IGNORED, IGNORED, 0, IGNORED, 2)


def test_without_a_marker_the_prompt_comes_first() -> None:
    assert row(bos=None).input_ids == row().input_ids[1:]
    assert row(bos=None).labels == row().labels[1:]


def test_a_separator_of_several_tokens_carries_the_label_on_its_last() -> None:
    assert row(step_separator="..").labels[5:7] == (IGNORED, 1)


def test_a_separator_without_a_token_leaves_the_label_on_the_step() -> None:
    assert row(step_separator="").labels == (*[IGNORED] * 4, 1, IGNORED, 0, 2)


def test_the_last_step_alone_can_keep_its_label() -> None:
    found = row(last_step_only=True)
    assert found.input_ids == row().input_ids
    assert found.labels == (*[IGNORED] * 10, 2)


@pytest.mark.parametrize("limit", range(13))
def test_limits_cut_ids_and_labels_alike(limit: int) -> None:
    whole, short, shorter = row(), row(max_length=limit), row(max_completion_length=limit)
    assert (short.input_ids, short.labels) == (whole.input_ids[:limit], whole.labels[:limit])
    assert (shorter.input_ids, shorter.labels) == (whole.input_ids[: 3 + limit], whole.labels[: 3 + limit])


def test_the_limit_of_the_solution_applies_before_that_of_the_row() -> None:
    assert row(max_completion_length=4, max_length=5).input_ids == row().input_ids[:5]
    assert row(max_completion_length=1, max_length=9).input_ids == row().input_ids[:4]


def test_a_row_without_steps_is_its_prompt() -> None:
    found = tokenize_steps("what now", (), (), encode, StepRowSettings())
    assert (found.input_ids, found.labels) == ((4, 3), (IGNORED, IGNORED))


def test_rows_that_would_lose_a_label_unseen_are_refused() -> None:
    with pytest.raises(ExecutionError, match="3 steps and 2 labels"):
        row((True, False))
    with pytest.raises(ExecutionError, match="without steps"):
        tokenize_steps("what now", (), (), encode, StepRowSettings(last_step_only=True))
    with pytest.raises(ExecutionError, match="none in step 1"):
        tokenize_steps("p", ("a", ""), (1, 0), encode, StepRowSettings(step_separator=""))
    with pytest.raises(ExecutionError, match="max_length"):
        StepRowSettings(max_length=-1)
