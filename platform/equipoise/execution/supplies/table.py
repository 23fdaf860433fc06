"""The suppliers, one a need, and the context that they make for a rule."""

from equipoise.errors import ExecutionError
from equipoise.execution.hindsight import hindsight_scores
from equipoise.execution.replays import replay_turns
from equipoise.execution.supplies.case import Case, Supplier
from equipoise.execution.supplies.continuations import continuations
from equipoise.execution.supplies.greedy import greedy_outcomes
from equipoise.execution.supplies.judging import verdicts
from equipoise.execution.supplies.offered import lacking
from equipoise.execution.supplies.planning import planning_tokens
from equipoise.execution.supplies.readings import log_ratio, outcome_scores
from equipoise.execution.supplies.restored import of_each_action
from equipoise.execution.supplies.valued import (
    progress,
    step_scores,
    token_progress,
    token_values,
    values,
)
from equipoise_conditions.arrays import FloatArray
from equipoise_conditions.context import Context, Need
from equipoise_conditions.measured import Replays

__all__ = ["SUPPLIERS", "measure"]


def measure(case: Case) -> Context:
    """Everything that the case's rule needs under its parameters; the costs stand on the case's bill.

    Raises:
        ExecutionError: if something cannot be supplied in the case's environment.
    """
    rule = case.rule
    needs = rule.needed(case.params)
    faults = [(need, lacking(need, case.world.env)) for need in sorted(needs)]
    told = [f"{str(need)!r}, {why}" for need, why in faults if why is not None]
    if told:
        message = f"the rule {rule.name!r} needs {'; '.join(told)}"
        raise ExecutionError(message)
    found = {str(need): SUPPLIERS[need](case) for need in sorted(needs) if need in SUPPLIERS}
    if Need.GENERATOR in needs:
        return Context(generator=case.world.rng("rule", rule.name), **found)  # type: ignore[arg-type]
    return Context(**found)  # type: ignore[arg-type]


def _hindsight(case: Case) -> FloatArray:
    scores, cost = hindsight_scores(case.world, case.sampler, case.batch)
    case.pay(cost)
    return scores


def _replays(case: Case) -> Replays:
    replays, cost = replay_turns(case.world, case.sampler, case.batch, case.settings)
    case.pay(cost)
    return replays


def _truth(case: Case) -> FloatArray:
    """(T,) exact advantage of each action."""
    env = case.world.env
    return of_each_action(env, case.batch.trajectories, env.advantage)  # type: ignore[attr-defined]


SUPPLIERS: dict[Need, Supplier] = {
    Need.CONTINUATIONS: continuations,
    Need.GREEDY: greedy_outcomes,
    Need.HINDSIGHT: _hindsight,
    Need.JUDGE: verdicts,
    Need.LOG_RATIO: log_ratio,
    Need.OUTCOME_SCORES: outcome_scores,
    Need.PLANNING: planning_tokens,
    Need.PROGRESS: progress,
    Need.REPLAYS: _replays,
    Need.STEP_SCORES: step_scores,
    Need.TOKEN_PROGRESS: token_progress,
    Need.TOKEN_VALUES: token_values,
    Need.TRUTH: _truth,
    Need.VALUES: values,
}
"""By need; FORKS are in the batch already, and GENERATOR is the rule's own stream."""
