from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, Reason

RULE = RULES["otb"]
EXACT = {"eps": 0.0}


def tokens(batch: Any, outcome: list[float], lengths: list[int], **columns: Any) -> Any:
    """Return a batch with one token a turn, each with weight 1 - 2/e + 1/2."""
    columns.setdefault("sum_pi_squared", np.full(sum(lengths), 0.5))
    return batch(outcome=outcome, lengths=lengths, **columns)


def test_with_equal_weights_it_is_the_mean_of_those_who_come_as_far(batch: Any) -> None:
    t = tokens(batch, [1, 0, 0], [3, 3, 1])
    credit = RULE.apply(t, Context(), EXACT)
    np.testing.assert_allclose(credit.value, [2 / 3, 1 / 2, 1 / 2, -1 / 3, -1 / 2, -1 / 2, -1 / 3])


def test_siblings_who_strayed_further_count_more(batch: Any) -> None:
    # Weights of single tokens: 1 - 2 * 1/2 + 1/2 = 1/2 and 1 - 2 * 1/10 + 1/5 = 1.
    t = tokens(batch, [1, 0], [1, 1], logprob=np.log([0.5, 0.1]), sum_pi_squared=np.array([0.5, 0.2]))
    np.testing.assert_allclose(RULE.apply(t, Context(), EXACT).value, [2 / 3, -1 / 3])


def test_weights_add_up_along_a_trajectory(batch: Any) -> None:
    # Weights 1/2 then 1/2 + 1 of the first, 1 then 1 + 1 of the second.
    p, square = [0.5, 0.1, 0.1, 0.1], [0.5, 0.2, 0.2, 0.2]
    t = tokens(batch, [1, 0], [2, 2], logprob=np.log(p), sum_pi_squared=np.array(square))
    expected = 1 - np.array([0.5 / 1.5, 1.5 / 3.5])
    np.testing.assert_allclose(RULE.apply(t, Context(), EXACT).value[:2], expected)


def test_a_token_is_compared_at_its_place_in_the_loss_or_in_the_trajectory(batch: Any) -> None:
    mask = np.array([True, False, True, True, True, True])
    t = tokens(batch, [1, 0], [3, 3], mask=mask, reward=np.array([0, 0, 1.0, 0, 0, 0]))
    loss = RULE.apply(t, Context(), EXACT).value
    np.testing.assert_allclose(loss[mask], [1 / 2, 1 / 2, -1 / 2, -1 / 2, 0.0])
    every = RULE.apply(t, Context(), EXACT | {"place": "all"}).value
    # At place 2 the first has the weight of two tokens, the second that of three.
    np.testing.assert_allclose(every[mask], [1 / 2, 3 / 5, -1 / 2, 0.0, -2 / 5])


def test_the_only_longest_has_a_tail_that_may_go_without_a_baseline(batch: Any) -> None:
    t = tokens(batch, [1, 0], [3, 1])
    np.testing.assert_allclose(RULE.apply(t, Context(), EXACT).value, [1 / 2, 0.0, 0.0, -1 / 2], atol=1e-15)
    tailed = RULE.apply(t, Context(), EXACT | {"zero_tail": True}).value
    np.testing.assert_allclose(tailed, [1 / 2, 1.0, 1.0, -1 / 2])


def test_two_longest_have_no_tail(batch: Any) -> None:
    t = tokens(batch, [1, 0, 0], [2, 2, 1])
    assert RULE.apply(t, Context(), {"zero_tail": True}).digest() == RULE.apply(t, Context()).digest()


@pytest.mark.parametrize(
    ("params", "expected"),
    [({}, 0.0), ({"singleton": "raw"}, 0.75), ({"preset": "verl"}, 0.75), ({"preset": "verl-tir"}, 0.75)],
)
def test_a_task_with_one_trajectory(batch: Any, params: dict[str, str], expected: float) -> None:
    t = tokens(batch, [0.75, 1, 0], [2, 1, 1], task=[0, 1, 1])
    assert RULE.apply(t, Context(), params).value[:2].tolist() == [expected] * 2


def test_a_task_with_one_trajectory_may_have_no_credit_at_all(batch: Any) -> None:
    t = tokens(batch, [0.75, 1, 0], [2, 1, 1], task=[0, 1, 1])
    credit = RULE.apply(t, Context(), {"singleton": "undefined"})
    assert credit.reason.tolist() == [Reason.NO_GROUP, Reason.NO_GROUP, 0, 0]


