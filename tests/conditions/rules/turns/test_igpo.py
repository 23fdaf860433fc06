import math
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Boundary, Context, MissingNeed, Need, Reason, RuleError
from equipoise_conditions.rules.turns.igpo import merged_returns
from equipoise_conditions.rules.turns.information_gain import information_gain, place_rewards

RULE = RULES["igpo"]
TOKENS = RULES["igpo_token"]
PLAIN = {"normalise": "none", "gamma": 1.0}


def scored(before: list[float], after: list[float]) -> Boundary:
    return Boundary(np.array(before), np.array(after))


def gold(before: list[float], after: list[float]) -> Boundary:
    """Return the boundary of these probabilities of the known answer."""
    with np.errstate(divide="ignore"):
        return Boundary(np.log(before), np.log(after))


def test_gains_are_differences_of_probabilities_or_of_their_logarithms(batch: Any) -> None:
    t = batch(outcome=[1.0], lengths=[3])
    boundary = gold([0.10], [0.15, 0.40, 0.35])
    np.testing.assert_allclose(information_gain(t, boundary, "probability"), [0.05, 0.25, -0.05])
    np.testing.assert_allclose(information_gain(t, boundary, "log"), [0.405, 0.981, -0.134], atol=5e-4)


def test_return_to_go_of_two_gains_and_the_outcome(batch: Any) -> None:
    # The gain over the answer turn, -0.05, is never used: that turn carries the outcome.
    t = batch(outcome=[1.0], lengths=[3])
    context = Context(gold=gold([0.10], [0.15, 0.40, 0.35]))
    np.testing.assert_allclose(RULE.apply(t, context, PLAIN).value, [1.30, 1.25, 1.00])
    tokens = TOKENS.apply(batch(outcome=[1.0, 1.0], lengths=[3, 3]), both(context), {"gamma": 1.0})
    np.testing.assert_allclose(tokens.value, 0.0, atol=1e-12)


def both(context: Context) -> Context:
    boundary = context.need(Need.GOLD, Boundary)
    return Context(gold=Boundary(np.tile(boundary.before, 2), np.tile(boundary.after, 2)))


def test_gains_and_outcomes_are_standardised_together_or_apart(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[2, 2], reward=[0.5, 9.0, -0.5, 9.0])
    params = {"gain": "recorded", "gamma": 0.0, "std": "population", "eps": 0.0}
    joint = RULE.apply(t, Context(), params).value
    # The set is .5, 1, -.5, 0: mean .25, variance .3125.
    np.testing.assert_allclose(joint, (np.array([0.5, 1.0, -0.5, 0.0]) - 0.25) / math.sqrt(0.3125))
    apart = RULE.apply(t, Context(), params | {"normalise": "separate"}).value
    np.testing.assert_allclose(apart, [1.0, 1.0, -1.0, -1.0])
    weighted = params | {"normalise": "none", "gain_weight": 2.0, "outcome_weight": 0.5}
    assert RULE.apply(t, Context(), weighted).value.tolist() == [1.0, 0.5, -1.0, 0.0]


def test_two_epsilons_stand_inside_and_outside_the_root(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[1, 1])
    params = {"std": "population", "eps": 0.5, "variance_eps": 0.75}
    credit = RULE.apply(t, Context(gold=gold([0.1, 0.1], [0.1, 0.1])), params)
    assert credit.value.tolist() == [0.5 / 1.5, -0.5 / 1.5]


def test_a_turn_of_zero_is_one_with_the_next_only_when_merged(batch: Any) -> None:
    assert merged_returns(np.array([0.0, 2.0, 1.0, 0.0]), np.array([0, 4]), 0.5).tolist() == [
        2.5,
        2.5,
        1.0,
        0.0,
    ]
    assert merged_returns(np.array([1.0, 0.0, 0.0, 3.0]), np.array([0, 2, 4]), 0.5).tolist() == [1, 0, 3, 3]
    assert merged_returns(np.zeros(2), np.array([0, 1, 2]), 1.0).tolist() == [0.0, 0.0]
    t = batch(outcome=[1.0, 0.0], lengths=[2, 2], reward=[0.0, 1.0, 0.5, 0.0])
    params = {"gain": "recorded", "gamma": 0.5, "normalise": "separate", "std": "none"}
    # Gains 0 and .5: both count, or only the second, which is then its own mean.
    assert RULE.apply(t, Context(), params).value.tolist() == [0.0, 0.5, 0.0, -0.5]
    assert RULE.apply(t, Context(), params | {"merge": True}).value.tolist() == [0.5, 0.5, -0.5, -0.5]


