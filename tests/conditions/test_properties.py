"""Laws that rules obey whatever the numbers: sums that telescope, games that are shared out, precision."""

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conditions.conftest import make_batch
from tests.conditions.measured import enriched, full_context

from equipoise_conditions import (
    RULES,
    Coalitions,
    Context,
    Continuations,
    FloatArray,
    Need,
    Trajectories,
    to_tokens,
    to_turns,
)

# Half precision of single floats, and what a division by a deviation may make of it.
SINGLE = 2e-3


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), lengths=st.lists(st.integers(1, 8), min_size=1, max_size=6))
def test_vineppo_telescopes_to_the_outcome_minus_the_first_value(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    t = make_batch(outcome=rng.random(len(lengths)).tolist(), lengths=lengths)
    rollouts = rng.random((t.n_turns, 4))
    context = Context(continuations=Continuations(np.zeros(t.n_turns, dtype=int), rollouts))
    credit = RULES["vineppo"].apply(t, context)
    total = np.add.reduceat(credit.value, t.turn_offsets[:-1])
    first = rollouts.mean(axis=1)[t.turn_offsets[:-1]]
    np.testing.assert_allclose(total, t.outcome - first, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), players=st.lists(st.integers(1, 6), min_size=1, max_size=4))
def test_shapley_values_share_out_the_game_and_treat_equals_alike(seed: int, players: list[int]) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate(([0], np.cumsum([2**n for n in players])))
    value = np.concatenate([symmetric_game(n, rng) for n in players])
    agents = np.concatenate([np.arange(n) for n in players])
    t = make_batch(outcome=[0.0] * len(players), lengths=players, agent=agents)
    credit = RULES["shapley"].apply(t, Context(coalitions=Coalitions(np.array(players), offsets, value)))
    shared = np.bincount(t.agent_units[0], credit.value)
    np.testing.assert_allclose(shared, value[offsets[1:] - 1] - value[offsets[:-1]], atol=1e-9)
    for trajectory, n in enumerate(players):
        if n > 1:  # players 0 and 1 are interchangeable
            first = credit.value[t.agent_units[0] == trajectory][:2]
            assert first[0] == pytest.approx(first[1])


def symmetric_game(n: int, rng: np.random.Generator) -> FloatArray:
    """Random values in which players 0 and 1 may be exchanged."""
    value: FloatArray = rng.normal(size=2**n)
    if n > 1:
        for mask in range(2**n):
            if mask & 1 and not mask & 2:
                value[mask ^ 3] = value[mask]
    return value


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), lengths=st.lists(st.integers(1, 6), min_size=2, max_size=8))
def test_gigpo_on_states_that_nobody_shares_is_grpo(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    t = make_batch(
        outcome=rng.random(len(lengths)).tolist(),
        lengths=lengths,
        task=rng.integers(0, 2, len(lengths)).tolist(),
    )
    gigpo = RULES["gigpo"].apply(t, Context())
    np.testing.assert_allclose(gigpo.value, to_turns(RULES["grpo"].apply(t, Context()), t).value, atol=1e-12)


def in_single(value: Any) -> Any:
    """The same with every number rounded to single precision."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return value.astype(np.float32)
    if hasattr(value, "__dataclass_fields__"):
        return replace(value, **{f.name: in_single(getattr(value, f.name)) for f in fields(value)})
    return value


@pytest.mark.parametrize(
    "name", sorted(name for name, rule in RULES.items() if Need.GENERATOR not in rule.needs)
)
def test_single_and_double_precision_agree(name: str, forest: Any) -> None:
    t = enriched(forest(21), 21)
    players = "agents" if RULES[name].card.granularity == "agent" else "turns"
    context = replace(full_context(t, 21, players), generator=None)
    rounded = Trajectories(**{key: in_single(column) for key, column in t.columns.items()})
    double = to_tokens(RULES[name].apply(t, context), t)
    single = to_tokens(RULES[name].apply(rounded, in_single(context)), rounded)
    assert np.array_equal(double.reason, single.reason)
    scale = max(1.0, float(np.nanmax(np.abs(double.value))))
    np.testing.assert_allclose(single.value, double.value, atol=SINGLE * scale)