def test_a_sibling_without_a_token_in_the_loss_is_one_only_by_place_in_the_trajectory(batch: Any) -> None:
    t = tokens(batch, [1, 0], [1, 1], mask=np.array([True, False]))
    raw = {"singleton": "raw", "eps": 0.0}
    assert RULE.apply(t, Context(), raw).value[0] == 1.0
    assert RULE.apply(t, Context(), raw | {"place": "all"}).value[0] == 0.0


def test_equal_returns_leave_no_more_than_epsilon(batch: Any) -> None:
    credit = RULE.apply(tokens(batch, [1, 1, 1], [2, 2, 1]), Context())
    assert np.abs(credit.value).max() < 1e-5
    assert credit.counts_by_reason() == {"DEFINED": 5}


@pytest.mark.parametrize("eps", [0.0, 1e-6])
def test_where_nobody_had_an_alternative_there_is_no_baseline(batch: Any, eps: float) -> None:
    t = tokens(batch, [1, 0], [1, 1], logprob=np.zeros(2), sum_pi_squared=np.ones(2))
    assert RULE.apply(t, Context(), {"eps": eps}).value.tolist() == [1.0, 0.0]


def test_what_was_not_recorded_is_undefined_from_there_on_and_does_not_vote(batch: Any) -> None:
    square = np.array([0.5, np.nan, 0.5, 0.5, 0.5, 0.5])
    t = tokens(batch, [1, 0, 0], [3, 2, 1], sum_pi_squared=square)
    credit = RULE.apply(t, Context(), EXACT)
    assert credit.reason.tolist() == [0, Reason.NOT_MEASURED, Reason.NOT_MEASURED, 0, 0, 0]
    assert credit.value[4] == 0.0  # at its place only its own return is known
    bare = RULE.apply(batch(outcome=[1, 0], lengths=[1, 1]), Context())
    assert bare.counts_by_reason() == {"NOT_MEASURED": 2}


def test_forks_neither_vote_nor_train(batch: Any) -> None:
    shape: dict[str, Any] = {"parent": [-1, -1, 0], "branch": [0, 0, 1], "state": [1, 2, 3, 1, 2]}
    credit = RULE.apply(tokens(batch, [1, 0, 50], [2, 1, 2], **shape), Context())
    expected = RULE.apply(tokens(batch, [1, 0], [2, 1], state=[1, 2, 3]), Context())
    assert credit.value[:3].tolist() == expected.value.tolist()
    assert credit.reason[3:].tolist() == [Reason.COPY, Reason.DROPPED]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("place", ["all", "loss"])
def test_whole_columns_give_what_a_loop_over_groups_and_places_gives(
    seed: int, place: str, batch: Any
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 7, 12).tolist()
    k = sum(lengths)
    task, mask = rng.integers(0, 4, 12).tolist(), rng.random(k) < 0.7
    columns = {"reward": rng.normal(size=k), "logprob": -rng.exponential(size=k)}
    t = tokens(batch, [0.0] * 12, lengths, task=task, mask=mask, sum_pi_squared=rng.random(k), **columns)
    got = RULE.apply(t, Context(), {"place": place, "singleton": "raw"}).value
    step = (1 - 2 * np.exp(t.logprob) + t.sum_pi_squared) * mask
    owner, start = t.trajectory_of_token, t.token_offsets_of_trajectory
    rows = {}
    for j in np.flatnonzero(mask):
        first, last = start[owner[j]], start[owner[j] + 1]
        at = int(mask[first:j].sum()) if place == "loss" else int(j - first)
        weight, after = step[first : j + 1].sum(), (t.reward * mask)[j:last].sum()
        rows[j] = (task[owner[j]], at, weight, after)
    for j, (group, at, _, after) in rows.items():
        same = [row for row in rows.values() if row[:2] == (group, at)]
        members = [i for i in range(12) if task[i] == group]
        if place == "loss":
            members = [i for i in members if mask[start[i] : start[i + 1]].any()]
        baseline = sum(w * g for _, _, w, g in same) / (sum(w for _, _, w, _ in same) + 1e-6)
        assert got[j] == pytest.approx(after - (baseline if len(members) > 1 else 0.0), rel=1e-9, abs=1e-9)
