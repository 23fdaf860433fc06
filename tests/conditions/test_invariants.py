"""What must hold for every rule in the registry; a new rule is tested by being listed."""

import inspect
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from tests.conditions.measured import enriched, full_context, reordered

from equipoise_conditions import (
    RULES,
    Context,
    Credit,
    MissingNeed,
    Need,
    Reason,
    RuleError,
    Trajectories,
    to_tokens,
    to_turns,
)
from equipoise_conditions.projection import expected_units

EVERY = pytest.mark.parametrize("name", sorted(RULES))
DETERMINISTIC = pytest.mark.parametrize(
    "name", sorted(name for name, rule in RULES.items() if Need.GENERATOR not in rule.needs)
)
# Which trajectories are the initial ones of a tree is a matter of order, so all of them are.
CONVENTIONS = ("std", "eps", "eps_inside", "singleton", "vote", "whiten")
ALL_INITIAL = {
    name: {"initial": 99} for name in RULES if "initial" in {p.name for p in RULES[name].parameters}
}
ORDERED: dict[str, Any] = dict(ALL_INITIAL)


def measured(t: Trajectories, name: str, seed: int = 0) -> Context:
    players = "agents" if RULES[name].card.granularity == "agent" else "turns"
    return full_context(t, seed, players)


def applied(t: Trajectories, name: str, seed: int = 0, params: Any = None) -> Credit:
    return RULES[name].apply(t, measured(t, name, seed), params)


@EVERY
def test_the_same_input_gives_the_same_bits(name: str, forest: Any) -> None:
    t = enriched(forest(1), 1)
    assert len({applied(t, name).digest() for _ in range(2)}) == 1


@EVERY
@pytest.mark.parametrize("seed", [2, 3, 4])
def test_undefined_units_are_nan_and_copies_never_train(name: str, seed: int, forest: Any) -> None:
    t = enriched(forest(seed), seed)
    credit = applied(t, name, seed)
    assert credit.value.size == expected_units(credit, t)
    assert np.array_equal(np.isnan(credit.value), credit.reason != Reason.DEFINED)
    turns, tokens = to_turns(credit, t), to_tokens(credit, t)
    assert (turns.reason[~t.own] == Reason.COPY).all()
    assert not (turns.reason[t.own] == Reason.COPY).any()
    assert not tokens.defined[~t.own[t.turn_of_token]].any()
    assert not tokens.defined[~t.mask].any()
    assert turns.examples.size


@DETERMINISTIC
@pytest.mark.parametrize("seed", [5, 6])
def test_reordered_trajectories_get_reordered_credit(name: str, seed: int, forest: Any) -> None:
    t = enriched(forest(seed), seed)
    context, params = measured(t, name, seed), ORDERED.get(name)
    moved, context_moved, came = reordered(t, context, np.random.default_rng(seed).permutation(t.n))
    before = to_tokens(RULES[name].apply(t, context, params), t)
    after = to_tokens(RULES[name].apply(moved, context_moved, params), moved)
    assert np.array_equal(after.reason, before.reason[came["token"]])
    np.testing.assert_allclose(after.value, before.value[came["token"]], atol=1e-9)


@EVERY
def test_no_rule_touches_the_global_generator_or_its_input(name: str, forest: Any) -> None:
    t = enriched(forest(8), 8)
    before, digest = np.random.get_state(), t.digest()  # noqa: NPY002 - the state that must not move
    applied(t, name)
    after = np.random.get_state()  # noqa: NPY002 - the same
    assert repr(before) == repr(after)
    assert t.digest() == digest


@EVERY
def test_a_rule_needs_what_it_declares_and_nothing_else(name: str, forest: Any) -> None:
    rule, t = RULES[name], enriched(forest(9), 9)
    needed = rule.needed() - {Need.FORKS}
    full = measured(t, name)
    only = Context(**{str(need): getattr(full, need) for need in needed})
    assert rule.apply(t, only).digest() == rule.apply(t, measured(t, name)).digest()
    if needed:
        with pytest.raises(MissingNeed):
            rule.apply(t, Context())


