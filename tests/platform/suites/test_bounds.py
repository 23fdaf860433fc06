"""Limits of generation that all prompts pass, worked out by hand from a corridor's first room."""

from typing import Any

import pytest

from equipoise.environments.registry import make_environment
from equipoise.execution.costs import decoder_of
from equipoise.policies.model import tiny_qwen3
from equipoise.policies.rollout import opening
from equipoise.policies.shape import decoder_of_shape
from equipoise.policies.tokens import WordTokens
from equipoise.suites.bounds import out_of_reach, shortest_rollout
from equipoise_conditions.registry import find_rule
from equipoise_preregistration.loading import draft_of

CORRIDOR = make_environment(
    "bifurcation",
    {"tasks": {"pool": 2, "held_out": 2, "demonstrations": 2}, "rooms": 4, "doors": 3, "pivotal": 1},
    0,
)


def told(generation: dict[str, Any], rule: str = "grpo", **parameters: Any) -> dict[str, str]:
    draft = draft_of(
        {
            "policy": {"hidden": 16, "layers": 1},
            "collection": {"rollouts_per_task": 6},
            "conditions": [{"id": "own", "rule": rule, **parameters}],
            "budget": {"examples": 16, "optimizer_steps": 4, "doubly": True, "generation": generation},
        }
    )
    asked = [(0, "own", rule, find_rule(rule).validate(parameters))]
    return {str(problem.path[-1]): problem.message for problem in out_of_reach(draft, asked, CORRIDOR)}


@pytest.mark.parametrize(("hidden", "layers"), [(16, 1), (64, 2), (8, 3), (48, 1)])
def test_the_shape_is_that_of_the_policy(hidden: int, layers: int) -> None:
    model = tiny_qwen3(31, hidden=hidden, layers=layers, seed=0)
    assert decoder_of_shape(31, hidden=hidden, layers=layers) == decoder_of(model)


def test_the_shortest_rollout_is_a_first_turn_as_it_is_played() -> None:
    words = WordTokens(CORRIDOR.vocabulary())
    played = []
    for task in range(2):
        state = CORRIDOR.reset("pool", task)
        commands = [len(words.encode(command)) for command in state.admissible]
        played.append(len(opening(words, state)) + min(commands) + 1)
    assert shortest_rollout(CORRIDOR) == min(played)


def test_six_rollouts_of_a_prompt_have_six_first_turns() -> None:
    least = 6 * shortest_rollout(CORRIDOR)
    assert told({"rollout_tokens": least}) == {}
    assert told({"rollout_tokens": least - 1})["rollout_tokens"].startswith(
        f"expected at least {least}, got {least - 1}: "
    )


def test_operations_are_those_of_the_policys_shape() -> None:
    decoder = decoder_of_shape(len(WordTokens(CORRIDOR.vocabulary())), hidden=16, layers=1)
    least = decoder.forward([shortest_rollout(CORRIDOR)] * 6)
    assert told({"flops": least}) == {}
    assert "a policy of width 16 and 1 layers" in told({"flops": 1.0})["flops"]
    assert told({"flops": least - 1}).keys() == {"flops"}


def test_a_judge_is_asked_about_every_turn_by_every_vote() -> None:
    assert told({"judge_calls": 17}, "turn_judge", votes=3)["judge_calls"].startswith(
        "expected at least 18, got 17: own"
    )
    assert told({"judge_calls": 18}, "turn_judge", votes=3) == {}
    # A rule without a judge makes no calls, and a router may hand its judge nothing.
    assert told({"judge_calls": 0}) == {}


def test_what_is_wrong_is_not_taken_for_a_limit() -> None:
    draft = draft_of(
        {"budget": {"examples": 4, "optimizer_steps": 2, "generation": {"flops": "x", "rollout_tokens": 33}}}
    )
    assert [problem.path[-1] for problem in out_of_reach(draft, [], CORRIDOR)] == ["rollout_tokens"]
