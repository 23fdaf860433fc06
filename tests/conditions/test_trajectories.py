from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise_conditions import RuleError, Trajectories

BATCH = Any


def test_offsets_lay_out_turns_and_their_own_part(batch: BATCH) -> None:
    t = batch(
        outcome=[1, 0, 0], lengths=[3, 1, 2], task=[4, 7, 4], parent=[-1, -1, 0], branch=[0, 0, 1],
        state=[1, 2, 3, 9, 1, 2], action=[0, 1, 2, 0, 0, 2],
    )  # fmt: skip
    assert (t.n, t.n_turns) == (3, 6)
    assert t.lengths.tolist() == [3, 1, 2]
    assert t.trajectory_of_turn.tolist() == [0, 0, 0, 1, 2, 2]
    assert t.turn_index.tolist() == [0, 1, 2, 0, 0, 1]
    assert t.task_of_turn.tolist() == [4, 4, 4, 7, 4, 4]
    assert t.own.tolist() == [True, True, True, True, False, True]
    assert t.collected.tolist() == [True, True, False]


def test_all_faults_are_told_at_once(batch: BATCH) -> None:
    with pytest.raises(RuleError) as caught:
        batch(outcome=[np.inf, 0.0], lengths=[1, 1], action=[5, 0], n_actions=[3, 0], logprob=[0.5, np.nan])
    said = str(caught.value)
    for part in (
        "outcome: expected a finite number, got inf at trajectory 0",
        "action: expected an index below n_actions, got 5 at turn 0 (2 in all)",
        "n_actions: expected at least 1, got 0 at turn 1",
        "logprob: expected a finite number, at most 0, got 0.5 at token 0 (2 in all)",
    ):
        assert part in said


def test_a_column_of_the_wrong_length_is_refused(batch: BATCH) -> None:
    with pytest.raises(RuleError, match="entropy: expected 3 entries, got 2"):
        batch(outcome=[1.0], lengths=[3], entropy=[0.0, 0.0])


def test_a_trajectory_without_turns_is_refused(batch: BATCH) -> None:
    with pytest.raises(RuleError, match="turn_offsets: trajectory 1 has no entries"):
        batch(outcome=[1.0, 0.0, 0.0], lengths=[1, 0, 2])


def test_fractions_are_no_indices(batch: BATCH) -> None:
    with pytest.raises(RuleError, match="action: expected whole numbers, got float64"):
        batch(outcome=[1.0], lengths=[2], action=np.array([0.5, 1.0]))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"branch": [0, 3]},
            "expected 0 if not forked, else a turn that both it and its parent have, got 3",
        ),
        ({"branch": [1, 1]}, "branch: expected 0 if not forked"),
        ({"task": [0, 1]}, "task: expected the task of the trajectory it was forked from"),
        ({"state": [1, 2, 1, 3, 9]}, "state: expected the state of the parent's turn that it copies, got 3"),
        ({"action": [0, 1, 1, 0, 0]}, "action: expected the action of the parent's turn that it copies"),
        ({"parent": [-1, 7]}, "parent: expected -1 or an index below 2, got 7"),
        ({"parent": [1, 0], "branch": [0, 0]}, "descend from themselves"),
    ],
)
def test_a_fork_that_is_none_is_refused(batch: BATCH, change: dict[str, Any], said: str) -> None:
    good: dict[str, Any] = {
        "outcome": [1.0, 0.0], "lengths": [2, 3], "parent": [-1, 0], "branch": [0, 1],
        "state": [1, 2, 1, 2, 9], "action": [0, 1, 0, 2, 0],
    }  # fmt: skip
    batch(**good)
    with pytest.raises(RuleError) as caught:
        batch(**good | change)
    assert said in str(caught.value)


def test_columns_cannot_be_written_and_follow_no_later_change(batch: BATCH) -> None:
    state = np.array([1, 2])
    t = batch(outcome=[1.0], lengths=[2], state=state)
    state[0] = 99
    assert t.state.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        t.state[0] = 5


def test_a_batch_comes_back_from_disk_with_its_digest(forest: BATCH, tmp_path: Path) -> None:
    t = forest(3)
    t.save(tmp_path / "batch")
    assert Trajectories.load(tmp_path / "batch").digest() == t.digest()
    assert forest(4).digest() != t.digest()


def test_another_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "notes.npz").write_text("hello")
    with pytest.raises(RuleError, match=r"notes\.npz: expected a \.npz file"):
        Trajectories.load(tmp_path / "notes.npz")
    np.savez(tmp_path / "other.npz", task=np.zeros(1))
    with pytest.raises(RuleError, match="missing outcome"):
        Trajectories.load(tmp_path / "other.npz")


def test_a_reward_that_is_no_number_is_named_by_trajectory_and_turn(batch: BATCH) -> None:
    with pytest.raises(RuleError) as caught:
        batch(outcome=[1.0, 0.0], lengths=[2, 2], reward=[0.0, 0.0, 0.0, np.nan])
    said = str(caught.value)
    assert "reward: expected a finite number, got nan at turn 1 of trajectory 1 (1 in all)" in said
    assert "token_reward" not in said, "the same reward is told once"


def test_columns_that_are_not_given_have_defaults(batch: BATCH) -> None:
    t = batch(outcome=[1.0, 0.5], lengths=[1, 2], task=[3, 8], token_offsets=[0, 2, 3, 4])
    assert t.group.tolist() == [3, 8]
    assert t.agent.tolist() == [0, 0, 0]
    assert t.mask.tolist() == [True] * 4
    assert t.token.tolist() == [-1] * 4
    assert t.token_reward.tolist() == [0.0, 1.0, 0.0, 0.5], "a turn's reward stands on its last token"
    assert np.isnan(t.sum_pi_squared).all()
    assert t.trajectory_of_token.tolist() == [0, 0, 1, 1]
    assert t.token_offsets_of_trajectory.tolist() == [0, 2, 4]