def test_equal_outcomes_take_the_last_turns_credit_when_merged(batch: Any) -> None:
    t = batch(outcome=[1.0, 1.0], lengths=[2, 2], reward=[0.5, 1.0, 0.25, 1.0])
    credit = RULE.apply(t, Context(), {"preset": "iclr", "gain": "recorded"})
    assert credit.value[[1, 3]].tolist() == [0.0, 0.0]
    assert credit.value[0] > 0 > credit.value[2]


def test_without_every_gain_a_trajectory_is_undefined_or_has_its_outcome_alone(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0, 0.0], lengths=[3, 2, 1])
    boundary = scored([-1.0, np.nan, np.nan], [-0.5, -0.4, np.nan, -1.0, -1.0, np.nan])
    context = Context(gold=boundary)
    credit = RULE.apply(t, context)
    assert credit.reason.tolist() == [Reason.DEFINED] * 3 + [Reason.NO_GOLD] * 2 + [Reason.DEFINED]
    fallback = RULE.apply(t, context, {"missing": "outcome", "normalise": "none", "gamma": 0.5})
    assert fallback.defined.all()
    assert fallback.value[3:].tolist() == [0.0, 0.0, 0.0]
    outcome = RULE.apply(
        t, context, {"missing": "outcome", "normalise": "separate", "std": "none", "gamma": 0.5}
    )
    np.testing.assert_allclose(outcome.value[3:], [-1 / 6, -1 / 3, -1 / 3])
    tokens = TOKENS.apply(t, context)
    assert tokens.reason.tolist() == [Reason.DEFINED] * 3 + [Reason.NO_GOLD] * 2 + [Reason.DEFINED]


def test_an_undefined_trajectory_does_not_vote(batch: Any) -> None:
    context = Context(gold=scored([-1.0, -1.0, np.nan], [-1.0] * 6))
    three = RULE.apply(batch(outcome=[1, 0, 1], lengths=[2, 2, 2]), context)
    two = Context(gold=scored([-1.0, -1.0], [-1.0] * 4))
    assert three.value[:4].tolist() == RULE.apply(batch(outcome=[1, 0], lengths=[2, 2]), two).value.tolist()


def test_an_impossible_answer_has_probability_zero_but_no_logarithm(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[2, 2])
    context = Context(gold=gold([0.0, 0.5], [0.25, 0.25, 0.75, 0.75]))
    assert RULE.apply(t, context, PLAIN).value.tolist() == pytest.approx([1.25, 1.0, 0.25, 0.0])
    assert not RULE.apply(t, context, PLAIN | {"gain": "log"}).defined[:2].any()


def test_recorded_gains_need_no_scores_and_scores_must_be_of_this_batch(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[2, 1])
    for rule in (RULE, TOKENS):
        assert not rule.needed({"gain": "recorded"})
        assert rule.apply(t, Context(), {"gain": "recorded"}).defined.all()
        with pytest.raises(MissingNeed):
            rule.apply(t, Context())
        with pytest.raises(RuleError, match="expected 2 entries before, got 1"):
            rule.apply(t, Context(gold=gold([0.5], [0.5] * 3)))
        with pytest.raises(RuleError, match="expected 3 entries after, got 2"):
            rule.apply(t, Context(gold=gold([0.5, 0.5], [0.5] * 2)))


def test_rewards_stand_on_the_last_token_in_the_loss(batch: Any) -> None:
    t = batch(
        outcome=[1.0],
        lengths=[3],
        token_offsets=[0, 3, 5, 6],
        mask=np.array([True, True, False, False, False, True]),
    )
    assert place_rewards(t, np.array([0.5, 0.25, 1.0])).tolist() == [0.0, 0.5, 0.0, 0.0, 0.25, 1.0]


def test_token_k_is_compared_with_token_k_and_shorter_answers_count_as_zero(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.5], lengths=[1, 1], token_offsets=[0, 3, 4])
    credit = TOKENS.apply(t, Context(), {"gain": "recorded", "gamma": 1.0})
    assert credit.value.tolist() == [0.25, 0.5, 0.5, -0.25]


