"""What is measured for rules by playing on and by reading again, and what that costs."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.platform.execution.supplied import Block, collected

from equipoise.execution.batches import Batch, states_of
from equipoise.execution.forks import with_forks
from equipoise.execution.signals import assign_credit
from equipoise.execution.supplies.continuations import continuations
from equipoise.execution.supplies.greedy import greedy_outcomes
from equipoise.execution.supplies.offered import SUPPLIED
from equipoise.execution.supplies.planning import planning_tokens
from equipoise.execution.supplies.readings import log_ratio, outcome_scores, verbalised
from equipoise.execution.supplies.restored import first_of_each_task, restored_states
from equipoise.execution.supplies.settings import settings_of
from equipoise.execution.supplies.table import SUPPLIERS, measure
from equipoise.policies.episodes import Start
from equipoise.policies.rollout import opening
from equipoise.policies.tokens import WordTokens
from equipoise_budget import Cost
from equipoise_conditions import RULES, Need, Reason
from equipoise_preregistration import Suite


@pytest.fixture(scope="module")
def block(make_suite: Callable[..., Suite], tmp_path_factory: pytest.TempPathFactory) -> Block:
    return collected(make_suite(), tmp_path_factory.mktemp("block"))


def test_what_is_offered_is_what_is_supplied() -> None:
    assert frozenset({*SUPPLIERS, Need.FORKS, Need.GENERATOR}) == SUPPLIED


@pytest.mark.parametrize("need", sorted(SUPPLIERS))
def test_every_supply_is_the_same_bits_again_and_has_its_price(block: Block, need: Need) -> None:
    params = {"alternatives": 1, "rollouts": 2, "trajectories_per_task": 2}
    cases = [block.case(params=params) for _ in range(2)]
    one, other = (SUPPLIERS[need](case) for case in cases)
    for column in vars(one) if not isinstance(one, np.ndarray) else ():
        np.testing.assert_array_equal(getattr(one, column), getattr(other, column))
    if isinstance(one, np.ndarray):
        np.testing.assert_array_equal(one, other)
    assert cases[0].spent == cases[1].spent
    free = {Need.TRUTH, Need.PLANNING}
    assert (cases[0].spent == Cost()) == (need in free)


def test_continuations_are_outcomes_of_playing_on_from_every_turn(block: Block) -> None:
    case = block.case(params={"rollouts": 3})
    measured, trajectories = continuations(case), block.batch.trajectories
    assert (measured.reason == Reason.DEFINED).all()
    assert measured.outcome.shape == (trajectories.n_turns, 3)
    assert np.isin(measured.outcome, [0.0, 1.0]).all()
    before, _ = states_of(block.world.env, trajectories)
    lost = np.array([not state.right for state in before])  # type: ignore[attr-defined]
    assert lost.any()
    assert (measured.outcome[lost] == 0).all(), "behind a wrong door nothing can be won"
    distinct = {
        (int(trajectories.task_of_turn[turn]), *block.batch.transcripts.row(turn)[:start].tolist())
        for turn, start in enumerate(block.batch.transcripts.start.tolist())
    }
    left = sum(4 - (len(text) - 4) // 5 for text in distinct)
    assert case.spent.environment_resets == 3 * len(distinct)
    assert case.spent.environment_steps == 3 * left
    # "open DOOR <eot>" of each turn and "LANDMARK <act>" between two
    assert case.spent.rollout_tokens == 3 * (3 * left + 2 * (left - len(distinct)))


def test_the_same_state_of_two_trajectories_is_continued_alike(block: Block) -> None:
    measured, trajectories = continuations(block.case()), block.batch.trajectories
    first = measured.outcome[trajectories.turn_offsets[:-1]]
    assert first.shape[1] == 4, "for a rule that does not say how many"
    for task in (0, 1):
        of_task = first[trajectories.task == task]
        np.testing.assert_array_equal(of_task, np.broadcast_to(of_task[0], of_task.shape))


def test_continuation_m_does_not_depend_on_what_else_is_continued(block: Block) -> None:
    few = continuations(block.case(params={"rollouts": 2, "trajectories_per_task": 1}))
    all_ = continuations(block.case(params={"rollouts": 2}))
    known = few.reason == Reason.DEFINED
    np.testing.assert_array_equal(few.outcome[known], all_.outcome[known])
    chosen = np.isin(block.batch.trajectories.trajectory_of_turn, [0, 4])
    np.testing.assert_array_equal(known, chosen)
    assert (few.reason[~chosen] == Reason.NOT_SELECTED).all()


def test_a_state_that_is_another_than_it_was_is_not_continued(block: Block) -> None:
    trajectories = block.batch.trajectories
    state = trajectories.state.copy()
    state[trajectories.turn_offsets[1] + 2] += 1
    shown = block.batch.transcripts.tokens.copy()
    shown[block.batch.transcripts.offsets[3] + 1] = block.world.words.end
    moved = Batch(replace(trajectories, state=state), replace(block.batch.transcripts, tokens=shown))
    case = block.case(batch=moved)
    measured = continuations(case)
    lost = np.flatnonzero(measured.reason == Reason.NOT_RESTORED).tolist()
    second, fourth = int(trajectories.turn_offsets[1]), int(trajectories.turn_offsets[3])
    assert lost == [second + 2, second + 3, *range(fourth, fourth + 4)]
    assert np.isnan(measured.outcome[lost]).all()
    found = restored_states(block.world.env, block.world.words, block.batch)
    assert len(found) == trajectories.n_turns


def test_turns_of_a_parent_are_continued_for_the_parent_only(block: Block) -> None:
    forked, _ = with_forks(block.world, block.sampler, block.batch, {"forks": 2, "initial": 1})
    measured = continuations(block.case(batch=forked))
    np.testing.assert_array_equal(measured.reason == Reason.COPY, ~forked.trajectories.own)
    assert (measured.reason[forked.trajectories.own] == Reason.DEFINED).all()


def test_the_first_trajectories_of_a_task_are_the_first_in_the_batch() -> None:
    task = np.array([5, 2, 5, 5, 2, 7])
    assert first_of_each_task(task, 1).tolist() == [True, True, False, False, False, True]
    assert first_of_each_task(task, 2).tolist() == [True, True, True, False, True, True]


def test_a_greedy_policy_takes_the_likeliest_action_whatever_the_draws(block: Block) -> None:
    world = block.world
    states = [world.env.reset("pool", task) for task in (0, 0, 1)]
    starts = [Start(state, opening(world.words, state)) for state in states]
    greedy = replace(block.sampler, greedy=True)
    one = greedy.play(starts, np.zeros((3, 1)))
    other = greedy.play(starts, np.random.default_rng(0).random((3, 9)))
    assert [e.actions for e in one] == [e.actions for e in other]
    assert one[0].actions == one[1].actions
    # Two doors: the likelier one has at least half of the chance.
    chances = [[p for p, node in zip(e.logprobs, e.nodes, strict=True) if node >= 0] for e in one]
    assert np.exp(chances).min() >= 0.5
    cold = replace(block.sampler, temperature=1e-4).play(starts, np.full((3, 20), 0.5))
    assert [e.actions for e in cold] == [e.actions for e in one]


def test_greedy_outcomes_are_of_one_episode_a_task(block: Block) -> None:
    case = block.case("remax")
    outcome, task = greedy_outcomes(case), block.batch.trajectories.task
    assert outcome.shape == task.shape
    assert len({(t, o) for t, o in zip(task.tolist(), outcome.tolist(), strict=True)}) == 2
    assert (case.spent.environment_resets, case.spent.environment_steps) == (2, 2 * 4)
    assert case.spent.rollout_tokens == 2 * (4 + 4 * 3 + 3 * 2)


def test_an_outcome_is_told_in_words_where_there_are_words_for_it() -> None:
    words = WordTokens(["door", "success", "failure", "yes", "no"])
    assert words.decode(verbalised(words, won=True)) == "<end> success"
    assert words.decode(verbalised(words, won=False)) == "<end> failure"
    half = WordTokens(["success", "yes", "no"])
    assert half.decode(verbalised(half, won=False)) == "<end> no"
    none = WordTokens(["door"])
    told = [none.decode(verbalised(none, won=won)) for won in (True, False)]
    assert told == ["<end> <end>", "<end> <eot>"]


def test_outcomes_are_told_and_read_at_the_temperature_of_acting(block: Block) -> None:
    case = block.case("outcome_ratio")
    told = outcome_scores(case)
    assert told.shape == (block.batch.trajectories.n_turns,)
    assert (told <= 0).all()
    assert case.spent.scoring_tokens == len(block.batch.transcripts.tokens) + 2 * block.batch.trajectories.n
    flat = outcome_scores(replace(case, sampler=replace(block.sampler, temperature=1e6)))
    np.testing.assert_allclose(flat, np.log(0.5) / 3, atol=1e-5)
    swapped = replace(block.batch.trajectories, outcome=1.0 - block.batch.trajectories.outcome)
    other = outcome_scores(block.case("outcome_ratio", batch=replace(block.batch, trajectories=swapped)))
    assert (told != other).any(), "it matters which outcome is told"


def test_the_log_ratio_is_what_the_warm_start_changed(block: Block) -> None:
    case = block.case("r_to_q")
    ratio = log_ratio(case)
    untaught = log_ratio(replace(case, sampler=replace(block.sampler, model=block.world.fresh_model())))
    assert ratio.shape == (block.batch.trajectories.n_tokens,)
    assert (untaught == 0).all()
    assert (ratio != 0).any()
    forced = np.diff(block.batch.transcripts.allowed_offsets) == 1
    assert np.abs(ratio[forced]).max() < 1e-6, "a token without a choice has chance 1 under both"
    assert case.spent.scoring_tokens == 2 * (2 * len(block.batch.transcripts.tokens))


def test_planning_tokens_are_phrases_that_most_successes_share(block: Block) -> None:
    assert not planning_tokens(block.case("hicra")).any(), "a command of two words holds no phrase"
    words = block.world.words
    transcripts, trajectories = block.batch.transcripts, block.batch.trajectories
    long = np.full(len(transcripts.start), 3, dtype=np.int64)
    assert (transcripts.end - transcripts.start == long).all()
    won = np.array([1.0, 1.0, 1.0, 0.0] * 2)
    tokens = transcripts.tokens.copy()
    for turn, owner in enumerate(transcripts.trajectory.tolist()):
        begin = int(transcripts.offsets[owner] + transcripts.start[turn])
        # Each command becomes three words; the first of every trajectory is the same, the others are told apart.
        said = (words.bos, words.act, words.end) if turn % 4 == 0 else (words.bos, owner, turn)
        tokens[begin : begin + 3] = said
    batch = Batch(replace(trajectories, outcome=won), replace(transcripts, tokens=tokens))
    marked = planning_tokens(block.case("hicra", batch=batch))
    np.testing.assert_array_equal(marked, np.repeat(trajectories.turn_index == 0, 3))
    alone = replace(batch, trajectories=replace(trajectories, outcome=np.eye(8)[0]))
    assert not planning_tokens(block.case("hicra", batch=alone)).any(), "one success shares with none"


def test_a_rule_that_hands_its_turns_on_is_measured_for_with_the_other_rules_settings() -> None:
    router = RULES["router"].validate({"over": "replay", "over_parameters": {"rollouts": 7}})
    assert settings_of(router) == RULES["replay"].validate({"rollouts": 7})
    assert settings_of({"forks": 2}) == {"forks": 2}


def test_a_context_holds_what_the_parameters_ask_for_and_no_more(block: Block) -> None:
    params = {"over": "replay", "over_parameters": {"alternatives": 1, "rollouts": 2}}
    context = measure(block.case("router", params))
    assert context.replays is not None
    assert context.replays.factual.shape[1] == 2
    assert context.judge is None
    assert context.generator is None
    assert measure(block.case("random")).generator is not None


def test_signals_record_what_was_supplied_and_how_much_of_it_is_missing(
    make_suite: Callable[..., Suite], block: Block
) -> None:
    listed: list[dict[str, Any]] = [
        {"id": "vine", "rule": "vineppo", "baseline": True},
        {"id": "remax", "rule": "remax"},
        {"id": "replay", "rule": "replay", "alternatives": 2, "trajectories_per_task": 1},
        {"id": "grpo", "rule": "grpo"},
        {"id": "fork", "rule": "carl", "forks": 1},
    ]
    world = replace(block.world, suite=make_suite(conditions=listed))
    turns = block.batch.trajectories.n_turns
    results: dict[str, Any] = {}
    for entry in listed:
        name = str(entry["id"])
        (block.folder / name).mkdir()
        places = {"base": block.folder, "collect": block.folder}
        results[name] = assign_credit(world, name, places, block.folder / name)
    assert results["vine"]["supplied"] == {"continuations": {"DEFINED": turns}}
    assert results["replay"]["supplied"] == {
        "replays": {"NOT_SELECTED": turns - 8, "NO_ALTERNATIVE": 8},
    }
    assert results["fork"]["supplied"] == {"forks": {}}
    assert results["remax"]["supplied"] == {"greedy": {"DEFINED": 8}}
    assert results["grpo"]["supplied"] == {}
    credit = results["grpo"]["credit"]
    assert (credit["granularity"], credit["units"], credit["turns"], credit["examples"]) == (
        "episode",
        8,
        turns,
        turns,
    )
    assert credit["shuffle_active_share"] == 0.0
    assert credit["constant_within_trajectories"] is True
    assert results["vine"]["credit"]["shuffle_active_share"] > 0
    assert results["vine"]["credit"]["constant_within_trajectories"] is False
    assert results["vine"]["cost"]["environment_resets"] > 0


@pytest.mark.parametrize("name", sorted(name for name in RULES if RULES[name].needed() <= SUPPLIED))
def test_every_rule_whose_needs_are_supplied_gives_credit_on_what_a_worker_measures(
    name: str, block: Block
) -> None:
    rule, batch = RULES[name], block.batch
    known = {parameter.name for parameter in rule.parameters}
    few = {"forks": 2, "alternatives": 1, "rollouts": 2}
    params = rule.validate({key: value for key, value in few.items() if key in known})
    if Need.FORKS in rule.needed(params):
        batch, _ = with_forks(block.world, block.sampler, batch, params)
    case = block.case(name, params, batch)
    credit = rule.apply(batch.trajectories, measure(case), params)
    assert credit.defined.any()
    assert np.isfinite(credit.value[credit.defined]).all()
    paid = rule.needed(params) - {Need.FORKS, Need.GENERATOR, Need.TRUTH, Need.PLANNING}
    assert (case.spent != Cost()) == bool(paid)
