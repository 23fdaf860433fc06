from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RuleError, select_forks


def pairs(forks: Any) -> list[tuple[int, int]]:
    return list(zip(forks.parent.tolist(), forks.branch.tolist(), strict=True))


def test_the_state_of_lowest_density_is_forked_first(batch: Any) -> None:
    # One rollout: n = 1 everywhere, H = 1, 4, 2, so densities are 1, 1/4, 1/2.
    t = batch(outcome=[1.0], lengths=[3], logprob=[-1.0, -4.0, -2.0])
    assert pairs(select_forks(t, 1)) == [(0, 1)]
    # A second fork at turn 1 would have density 2/4, no less than turn 2's 1/2: the earlier turn wins.
    assert pairs(select_forks(t, 4)) == [(0, 1), (0, 1), (0, 2), (0, 1)]


def test_samples_at_a_state_share_its_entropy_and_its_count(batch: Any) -> None:
    # The fork's action has surprise 0.5: at turn 1, n = 2 and H = (4 + 0.5)/2, density 8/9 > 1/2.
    t = batch(
        outcome=[1.0, 0.0], lengths=[3, 2], parent=[-1, 0], branch=[0, 1],
        state=[1, 2, 3, 1, 2], logprob=[-1.0, -4.0, -2.0, -1.0, -0.5],
    )  # fmt: skip
    assert pairs(select_forks(t, 2)) == [(0, 2), (0, 1)]


def test_surprise_is_a_mean_over_tokens(batch: Any) -> None:
    # Turn 0 has two tokens of 2 nats, turn 1 one of 3: means 2 and 3, though the sums are 4 and 3.
    t = batch(outcome=[1.0], lengths=[2], token_offsets=[0, 2, 3], logprob=[-2.0, -2.0, -3.0])
    assert pairs(select_forks(t, 1)) == [(0, 1)]


def test_forced_actions_are_never_forked(batch: Any) -> None:
    t = batch(outcome=[1.0], lengths=[3], n_actions=[1, 2, 3], logprob=[-1.0, 0.0, -0.1])
    assert pairs(select_forks(t, 1)) == [(0, 2)]
    forced = batch(outcome=[1.0], lengths=[2], n_actions=[1, 1])
    assert pairs(select_forks(forced, 3)) == []


def test_every_task_gets_its_own_forks_from_its_initial_trajectories(batch: Any) -> None:
    t = batch(
        outcome=[1.0, 0.0, 0.0], lengths=[1, 2, 2], task=[5, 3, 5], logprob=[-1.0, -1.0, -2.0, -9.0, -9.0]
    )
    assert pairs(select_forks(t, 1)) == [(1, 1), (0, 0)]
    # With two initial rollouts the root of task 5 has two samples: n = 2, H = 5; turn 1 has 1/9.
    assert pairs(select_forks(t, 1, initial=2)) == [(1, 1), (2, 1)]


def test_waves_of_one_build_a_tree_whose_forks_differ_from_their_parents(forest: Any) -> None:
    t = forest(0)
    chosen = select_forks(t, 5, initial=4)
    assert np.bincount(t.task[chosen.parent]).tolist() == [5, 5, 5]
    assert (chosen.branch >= t.branch[chosen.parent]).all()
    assert (chosen.branch < t.lengths[chosen.parent]).all()


def test_no_forks_cannot_be_asked_for(batch: Any) -> None:
    with pytest.raises(RuleError, match="expected n and initial of at least 1, got 0 and 1"):
        select_forks(batch(outcome=[1.0], lengths=[1]), 0)
