"""What must hold for every rule in the registry; a new rule is tested by being listed."""

import inspect
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RULES, Context, MissingNeed, Need, Reason, Replays, RuleError, Trajectories

EVERY = pytest.mark.parametrize("name", sorted(RULES))
DETERMINISTIC = pytest.mark.parametrize(
    "name", sorted(name for name, rule in RULES.items() if Need.GENERATOR not in rule.needs)
)


def full_context(t: Trajectories, seed: int = 0) -> Context:
    rng = np.random.default_rng(seed)
    reason = rng.choice([0, 3, 4], t.n_turns)
    measured = (reason == 0)[:, None]
    factual = np.where(measured, rng.integers(0, 2, (t.n_turns, 3)), np.nan)
    alternative = np.where(measured[..., None], rng.integers(0, 2, (t.n_turns, 4, 3)), np.nan)
    hindsight = np.where(rng.random(t.n_turns) < 0.1, np.nan, -rng.exponential(size=t.n_turns))
    truth = np.where(rng.random(t.n_turns) < 0.1, np.nan, rng.normal(size=t.n_turns))
    return Context(np.random.default_rng(7), hindsight, Replays(reason, factual, alternative), truth)


def reordered(t: Trajectories, order: Any) -> tuple[Trajectories, Any]:
    """Return the batch with its trajectories in another order, and where each of its turns came from."""
    place = np.argsort(order)
    turns = np.concatenate([np.arange(t.turn_offsets[i], t.turn_offsets[i + 1]) for i in order])
    parent = t.parent[order]
    moved = Trajectories(
        task=t.task[order],
        outcome=t.outcome[order],
        turn_offsets=np.concatenate([[0], np.cumsum(t.lengths[order])]),
        parent=np.where(parent >= 0, place[parent], -1),
        branch=t.branch[order],
        state=t.state[turns],
        action=t.action[turns],
        n_actions=t.n_actions[turns],
        reward=t.reward[turns],
        token_offsets=t.token_offsets,  # one token a turn
        logprob=t.logprob[turns],
        entropy=t.entropy[turns],
    )
    return moved, turns


def moved_context(context: Context, turns: Any) -> Context:
    replays = context.the_replays()
    return Context(
        None,
        context.the_hindsight()[turns],
        Replays(replays.reason[turns], replays.factual[turns], replays.alternative[turns]),
        context.the_truth()[turns],
    )


@EVERY
def test_the_same_input_gives_the_same_bits(name: str, forest: Any) -> None:
    t = forest(1)
    digests = {RULES[name].apply(t, full_context(t)).digest() for _ in range(2)}
    assert len(digests) == 1


@EVERY
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_undefined_turns_are_nan_and_copies_are_copies(name: str, seed: int, forest: Any) -> None:
    t = forest(seed)
    credit = RULES[name].apply(t, full_context(t, seed))
    assert np.array_equal(np.isnan(credit.value), credit.reason != Reason.DEFINED)
    assert (credit.reason[~t.own] == Reason.COPY).all()
    assert not (credit.reason[t.own] == Reason.COPY).any()
    assert credit.examples.size


@DETERMINISTIC
@pytest.mark.parametrize("seed", [5, 6])
def test_reordered_trajectories_get_reordered_credit(name: str, seed: int, forest: Any) -> None:
    t = forest(seed)
    context = full_context(t, seed)
    moved, turns = reordered(t, np.random.default_rng(seed).permutation(t.n))
    # Which trajectories are the initial ones is a matter of order, so all of them are.
    params = {"initial": 99} if name == "carl" else {}
    before = RULES[name].apply(t, context, params)
    after = RULES[name].apply(moved, moved_context(context, turns), params)
    assert np.array_equal(after.reason, before.reason[turns])
    np.testing.assert_allclose(after.value, before.value[turns], atol=1e-9)


@EVERY
def test_no_rule_touches_the_global_generator_or_its_input(name: str, forest: Any) -> None:
    t = forest(8)
    before, digest = np.random.get_state(), t.digest()  # noqa: NPY002 - the state that must not move
    RULES[name].apply(t, full_context(t))
    after = np.random.get_state()  # noqa: NPY002 - the same
    assert repr(before) == repr(after)
    assert t.digest() == digest


@EVERY
def test_a_rule_needs_what_it_declares_and_nothing_else(name: str, forest: Any) -> None:
    rule, t = RULES[name], forest(9)
    measured = rule.needs - {Need.FORKS}
    full = full_context(t)
    only = Context(**{str(need): getattr(full, need) for need in measured})
    assert rule.apply(t, only).digest() == rule.apply(t, full_context(t)).digest()
    if measured:
        with pytest.raises(MissingNeed):
            rule.apply(t, Context())


@EVERY
def test_no_credit_is_trained_twice_or_on_another_batch(name: str, forest: Any, batch: Any) -> None:
    rule, t = RULES[name], forest(10)
    if rule.needs & {Need.HINDSIGHT, Need.REPLAYS, Need.TRUTH}:
        with pytest.raises(RuleError, match="measure it on this batch"):
            rule.apply(batch(outcome=[1.0], lengths=[2]), full_context(t))


@EVERY
def test_a_card_is_complete_and_parameters_are_those_of_the_function(name: str) -> None:
    rule = RULES[name]
    assert rule.name == rule.card.name == name
    assert all(asdict(rule.card).values())
    assert rule.card.granularity in ("trajectory", "turn")
    assert all(parameter.doc for parameter in rule.parameters)
    written = inspect.signature(rule.assign).parameters
    named = {key: p.default for key, p in written.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    listed = {parameter.name: parameter.default for parameter in rule.parameters}
    assert named.items() <= listed.items(), "defaults in code and in the registry are one"
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in written.values()):
        assert named == listed


@EVERY
def test_an_unknown_parameter_is_refused(name: str, forest: Any) -> None:
    t = forest(11)
    with pytest.raises(RuleError, match=f"rule '{name}': unknown parameter 'stdd'"):
        RULES[name].apply(t, full_context(t), {"stdd": "sample"})
