from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from equipoise_budget import Budget, matched
from equipoise_conditions import RULES, Context, permutation


def test_every_order_of_a_trajectory_is_as_likely(batch: Any) -> None:
    t = batch(outcome=[1.0], lengths=[3])
    rng = np.random.default_rng(0)
    orders = [tuple(permutation(t, rng).tolist()) for _ in range(6000)]
    counts = [orders.count(order) for order in sorted(set(orders))]
    # Six orders, 1,000 each; 5 standard deviations are 144.
    assert len(counts) == 6
    assert all(abs(count - 1000) < 144 for count in counts)


def test_a_permutation_stays_inside_trajectories_and_leaves_copies(forest: Any) -> None:
    @given(st.integers(0, 50), st.integers(0, 2**32 - 1))
    def holds(batch_seed: int, seed: int) -> None:
        t = forest(batch_seed)
        sigma = permutation(t, np.random.default_rng(seed))
        assert np.array_equal(np.sort(sigma), np.arange(t.n_turns))
        assert np.array_equal(t.trajectory_of_turn[sigma], t.trajectory_of_turn)
        assert np.array_equal(sigma[~t.own], np.flatnonzero(~t.own))
        assert t.own[sigma[t.own]].all()
        assert np.array_equal(sigma, permutation(t, np.random.default_rng(seed)))

    holds()


def test_the_twin_of_a_sparse_rule_trains_the_same_weights_elsewhere_in_the_trajectory(forest: Any) -> None:
    for seed in range(10):
        t = forest(seed)
        credit = RULES["carl"].apply(t, Context(), {"initial": 4})
        budget = Budget(120, 10)
        plan = matched(credit.value, credit.examples, t.task_of_turn, budget, np.random.default_rng(seed))
        twin = plan.twin(permutation(t, np.random.default_rng(seed)))
        of = t.trajectory_of_turn
        assert np.array_equal(of[plan.example], of[twin.example])
        assert t.own[twin.example].all()
        assert np.array_equal(plan.weight, twin.weight)
        # The place of the credit carries nothing: turns that the rule dropped are trained too.
        assert not credit.defined[twin.example].all()
        ones = np.ones(t.n_turns, dtype=int)
        doses = [p.dose(ones, trajectory=of, task=t.task_of_turn) for p in (plan, twin)]
        assert doses[0] == doses[1]
