"""What rules are given: forks that continue their parents, replays with reasons, the truth, the end revealed."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.errors import ExecutionError
from equipoise.execution.batches import states_of
from equipoise.execution.collect import collect
from equipoise.execution.forks import with_forks
from equipoise.execution.hindsight import hindsight_scores
from equipoise.execution.replays import replay_turns
from equipoise.execution.signals import assign_credit
from equipoise.execution.world import World
from equipoise.policies.model import save_weights
from equipoise_conditions.credit import Reason
from equipoise_preregistration import Suite


@pytest.fixture
def sampler(ran: Any) -> Any:
    world = ran.world(0)
    return world.sampler(world.model_from(ran.folders["b0/base"] / "base.safetensors"), 1.0)


def test_a_batch_can_be_walked_again(ran: Any) -> None:
    trajectories = ran.batch("b0/collect").trajectories
    before, after = states_of(ran.world(0).env, trajectories)
    assert [state.key for state in before] == trajectories.state.tolist()
    assert [len(state.admissible) for state in before] == trajectories.n_actions.tolist()
    assert [float(state.won) for state in after] == trajectories.outcome.tolist()
    assert trajectories.reward.sum() == trajectories.outcome.sum()


def test_a_fork_begins_as_its_parent_and_goes_its_own_way(ran: Any) -> None:
    for block in (0, 1):
        batch = ran.batch(f"b{block}/signals/carl")
        trajectories, transcripts = batch.trajectories, batch.transcripts
        forks = np.flatnonzero(trajectories.parent >= 0)
        assert len(forks) == 2 * 3, "three a task"
        before, after = states_of(ran.world(block).env, trajectories)
        assert [state.key for state in before] == trajectories.state.tolist()
        assert [float(state.won) for state in after] == trajectories.outcome.tolist()
        for fork in forks:
            parent, branch = int(trajectories.parent[fork]), int(trajectories.branch[fork])
            mine, theirs = int(trajectories.turn_offsets[fork]), int(trajectories.turn_offsets[parent])
            assert trajectories.task[fork] == trajectories.task[parent]
            for turn in range(branch):
                np.testing.assert_array_equal(transcripts.row(mine + turn), transcripts.row(theirs + turn))
                assert trajectories.action[mine + turn] == trajectories.action[theirs + turn]
            fork_at, parent_at = mine + branch, theirs + branch
            prompt = transcripts.row(fork_at)[: transcripts.start[fork_at]]
            np.testing.assert_array_equal(prompt, transcripts.row(parent_at)[: transcripts.start[parent_at]])
            assert trajectories.state[fork_at] == trajectories.state[parent_at]
            assert trajectories.own[mine : mine + trajectories.lengths[fork]].tolist() == [
                turn >= branch for turn in range(trajectories.lengths[fork])
            ]


def test_forks_leave_what_was_collected_as_it_was(ran: Any) -> None:
    old, new = ran.batch("b0/collect"), ran.batch("b0/signals/carl")
    n, turns = old.trajectories.n, old.trajectories.n_turns
    np.testing.assert_array_equal(new.trajectories.state[:turns], old.trajectories.state)
    np.testing.assert_array_equal(new.trajectories.outcome[:n], old.trajectories.outcome)
    for turn in range(turns):
        np.testing.assert_array_equal(new.transcripts.row(turn), old.transcripts.row(turn))
    for tokens, allowed in (
        (new.trajectories.token_offsets, new.transcripts.allowed_offsets),
        (old.trajectories.token_offsets, old.transcripts.allowed_offsets),
    ):
        assert len(allowed) == tokens[-1] + 1
    chosen = new.transcripts
    place = 0
    for turn in range(new.trajectories.n_turns):
        for token in chosen.row(turn)[chosen.start[turn] :]:
            span = slice(chosen.allowed_offsets[place], chosen.allowed_offsets[place + 1])
            assert token in chosen.allowed[span]
            place += 1


def test_sampled_log_probabilities_of_forks_are_those_of_reading_again(ran: Any, sampler: Any) -> None:
    from equipoise.policies.scoring import score

    batch = ran.batch("b0/signals/carl")
    np.testing.assert_allclose(score(sampler.model, batch.transcripts), batch.trajectories.logprob, atol=1e-5)


def test_a_fork_costs_its_own_turns_and_a_restored_state(ran: Any, sampler: Any) -> None:
    batch, cost = with_forks(ran.world(0), sampler, ran.batch("b0/collect"), {"forks": 2, "initial": 1})
    assert batch.trajectories.n == ran.batch("b0/collect").trajectories.n + 4
    own = batch.trajectories.own & (batch.trajectories.parent >= 0)[batch.trajectories.trajectory_of_turn]
    assert (cost.environment_resets, cost.environment_steps) == (4, own.sum())


def test_replays_cover_the_allowance_and_say_why_not_elsewhere(ran: Any, sampler: Any) -> None:
    batch = ran.batch("b0/collect")
    params = {"alternatives": 1, "rollouts": 3, "trajectories_per_task": 2}
    replays, cost = replay_turns(ran.world(0), sampler, batch, params)
    trajectories = batch.trajectories
    chosen = np.isin(trajectories.trajectory_of_turn, [0, 1, 4, 5])
    assert (replays.reason[~chosen] == Reason.NOT_SELECTED).all()
    assert set(replays.reason[chosen].tolist()) <= {int(Reason.DEFINED), int(Reason.NO_ALTERNATIVE)}
    measured = replays.reason == Reason.DEFINED
    assert measured.sum() > 8
    assert np.isnan(replays.factual[~measured]).all()
    assert np.isnan(replays.alternative[~measured]).all()
    assert np.isin(replays.factual[measured], [0.0, 1.0]).all()
    assert replays.alternative.shape == (trajectories.n_turns, 1, 3)
    assert cost.environment_resets == measured.sum() * 2 * 3
    left = 4 - trajectories.turn_index[measured]
    assert cost.environment_steps == left.sum() * 2 * 3
    # "open DOOR <eot>" of each draw; "LANDMARK <act>" besides between two turns that were played on
    assert cost.rollout_tokens == chosen.sum() * 16 * 3 + (left * 3 + (left - 1) * 2).sum() * 2 * 3


def test_too_few_alternatives_are_a_reason_and_never_a_zero(ran: Any, sampler: Any) -> None:
    params = {"alternatives": 2, "rollouts": 1, "trajectories_per_task": 4}
    replays, _ = replay_turns(ran.world(0), sampler, ran.batch("b0/collect"), params)
    assert (replays.reason == Reason.NO_ALTERNATIVE).all(), "two doors leave one alternative"
    assert np.isnan(replays.factual).all()


def test_a_replayed_last_turn_has_the_outcome_that_the_truth_gives_it(ran: Any, sampler: Any) -> None:
    world, batch = ran.world(0), ran.batch("b0/collect")
    params = {"alternatives": 1, "rollouts": 2, "trajectories_per_task": 4}
    replays, _ = replay_turns(world, sampler, batch, params)
    trajectories = batch.trajectories
    before, _ = states_of(world.env, trajectories)
    seen = 0
    for turn in np.flatnonzero(replays.reason == Reason.DEFINED):
        state, action = before[turn], int(trajectories.action[turn])
        if trajectories.turn_index[turn] == 3:
            seen += 1
            for measured, door in (
                (replays.factual[turn], action),
                (replays.alternative[turn, 0], 1 - action),
            ):
                after = world.env.step(state, state.admissible[door])
                assert measured.tolist() == [float(after.won)] * 2
    assert seen > 2


def test_exact_credit_is_the_environments_advantage(ran: Any) -> None:
    world, trajectories = ran.world(1), ran.batch("b1/collect").trajectories
    before, _ = states_of(world.env, trajectories)
    credit = ran.credit(1, "oracle")
    expected = [world.env.advantage(s, int(a)) for s, a in zip(before, trajectories.action, strict=True)]
    assert credit.value.tolist() == expected
    assert (credit.value > 0).any()


def test_the_end_is_revealed_and_read_at_the_temperature_of_acting(ran: Any, sampler: Any) -> None:
    world, batch = ran.world(0), ran.batch("b0/collect")
    told, cost = hindsight_scores(world, sampler, batch)
    assert told.shape == (batch.trajectories.n_turns,)
    assert (told <= 0).all()
    flat, _ = hindsight_scores(world, replace(sampler, temperature=1e6), batch)
    np.testing.assert_allclose(flat, np.log(0.5) / 3, atol=1e-5)  # one choice of two among three tokens
    assert cost.scoring_tokens == len(batch.transcripts.tokens) + 2 * batch.trajectories.n


def test_signals_say_whether_a_twin_could_differ(ran: Any) -> None:
    for block in (0, 1):
        constant = {
            name: ran.results[f"b{block}/signals/{name}"]["credit"]["constant_within_trajectories"]
            for name in ("outcome", "echo", "oracle", "noise", "carl", "replay")
        }
        assert constant == {"outcome": True, "echo": True} | dict.fromkeys(
            ("oracle", "noise", "carl", "replay"), False
        )


def test_reasons_are_counted(ran: Any) -> None:
    credit = ran.results["b0/signals/replay"]["credit"]
    assert credit["reasons"]["NOT_SELECTED"] == 2 * 2 * 4
    assert credit["examples"] == credit["reasons"]["DEFINED"]
    assert sum(credit["reasons"].values()) == credit["turns"] == 32
    assert ran.results["b0/signals/carl"]["credit"]["reasons"]["COPY"] > 0


def test_random_credit_is_the_blocks_own(ran: Any) -> None:
    assert ran.credit(0, "noise").digest() != ran.credit(1, "noise").digest()


def test_an_environment_that_does_not_know_the_truth_cannot_serve_the_exact_rule(
    make_suite: Callable[..., Suite], tmp_path: Path
) -> None:
    suite = make_suite(
        environment={
            "name": "household",
            "tasks": {"pool": 1, "held_out": 1},
            "size": {"receptacles": 3, "objects": 3},
            "horizon": 2,
        },
        collection={"rollouts_per_task": 2},
        budget={"examples": 4, "optimizer_steps": 2},
    )
    world = World(suite, 0)
    save_weights(world.fresh_model(), tmp_path / "base.safetensors")
    collect(world, tmp_path, tmp_path)
    with pytest.raises(
        ExecutionError, match=r"needs 'truth', which .* Household; .* such as bifurcation; the rule"
    ):
        assign_credit(world, "oracle", {"base": tmp_path, "collect": tmp_path}, tmp_path)


def test_streams_have_names_and_do_not_meet(ran: Any) -> None:
    world = ran.world(0)
    streams = [world.uniforms(2, name) for name in ("collect", "evaluate", "probe")]
    assert streams[0].shape == (2, 16)
    np.testing.assert_array_equal(streams[0], world.uniforms(2, "collect"))
    np.testing.assert_array_equal(streams[0], world.uniforms(5, "collect")[:2])
    for one, other in pairwise(streams):
        assert (one != other).all()
    assert (streams[0] != ran.world(1).uniforms(2, "collect")).all()
