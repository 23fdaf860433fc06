"""What generating one prompt costs at the least, from the environment's tasks, the policy's shape and the judges."""

from collections.abc import Iterable, Iterator, Mapping

from equipoise.environments.protocol import Environment
from equipoise.execution.supplies.offered import Asked
from equipoise.execution.supplies.settings import settings_of
from equipoise.policies.shape import decoder_of_shape
from equipoise.policies.tokens import WordTokens
from equipoise_conditions.context import Need
from equipoise_conditions.registry import find_rule
from equipoise_preregistration.draft import Draft
from equipoise_preregistration.faults import Problem
from equipoise_preregistration.generation_checks import SHORTEST, too_little
from equipoise_preregistration.sections import UnknownValue

__all__ = ["out_of_reach", "shortest_rollout"]


def out_of_reach(draft: Draft, conditions: Iterable[Asked], environment: Environment) -> list[Problem]:
    """Limits of generation that all prompts pass, whatever the policy does.

    Args:
        draft: of the suite; sections with faults are asked as far as they are known.
        conditions: those whose rules take their parameters.
        environment: that they are to be used in.
    """
    found: list[Problem] = []
    for check in (_tokens, _flops):
        try:
            found += check(draft, environment)
        except UnknownValue:
            continue  # a fault of its own, reported with the file
    try:
        found += _judges(draft, conditions)
    except UnknownValue:
        return found
    return found


def shortest_rollout(environment: Environment) -> int:
    """Tokens of the shortest episode of one turn, of any task of the pool: what is seen, a command, and marks."""
    words = WordTokens(environment.vocabulary())
    shortest = []
    for task in range(environment.tasks("pool")):
        state = environment.reset("pool", task)
        command = min((len(words.encode(text)) for text in state.admissible), default=1)
        # <bos> observation <act> command <eot>
        shortest.append(len(words.encode(state.observation)) + command + 3)
    return min(shortest, default=SHORTEST)


def _tokens(draft: Draft, environment: Environment) -> Iterator[Problem]:
    if draft.budget is None or draft.collection is None:
        return
    limit, rollouts = draft.budget.generation.rollout_tokens, draft.collection.rollouts_per_task
    if limit is None or limit < SHORTEST * rollouts:
        return  # none, or refused already
    length = shortest_rollout(environment)
    if limit < length * rollouts:
        why = (
            f"one prompt is played {rollouts} times (collection.rollouts_per_task), and the shortest first turn of "
            f"any task has {length} tokens"
        )
        yield too_little("rollout_tokens", limit, length * rollouts, why)


def _flops(draft: Draft, environment: Environment) -> Iterator[Problem]:
    if draft.budget is None or draft.collection is None or draft.policy is None:
        return
    limit, rollouts, policy = draft.budget.generation.flops, draft.collection.rollouts_per_task, draft.policy
    if limit is None:
        return
    words = len(WordTokens(environment.vocabulary()))
    decoder = decoder_of_shape(words, hidden=policy.hidden, layers=policy.layers)
    length = shortest_rollout(environment)
    least = decoder.forward([length] * rollouts)
    if limit < least:
        why = (
            f"a policy of width {policy.hidden} and {policy.layers} layers takes that much to play one prompt "
            f"{rollouts} times (collection.rollouts_per_task) for one turn of {length} tokens"
        )
        yield too_little("flops", limit, least, why)


def _judges(draft: Draft, conditions: Iterable[Asked]) -> Iterator[Problem]:
    if draft.budget is None or draft.collection is None:
        return
    limit, rollouts = draft.budget.generation.judge_calls, draft.collection.rollouts_per_task
    if limit is None:
        return
    calls = {name: rollouts * _votes(rule, values) for _, name, rule, values in conditions}
    least = max(calls.values(), default=0)
    if limit < least:
        name = next(name for name, number in calls.items() if number == least)
        why = (
            f"{name} asks its judge about every turn: {rollouts} rollouts (collection.rollouts_per_task) of at least "
            f"one turn, votes on each: {least // rollouts}"
        )
        yield too_little("judge_calls", limit, least, why)


def _votes(name: str, values: Mapping[str, object]) -> int:
    """Calls for each turn; 0 of a rule that asks no judge, or that may ask it about no turn at all."""
    rule = find_rule(name)
    if Need.JUDGE not in rule.needed(values) or name == "router":
        return 0
    return int(str(settings_of(values).get("votes", 1)))
