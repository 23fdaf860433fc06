from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Cuts, MissingNeed, Reason, RuleError, to_tokens, to_turns
from equipoise_conditions.rules.tokens.cuts import cut_positions, fixed_cut_positions

CHAIN, FIXED = RULES["spo_chain"], RULES["spo_fixed"]
NAN = float("nan")
PROBABILITY = [0.95, 0.5, 0.99, 0.6, 0.97, 0.3, 0.99, 0.8]


def answers(batch: Any, *probability: list[float], outcome: list[float], **columns: Any) -> Any:
    sizes = [len(p) for p in probability]
    return batch(
        outcome=outcome,
        lengths=[1] * len(sizes),
        token_offsets=np.cumsum([0, *sizes]),
        logprob=np.log(np.concatenate(probability)),
        **columns,
    )


def cuts(*of_trajectory: dict[int, float]) -> Context:
    sizes = [len(some) for some in of_trajectory]
    position = np.array([p for some in of_trajectory for p in some], dtype=int)
    value = np.array([v for some in of_trajectory for v in some.values()], dtype=float)
    return Context(cuts=Cuts(np.cumsum([0, *sizes]), position, value))


def test_the_worked_chain(batch: Any) -> None:
    # Uncertain tokens 1, 3, 5, 7; every second is cut before: 1 and 5. V = .5, .75, then the outcome 1.
    t = answers(batch, PROBABILITY, outcome=[1.0])
    offsets, position = cut_positions(t, cutpoint_interval=2)
    assert (offsets.tolist(), position.tolist()) == ([0, 2], [1, 5])
    context = Context(cuts=Cuts(offsets, position, np.array([0.5, 0.75])))
    credit = CHAIN.apply(t, context, {"preset": "spo"})
    assert credit.offsets.tolist() == [0, 1, 5, 8]
    assert credit.value.tolist() == [0.0, 0.25, 0.25]
    assert credit.loss_mask.astype(int).tolist() == [0, 1, 0, 1, 0, 1, 0, 1]
    tokens = to_tokens(credit, t)
    assert np.nan_to_num(tokens.value).tolist() == [0, 0.25, 0, 0.25, 0, 0.25, 0, 0.25]
    assert (tokens.reason[::2] == Reason.MASKED).all()


def test_a_first_segment_without_a_value_of_its_prompt_is_undefined_and_not_zero(batch: Any) -> None:
    t = answers(batch, [0.5, 0.5], outcome=[1.0])
    unknown = CHAIN.apply(t, cuts({1: 0.25}))
    np.testing.assert_array_equal(unknown.value, [NAN, 0.75])
    assert unknown.reason.tolist() == [Reason.NOT_MEASURED, Reason.DEFINED]
    known = CHAIN.apply(t, cuts({0: 0.5, 1: 0.25}))
    assert known.value.tolist() == [-0.25, 0.75]


def test_an_answer_without_cuts_is_undefined_or_as_the_code_has_it_zero(batch: Any) -> None:
    t = answers(batch, [0.99, 0.99], outcome=[1.0])
    assert CHAIN.apply(t, cuts({})).reason.tolist() == [Reason.NOT_MEASURED]
    assert CHAIN.apply(t, cuts({}), {"preset": "spo"}).value.tolist() == [0.0]


def test_segments_add_up_to_outcome_minus_value_of_the_prompt(batch: Any) -> None:
    rng = np.random.default_rng(1)
    t = answers(batch, rng.random(30).tolist(), rng.random(9).tolist(), outcome=[1e6, -3.0])
    context = cuts(
        {int(p): float(rng.normal()) for p in [0, *np.sort(rng.choice(np.arange(1, 30), 7, replace=False))]},
        {0: 0.5, 4: 0.25},
    )
    credit = CHAIN.apply(t, context)
    owner = t.trajectory_of_token[credit.offsets[:-1]]
    total = np.bincount(owner, credit.value)
    assert context.cuts is not None
    np.testing.assert_allclose(total, [1e6 - context.cuts.value[0], -3.5], rtol=1e-12)


def test_a_cut_without_a_value_is_no_cut(batch: Any) -> None:
    t = answers(batch, [0.5, 0.5, 0.5], outcome=[1.0])
    assert CHAIN.apply(t, cuts({0: 0.5, 1: NAN, 2: 0.25})).value.tolist() == [-0.25, 0.75]
    one = CHAIN.apply(t, cuts({0: NAN, 1: 0.25}))
    assert one.reason.tolist() == [Reason.NOT_MEASURED, Reason.DEFINED]


