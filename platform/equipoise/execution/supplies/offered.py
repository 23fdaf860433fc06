"""What can be supplied where: looked up when a suite is checked, without loading anything that trains."""

from collections.abc import Iterator

from equipoise.environments.protocol import Environment
from equipoise.execution.conditions import condition_of
from equipoise_conditions.context import Need
from equipoise_preregistration import Suite

__all__ = ["SUPPLIED", "lacking", "unsupplied"]

SUPPLIED: frozenset[Need] = frozenset(
    {
        Need.CONTINUATIONS,
        Need.FORKS,
        Need.GENERATOR,
        Need.GREEDY,
        Need.HINDSIGHT,
        Need.JUDGE,
        Need.LOG_RATIO,
        Need.OUTCOME_SCORES,
        Need.PLANNING,
        Need.PROGRESS,
        Need.REPLAYS,
        Need.STEP_SCORES,
        Need.TOKEN_PROGRESS,
        Need.TOKEN_VALUES,
        Need.TRUTH,
        Need.VALUES,
    }
)
"""Needs that a worker can measure, some of them in some environments only."""

_CRITIC = frozenset({Need.VALUES, Need.TOKEN_VALUES, Need.PROGRESS, Need.TOKEN_PROGRESS, Need.STEP_SCORES})

_WOULD = {
    Need.COALITIONS: "an environment that plays a trajectory again with some of its players taken out",
    Need.CONTRAST: "a policy that reads prompts, and a good and a bad one to score its tokens under",
    Need.CUTS: "a sampler that plays on from the middle of an action",
    Need.GOLD: "an environment whose tasks have a known answer in words",
    Need.JUDGE: "an environment with a judge(state, action), such as household or bifurcation",
    Need.MASKED_AGENTS: "an environment with several agents, played again without each",
    Need.TOOL_REWARD: "an environment with several agents that scores their tool calls",
    Need.TRUTH: (
        "an environment that knows its exact advantages, such as bifurcation; the rule 'replay' measures them instead"
    ),
}

_METHODS = {Need.JUDGE: "judge", Need.TRUTH: "advantage"}


def lacking(need: Need, environment: Environment) -> str | None:
    """Why a need cannot be supplied in an environment and what could; None where it can.

    Args:
        need: of a rule.
        environment: that the rule is to be used in.
    """
    method = _METHODS.get(need)
    if need in SUPPLIED and (method is None or hasattr(environment, method)):
        if need in _CRITIC and environment.tasks("pool") < 2:
            return "which a critic fitted on other tasks supplies, and there is one task; raise environment.tasks.pool"
        return None
    would = _WOULD.get(need, "a supplier of its own")
    return f"which nothing supplies in the environment {type(environment).__name__}; what could: {would}"


def unsupplied(suite: Suite, environment: Environment) -> Iterator[tuple[int, str]]:
    """Conditions whose rules need what cannot be supplied: (index, sentence), one a need.

    Args:
        suite: with the defaults of its rules written out.
        environment: the suite's.
    """
    for index, condition in enumerate(suite.conditions):
        rule, params = condition_of(suite, condition.id)
        for need in sorted(rule.needed(params)):
            why = lacking(need, environment)
            if why is not None:
                yield (
                    index,
                    f"the rule {rule.name!r} of condition {condition.id!r} needs {str(need)!r}, {why}",
                )