def test_credit_crosses_tool_output_only_over_a_bridge(batch: Any) -> None:
    mask = np.array([True, False, True] * 2)
    t = batch(outcome=[1.0, 0.0], lengths=[1, 1], token_offsets=[0, 3, 6], mask=mask)
    params = {"gain": "recorded", "gamma": 1.0}
    assert TOKENS.apply(t, Context(), params).value[[0, 2]].tolist() == [0.5, 0.5]
    assert TOKENS.apply(t, Context(), params | {"bridge": False}).value[[0, 2]].tolist() == [0.0, 0.5]


def test_the_discounted_baseline_is_the_return_at_the_start(batch: Any) -> None:
    t = batch(outcome=[1.0, 0.0], lengths=[1, 1], token_offsets=[0, 2, 4])
    params = {"preset": "first-release-discounted", "gain": "recorded"}
    # Returns .5, 1 and 0, 0: mean .25 and sample deviation .5/sqrt(2) at the start.
    expected = np.array([0.25, 0.75, -0.25, -0.25]) / (0.5 / math.sqrt(2) + 1e-6)
    np.testing.assert_allclose(TOKENS.apply(t, Context(), params).value, expected)
    lone = batch(outcome=[1.0], lengths=[1], token_offsets=[0, 2])
    np.testing.assert_allclose(TOKENS.apply(lone, Context(), params).value, [0.0, 0.5 / 1.000001])


def test_equal_scores_give_zero_even_with_no_epsilon(batch: Any) -> None:
    t = batch(outcome=[0.1] * 3, lengths=[1] * 3)
    params = {"gain": "recorded", "baseline": "start", "eps": 0.0, "gamma": 1.0}
    assert TOKENS.apply(t, Context(), params).value.tolist() == [0.0] * 3
    assert RULE.apply(t, Context(), {"gain": "recorded", "eps": 0.0}).value.tolist() == [0.0] * 3


def test_forks_and_trajectories_outside_the_loss_do_not_vote(forest: Any, batch: Any) -> None:
    t = forest(2)
    context = Context(gold=Boundary(np.full(t.n, -1.0), np.linspace(-1, 0, t.n_turns)))
    use = t.collected[t.trajectory_of_turn]
    assert np.array_equal(RULE.apply(t, context).defined, use)
    assert np.array_equal(TOKENS.apply(t, context).defined, use)
    mask = np.array([True, True, False])
    t = batch(outcome=[1.0, 0.0, 5.0], lengths=[1, 1, 1], mask=mask)
    assert RULE.apply(t, Context(), {"gain": "recorded", "std": "none"}).value[:2].tolist() == [0.5, -0.5]


def direct(t: Any, gold_: Boundary, gamma: float = 0.95, eps: float = 1e-6) -> Any:
    """The rule as published code walks it: dictionaries of lists, one entry at a time."""
    offsets, before, after = t.turn_offsets.tolist(), gold_.before.tolist(), gold_.after.tolist()
    task, outcome = t.task.tolist(), t.outcome.tolist()
    rewards: list[list[float]] = []
    groups: dict[int, list[float]] = {}
    for i in range(t.n):
        previous, row = math.exp(before[i]), []
        for turn in range(offsets[i], offsets[i + 1] - 1):
            now = math.exp(after[turn])
            row.append(now - previous)
            previous = now
        row.append(outcome[i])
        rewards.append(row)
        for value in row:
            groups.setdefault(task[i], []).append(value)
    moments = {}
    for key, values in groups.items():
        mean = math.fsum(values) / len(values)
        variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        moments[key] = (mean, math.sqrt(variance))
    result: list[float] = []
    for i, row in enumerate(rewards):
        mean, std = moments[task[i]]
        running, sums = 0.0, []
        for value in reversed(row):
            running = (value - mean) / (std + eps) + gamma * running
            sums.append(running)
        result.extend(reversed(sums))
    return np.array(result)


def test_many_trajectories_are_what_a_walk_over_them_gives(batch: Any) -> None:
    rng = np.random.default_rng(0)
    n, turns = 512, 20
    t = batch(
        outcome=rng.integers(0, 2, n).tolist(),
        lengths=[turns] * n,
        task=np.repeat(np.arange(n // 8), 8).tolist(),
    )
    context = Context(gold=Boundary(-rng.random(n), -rng.random(n * turns)))
    expected = direct(t, context.need(Need.GOLD, Boundary))
    credit = RULE.apply(t, context)
    np.testing.assert_allclose(credit.value, expected, atol=1e-9)