def test_a_token_exactly_at_the_mask_leaves_the_loss_unless_it_is_kept(batch: Any) -> None:
    t = answers(batch, [0.9, 0.5], outcome=[1.0])
    context = cuts({0: 0.5})
    assert CHAIN.apply(t, context).loss_mask.tolist() == [False, True]
    assert CHAIN.apply(t, context, {"keep_equal": True}).loss_mask.tolist() == [True, True]
    assert CHAIN.apply(t, context, {"probability_mask": 0.4}).loss_mask.tolist() == [False, False]
    assert CHAIN.apply(t, context, {"probability_mask": 1}).loss_mask.size == 0
    assert cut_positions(t)[1].tolist() == [1], "0.9 is no candidate either"


def test_only_tokens_in_the_loss_of_collected_trajectories_are_cut_before(batch: Any) -> None:
    t = batch(
        outcome=[1, 0], lengths=[2, 2], parent=[-1, 0], branch=[0, 1], state=[1, 2, 1, 2], action=[0, 0, 0, 1],
        token_offsets=[0, 2, 4, 6, 8], logprob=np.log([0.5] * 8),
        mask=np.array([True, False, True, True, True, True, True, True]),
    )  # fmt: skip
    offsets, position = cut_positions(t, cutpoint_interval=1)
    assert (offsets.tolist(), position.tolist()) == ([0, 3, 3], [0, 2, 3])
    # A fork is no example: a copy stays a copy, its own turn is dropped.
    credit = CHAIN.apply(t, cuts({0: 0.5, 2: 0.75}, {1: 0.9}))
    assert credit.offsets.tolist() == [0, 2, 4, 6, 8]
    assert credit.reason.tolist() == [0, 0, Reason.COPY, Reason.DROPPED]
    np.testing.assert_array_equal(to_turns(credit, t).value, [0.25, 0.25, NAN, NAN])


def test_the_interval_counts_each_trajectorys_candidates_from_its_first(batch: Any) -> None:
    t = answers(batch, [0.99, *[0.1] * 6], [0.1] * 6, outcome=[1.0, 0.0])
    offsets, position = cut_positions(t)
    assert (offsets.tolist(), position.tolist()) == ([0, 2, 4], [1, 6, 0, 5])


def test_fixed_segments_are_equal_and_the_first_ones_longer(batch: Any) -> None:
    t = answers(batch, [0.5] * 10, [0.5] * 2, outcome=[1.0, 1.0])
    offsets, position = fixed_cut_positions(t)
    assert (offsets.tolist(), position.tolist()) == ([0, 3, 6], [3, 6, 8, 1, 2, 2])
    value = np.array([0.5, 0.25, 0.75, 0.5, 0.25, 0.75])
    credit = FIXED.apply(t, Context(cuts=Cuts(offsets, position, value)), {"preset": "spo"})
    # In the second, the last of the repeated cuts stands at the end and counts in place of the outcome.
    assert credit.value.tolist() == [0, -0.25, 0.5, 0.25, 0, 0.25]
    assert credit.loss_mask.size == 0
    assert fixed_cut_positions(t, segments=1)[1].size == 0


def test_one_token_is_a_segment(batch: Any) -> None:
    t = answers(batch, [0.5], outcome=[1.0])
    assert CHAIN.apply(t, cuts({0: 0.25})).value.tolist() == [0.75]


@pytest.mark.parametrize(
    "wrong", [cuts({0: 0.5}), cuts({0: 0.5}, {3: 0.5}), cuts({1: 0.5, 0: 0.5}, {}), cuts({-1: 0.5}, {})]
)
def test_cuts_of_another_batch_are_refused(batch: Any, wrong: Context) -> None:
    t = answers(batch, [0.5, 0.5], [0.5, 0.5], outcome=[1.0, 0.0])
    with pytest.raises(RuleError, match="measure it on this batch"):
        CHAIN.apply(t, wrong)


def test_cutting_needs_an_interval_and_a_number_of_parts(batch: Any) -> None:
    t = answers(batch, [0.5], outcome=[1.0])
    with pytest.raises(RuleError, match="cutpoint_interval: expected at least 1, got 0"):
        cut_positions(t, cutpoint_interval=0)
    with pytest.raises(RuleError, match="segments: expected at least 1, got 0"):
        fixed_cut_positions(t, segments=0)
    with pytest.raises(MissingNeed, match="needs 'cuts'"):
        FIXED.apply(t, Context())
