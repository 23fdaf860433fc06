"""Rows for process reward models: a prompt, a solution in steps, and a label on the last token of each step.

Source: huggingface/trl, commit f2cd57710ae345ea6428ae95363267fcf38a3dc8,
trl/experimental/prm/prm_trainer.py:274-363, `PRMTrainer.tokenize_row`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from equipoise.errors import ExecutionError

__all__ = ["IGNORED", "StepRow", "StepRowSettings", "tokenize_steps"]

# What torch's cross entropy leaves out of its mean.
IGNORED = -100


@dataclass(frozen=True)
class StepRowSettings:
    """How steps become a row.

    Attributes:
        step_separator: text that ends every step.
        bos: id put before the prompt; None puts none.
        max_length: tokens of the row, cut at its end; None: no limit.
        max_completion_length: tokens of the solution, cut at its end before `max_length` applies; None: no limit.
        last_step_only: keep the label of the last step alone, as for an outcome reward model.
    """

    step_separator: str = "\n"
    bos: int | None = None
    max_length: int | None = None
    max_completion_length: int | None = None
    last_step_only: bool = False

    def __post_init__(self) -> None:
        for name in ("max_length", "max_completion_length"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise ExecutionError(f"expected {name} of at least 0 tokens, got {value}")


@dataclass(frozen=True)
class StepRow:
    """A row: ids of its tokens, and as many labels, `IGNORED` on every token that does not end a labelled step."""

    input_ids: tuple[int, ...]
    labels: tuple[int, ...]


def tokenize_steps(
    prompt: str,
    completions: Sequence[str],
    labels: Sequence[bool | int],
    encode: Callable[[str], Sequence[int]],
    settings: StepRowSettings,
) -> StepRow:
    """Tokenize a labelled solution, step by step.

    Each step is encoded by itself and followed by the separator, on whose last token the label stands (on the
    step's own, if the separator has no token). Truncation may leave a row without any label.

    Args:
        prompt: the question.
        completions: the steps of the solution, without separators.
        labels: of the steps, as many; whether they are right, or the number of their class.
        encode: ids of a text, without special tokens.
        settings: separator, limits, which labels stay.

    Returns:
        The row.

    Raises:
        ExecutionError: if there are not as many labels as steps, a step has no token, or the last step is asked
            for and there is none.
    """
    if len(labels) != len(completions):
        raise ExecutionError(
            f"expected a label a step, got {len(completions)} steps and {len(labels)} labels"
        )
    if settings.last_step_only and not labels:
        raise ExecutionError(
            "expected a step, because the last one's label is wanted, got a row without steps"
        )
    start = [] if settings.bos is None else [settings.bos]
    start += encode(prompt)
    steps = [list(encode(step)) for step in completions]
    separator = list(encode(settings.step_separator))
    ids: list[int] = []
    marks: list[int] = []
    for index, (step, label) in enumerate(zip(steps, labels, strict=True)):
        tokens = step + separator
        if not tokens:
            raise ExecutionError(
                f"expected a token in every step, got none in step {index}: {completions[index]!r}"
            )
        kept = not settings.last_step_only or index == len(steps) - 1
        ids += tokens
        marks += [IGNORED] * (len(tokens) - 1) + [int(label) if kept else IGNORED]
    limit = settings.max_completion_length
    row = start + ids[:limit]
    return StepRow(
        input_ids=tuple(row[: settings.max_length]),
        labels=tuple(([IGNORED] * len(start) + marks[:limit])[: settings.max_length]),
    )
