"""What can be supplied where: looked up when a suite is checked, without loading anything that trains."""

from collections.abc import Iterable, Iterator, Mapping

from equipoise.environments.protocol import Environment
from equipoise.execution.supplies.settings import settings_of
from equipoise_conditions.context import Need
from equipoise_conditions.names import nearest
from equipoise_conditions.registry import find_rule

__all__ = ["SCALES", "SUPPLIED", "Asked", "lacking", "unsupplied"]

Asked = tuple[int, str, str, Mapping[str, object]]
"""A condition: its index, its id, the name of its rule and the parameters that the rule takes without fault."""

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

SCALES = {"scripted": "ternary"}
"""Every judge that can be asked, and the scale that it answers on."""

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


def unsupplied(
    conditions: Iterable[Asked], environment: Environment
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What conditions need and cannot be supplied: (path below `conditions`, sentence), one a need or setting.

    Args:
        conditions: those whose parameters are without fault.
        environment: the suite's.
    """
    for index, name, called, params in conditions:
        rule = find_rule(called)
        needed = rule.needed(params)
        for need in sorted(needed):
            why = lacking(need, environment)
            if why is not None:
                yield (
                    (index, "rule"),
                    f"the rule {rule.name!r} of condition {name!r} needs {str(need)!r}, {why}",
                )
        if Need.JUDGE in needed:
            for path, why in _judge_faults(rule.validate(params)):
                yield (index, *path), why


def _judge_faults(params: Mapping[str, object]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Settings of who is asked that nobody answers to, each with its path below the condition."""
    settings, above = settings_of(params), _above(params)
    judge = str(settings.get("judge", "scripted"))
    if judge not in SCALES:
        near = nearest(judge, SCALES)
        hint = f"; did you mean {near!r}?" if near else ""
        yield (*above, "judge"), f"expected one of {', '.join(SCALES)}, got {judge!r}{hint}"
    elif settings.get("scale", SCALES[judge]) != SCALES[judge]:
        yield (
            (*above, "scale"),
            f"expected {SCALES[judge]}, the scale on which the judge {judge!r} answers, got {settings['scale']!r}",
        )


def _above(params: Mapping[str, object]) -> tuple[str, ...]:
    """The keys under which a rule that hands its turns to another has that rule's parameters."""
    inner = params.get("over_parameters")
    return ("over_parameters", *_above(inner)) if isinstance(inner, Mapping) else ()