@EVERY
def test_no_credit_is_made_of_what_was_measured_on_another_batch(name: str, forest: Any, batch: Any) -> None:
    rule, t = RULES[name], enriched(forest(10), 10)
    if rule.needed() - {Need.FORKS, Need.GENERATOR}:
        with pytest.raises(RuleError):
            rule.apply(batch(outcome=[1.0], lengths=[2]), measured(t, name))


@EVERY
def test_a_trajectory_of_one_turn_alone_in_its_group_is_no_exception(name: str, batch: Any) -> None:
    t = batch(outcome=[1.0], lengths=[1])
    credit = applied(t, name)
    assert credit.value.size == expected_units(credit, t)
    assert np.isfinite(credit.value[credit.defined]).all()


@EVERY
@pytest.mark.parametrize("outcome", [0.0, 1.0])
def test_equal_outcomes_give_finite_credit(name: str, outcome: float, batch: Any) -> None:
    t = enriched(batch(outcome=[outcome] * 4, lengths=[2, 3, 1, 2]), 1)
    credit = applied(t, name)
    assert np.isfinite(credit.value[credit.defined]).all()


@EVERY
def test_rewards_of_a_million_give_finite_credit(name: str, batch: Any) -> None:
    t = enriched(batch(outcome=[1e6, -1e6, 3e5, 0.0], lengths=[2, 3, 1, 2]), 1)
    credit = applied(t, name)
    assert np.isfinite(credit.value[credit.defined]).all()


@EVERY
def test_a_trajectory_without_a_token_in_the_loss_trains_nothing(name: str, batch: Any) -> None:
    shape: dict[str, Any] = {"outcome": [1, 0, 1, 0], "lengths": [2, 2, 2, 2]}
    mask = np.ones(8, dtype=bool)
    mask[:2] = False
    t = batch(**shape, mask=mask, token=np.arange(8), sum_pi_squared=np.full(8, 0.5))
    tokens = to_tokens(applied(t, name), t)
    assert not tokens.defined[:2].any()
    assert np.isfinite(tokens.value[tokens.defined]).all()


@EVERY
def test_a_card_is_complete_and_parameters_are_those_of_the_function(name: str) -> None:
    rule = RULES[name]
    assert rule.name == rule.card.name == name
    assert all(asdict(rule.card).values()), [key for key, value in asdict(rule.card).items() if not value]
    assert all(parameter.doc for parameter in rule.parameters)
    written = inspect.signature(rule.assign).parameters
    named = {key: p.default for key, p in written.items() if p.kind is inspect.Parameter.KEYWORD_ONLY}
    listed = {parameter.name: parameter.default for parameter in rule.parameters}
    assert named.items() <= listed.items(), "defaults in code and in the registry are one"
    if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in written.values()):
        assert named == listed


@EVERY
def test_every_preset_can_be_read_and_run(name: str, forest: Any) -> None:
    rule, t = RULES[name], enriched(forest(12), 12)
    for preset in rule.presets:
        rule.validate({"preset": preset})
        credit = applied(t, name, params={"preset": preset})
        assert np.isfinite(credit.value[credit.defined]).all()
    if rule.presets:
        with pytest.raises(RuleError, match="preset: expected one of"):
            rule.validate({"preset": "nobody's"})


@EVERY
def test_an_unknown_parameter_is_refused(name: str, forest: Any) -> None:
    t = enriched(forest(11), 11)
    with pytest.raises(RuleError, match=f"rule '{name}': unknown parameter 'stdd'"):
        applied(t, name, params={"stdd": "sample"})


def test_conventions_that_rules_share_have_one_default() -> None:
    """Two rules in one suite must not differ by an epsilon that nobody chose."""
    seen: dict[str, dict[str, object]] = {}
    for name, rule in RULES.items():
        for parameter in rule.parameters:
            if parameter.name in CONVENTIONS:
                seen.setdefault(parameter.name, {})[name] = parameter.default
    for parameter_name, defaults in seen.items():
        assert len(set(map(str, defaults.values()))) == 1, (parameter_name, defaults)
