"""Scripted judges: what they say of an action, how often they err, and what asking them costs."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.platform.execution.supplied import Block, collected

from equipoise.environments.household import Household
from equipoise.environments.household.expert import UNREACHABLE, remaining
from equipoise.environments.registry import make_environment
from equipoise.errors import ExecutionError
from equipoise.execution.batches import states_of
from equipoise.execution.forks import with_forks
from equipoise.execution.supplies.judging import verdicts
from equipoise_conditions import RULES
from equipoise_conditions.rules.judges.router import judged_share
from equipoise_preregistration import Suite


@pytest.fixture(scope="module")
def block(make_suite: Callable[..., Suite], tmp_path_factory: pytest.TempPathFactory) -> Block:
    return collected(make_suite(), tmp_path_factory.mktemp("block"))


@pytest.fixture(scope="module")
def house() -> Household:
    config = {
        "tasks": {"pool": 6, "held_out": 1, "demonstrations": 4},
        "size": {"receptacles": 4, "objects": 4},
    }
    environment = make_environment("household", config, 5)
    assert isinstance(environment, Household)
    return environment


def test_every_command_of_the_plan_is_judged_good_and_brings_the_end_nearer(house: Household) -> None:
    for task in range(house.tasks("pool")):
        state, known = house.reset("pool", task), dict[int, int]()
        left = remaining(state, known)
        assert 0 < left < UNREACHABLE
        while not state.won:
            command = house.plan(state)
            assert house.judge(state, state.admissible.index(command)) == 1
            state = state.step(command)
            left -= 1
            assert remaining(state, {}) == left
        assert left == 0


def test_looking_around_is_judged_neutral_and_undoing_bad(house: Household) -> None:
    undone = 0
    for task in range(house.tasks("pool")):
        state = house.reset("pool", task)
        for command in ("look", "inventory", "help"):
            if command in state.admissible:
                assert house.judge(state, state.admissible.index(command)) == 0
        while not state.won:
            after = state.step(house.plan(state))
            verdicts_ = [house.judge(after, action) for action in range(len(after.admissible))]
            back = [
                a for a, c in enumerate(after.admissible) if not after.won and after.step(c).key == state.key
            ]
            undone += len(back)
            assert all(verdicts_[action] == -1 for action in back)
            state = after
    assert undone > 5


def test_the_judge_of_a_household_compares_what_the_plan_has_left(house: Household) -> None:
    rng = np.random.default_rng(2)
    seen: set[int] = set()
    for task in range(3):
        state = house.reset("pool", task)
        for _ in range(15):
            action = int(rng.integers(len(state.admissible)))
            after = state.step(state.admissible[action])
            saved = remaining(state, {}) - remaining(after, {})
            verdict = house.judge(state, action)
            assert verdict == np.sign(saved)
            seen.add(verdict)
            if after.won:
                break
            state = after
    assert seen == {-1, 0, 1}


def test_the_judge_of_the_corridor_tells_the_sign_of_the_truth(block: Block) -> None:
    before, _ = states_of(block.world.env, block.batch.trajectories)
    env: Any = block.world.env
    told = [env.judge(s, int(a)) for s, a in zip(before, block.batch.trajectories.action, strict=True)]
    truth = [env.advantage(s, int(a)) for s, a in zip(before, block.batch.trajectories.action, strict=True)]
    assert told == np.sign(np.round(truth, 9)).tolist()
    assert set(told) == {-1, 0, 1}
    assert verdicts(block.case("turn_judge")).score[:, 0].tolist() == told


def test_a_call_costs_the_transcript_up_to_the_action(block: Block) -> None:
    case = block.case("turn_judge", {"votes": 3})
    judged = verdicts(case)
    turns = block.batch.trajectories.n_turns
    assert judged.score.shape == (turns, 3)
    assert (judged.score == judged.score[:, :1]).all(), "a script that does not err repeats itself"
    read = sum(len(block.batch.transcripts.row(turn)) for turn in range(turns))
    assert (case.spent.judge_calls, case.spent.judge_tokens) == (3 * turns, 3 * read)
    assert case.spent.flops == 0


def test_an_erring_judge_errs_as_often_as_was_asked_for_and_alike_for_everybody(block: Block) -> None:
    sound = verdicts(block.case("turn_judge")).score
    erring = verdicts(block.case("turn_judge", {"votes": 200, "error": 0.25})).score
    wrong = erring != sound
    assert wrong.mean() == pytest.approx(0.25, abs=0.02)
    assert set(np.unique(erring)) == {-1.0, 0.0, 1.0}
    of_zero = erring[(sound[:, 0] == 0), :]
    assert (of_zero == 1).mean() == pytest.approx(0.125, abs=0.02)
    assert (of_zero == -1).mean() == pytest.approx(0.125, abs=0.02)
    again = verdicts(block.case("capo", {"votes": 200, "error": 0.25})).score
    np.testing.assert_array_equal(erring, again)
    assert (verdicts(block.case("turn_judge", {"error": 1.0})).score != sound).all()


def test_a_router_pays_for_the_turns_it_routes(block: Block) -> None:
    params = {"quantile": 0.3}
    case = block.case("router", params)
    judged = verdicts(case)
    share = judged_share(block.batch.trajectories, params)
    assert 0 < share < 0.6
    assert judged.asked.mean() == share
    assert case.spent.judge_calls == judged.asked.sum()
    assert np.isnan(judged.score[~judged.asked]).all()
    whole = block.case("router", params)
    whole.rule.apply(block.batch.trajectories, _context(judged), params)


def _context(judged: Any) -> Any:
    from equipoise_conditions import Context

    return Context(judge=judged)


def test_copies_are_not_asked_about_again(block: Block) -> None:
    forked, _ = with_forks(block.world, block.sampler, block.batch, {"forks": 2, "initial": 1})
    case = block.case("turn_judge", batch=forked)
    judged = verdicts(case)
    np.testing.assert_array_equal(judged.asked, forked.trajectories.own)
    assert case.spent.judge_calls == forked.trajectories.own.sum()


def test_an_unknown_judge_and_an_environment_without_one_are_refused(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ExecutionError, match=r"judge: expected one of scripted, got 'oracle'"):
        verdicts(block.case("turn_judge", {"judge": "oracle"}))
    monkeypatch.delattr(type(block.world.env), "judge")
    with pytest.raises(ExecutionError, match=r"got Corridor; use household or bifurcation, or a rule"):
        verdicts(block.case("turn_judge"))
    assert "turn_judge" in RULES
