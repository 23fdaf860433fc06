from typing import Any

import numpy as np

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["bi_level_gae"]
PLAIN = {"gamma": 0.5, "lam": 1.0}


def two_turns(batch: Any, reward: list[float], **columns: Any) -> Any:
    return batch(
        outcome=[reward[-1]], lengths=[2], token_offsets=[0, 2, 4], reward=np.array(reward), **columns
    )


def test_two_turns_of_two_tokens_by_hand(batch: Any) -> None:
    # Turn ends: G_2 = 2, G_1 = 1 + .5 * 2 = 2. Inside a turn nothing is discounted, and the sum restarts.
    values = np.array([0.25, 0.5, 1.0, 0.75])
    credit = RULE.apply(two_turns(batch, [1.0, 2.0]), Context(token_values=values), PLAIN)
    np.testing.assert_allclose(credit.value, [2 - 0.25, 2 - 0.5, 2 - 1.0, 2 - 0.75])


def test_lam_decays_on_both_levels(batch: Any) -> None:
    # Turn ends (gamma .5, lam .5): delta_2 = 2 - .75, delta_1 = 1 + .5 * .75 - .5; A_1 = .875 + .25 * 1.25.
    values = np.array([0.25, 0.5, 1.0, 0.75])
    context = Context(token_values=values)
    credit = RULE.apply(two_turns(batch, [1.0, 2.0]), context, {"gamma": 0.5, "lam": 0.5})
    second, first = 1.25, 0.875 + 0.25 * 1.25
    inside = [(0.5 - 0.25) + 0.5 * first, first, (0.75 - 1.0) + 0.5 * second, second]
    np.testing.assert_allclose(credit.value, inside)


def test_a_turn_that_earned_nothing_is_a_turn_unless_as_in_ragen(batch: Any) -> None:
    context = Context(token_values=np.zeros(4))
    t = two_turns(batch, [0.0, 2.0])
    assert RULE.apply(t, context, PLAIN).value.tolist() == [1.0, 1.0, 2.0, 2.0]
    merged = RULE.apply(t, context, PLAIN | {"turn_end": "reward"})
    assert merged.value.tolist() == [2.0, 2.0, 2.0, 2.0]


def test_a_failed_episode_is_no_exception(batch: Any) -> None:
    t = two_turns(batch, [0.0, 0.0])
    context = Context(token_values=np.full(4, 0.5))
    for end in ("turn", "reward"):
        credit = RULE.apply(t, context, PLAIN | {"turn_end": end})
        assert credit.defined.all()
        assert credit.value[-1] == -0.5


def test_the_turns_last_token_in_the_loss_ends_it(batch: Any) -> None:
    mask = np.array([True, False, True, True])
    credit = RULE.apply(two_turns(batch, [1.0, 2.0], mask=mask), Context(token_values=np.zeros(4)), PLAIN)
    assert credit.value[mask].tolist() == [2.0, 2.0, 2.0]
    assert credit.reason[1] == Reason.MASKED


def test_a_turn_outside_the_loss_gives_its_reward_to_the_turn_before(batch: Any) -> None:
    mask = np.array([True, True, False, False])
    credit = RULE.apply(two_turns(batch, [1.0, 2.0], mask=mask), Context(token_values=np.zeros(4)), PLAIN)
    assert credit.value[mask].tolist() == [3.0, 3.0]
    first = RULE.apply(two_turns(batch, [1.0, 2.0], mask=~mask), Context(token_values=np.zeros(4)), PLAIN)
    assert first.value[~mask].tolist() == [2.0, 2.0]


def test_one_discount_for_both_levels_at_lam_1_is_the_discounted_return(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[3])
    credit = RULE.apply(t, Context(token_values=np.zeros(3)), {"gamma": 0.5, "lam": 1.0})
    assert credit.value.tolist() == [0.25, 0.5, 1.0]


def test_a_batch_outside_the_loss_has_no_examples(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[2], mask=np.zeros(2, dtype=bool))
    for end in ("turn", "reward"):
        credit = RULE.apply(t, Context(token_values=np.zeros(2)), {"turn_end": end})
        assert credit.reason.tolist() == [Reason.MASKED] * 2


def test_preset_ragen_whitens_a_single_token_to_nothing(batch: Any) -> None:
    t = batch(outcome=[1], lengths=[1])
    assert RULE.apply(t, Context(token_values=np.zeros(1)), {"preset": "ragen"}).value.tolist() == [0.0]


def test_forks_get_no_credit(batch: Any) -> None:
    t = batch(outcome=[1, 1], lengths=[1, 1], parent=[-1, 0], state=np.array([0, 0]))
    credit = RULE.apply(t, Context(token_values=np.zeros(2)))
    assert credit.reason.tolist() == [0, Reason.DROPPED]
