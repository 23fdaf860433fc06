"""What a rule may ask for beyond the trajectories, guarded by what it declares."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Protocol, TypeVar

import numpy as np

from equipoise_conditions.arrays import BoolArray, FloatArray
from equipoise_conditions.errors import MissingNeed, RuleError, UndeclaredNeed
from equipoise_conditions.measured import (
    Boundary,
    Coalitions,
    Continuations,
    Cuts,
    Replays,
    Verdicts,
)

__all__ = ["Boundary", "Coalitions", "Context", "Continuations", "Cuts", "Need", "Replays", "Verdicts"]


class Need(StrEnum):
    """What a rule may declare; all but FORKS are fields of the context."""

    GENERATOR = "generator"
    HINDSIGHT = "hindsight"
    OUTCOME_SCORES = "outcome_scores"
    REPLAYS = "replays"
    CONTINUATIONS = "continuations"
    CUTS = "cuts"
    FORKS = "forks"
    """The batch holds forked trajectories (parent >= 0) beside the collected ones."""
    TRUTH = "truth"
    VALUES = "values"
    TOKEN_VALUES = "token_values"  # noqa: S105 - a token of text
    STEP_SCORES = "step_scores"
    PROGRESS = "progress"
    TOKEN_PROGRESS = "token_progress"  # noqa: S105 - a token of text
    GOLD = "gold"
    JUDGE = "judge"
    GREEDY = "greedy"
    MASKED_AGENTS = "masked_agents"
    TOOL_REWARD = "tool_reward"
    COALITIONS = "coalitions"
    PLANNING = "planning"
    LOG_RATIO = "log_ratio"
    CONTRAST = "contrast"


_T = TypeVar("_T")

_MEND = {
    Need.GENERATOR: "pass generator=np.random.default_rng(seed)",
    Need.HINDSIGHT: "score every action with the final state revealed and pass hindsight=",
    Need.OUTCOME_SCORES: "score every action with its outcome told and pass outcome_scores=",
    Need.REPLAYS: "execute the replays of this batch and pass replays=",
    Need.CONTINUATIONS: "roll the policy on from before every turn and pass continuations=",
    Need.CUTS: "cut the trajectories, roll on from the cuts and pass cuts=",
    Need.TRUTH: "use an environment that knows its exact advantages and pass truth=",
    Need.VALUES: "estimate the value of the state before every turn and pass values=",
    Need.TOKEN_VALUES: "estimate the value before every token and pass token_values=",
    Need.STEP_SCORES: "score every turn with a process reward model and pass step_scores=",
    Need.PROGRESS: "predict the outcome before the first and after every turn and pass progress=",
    Need.TOKEN_PROGRESS: "predict the outcome after every token and pass token_progress=",
    Need.GOLD: "score the known answer before the first and after every turn and pass gold=",
    Need.JUDGE: "ask a judge about every turn and pass judge=",
    Need.GREEDY: "play every task greedily and pass greedy=",
    Need.MASKED_AGENTS: "evaluate every trajectory without each agent and pass masked_agents=",
    Need.TOOL_REWARD: "score the tool calls of every agent and pass tool_reward=",
    Need.COALITIONS: "evaluate the coalitions of every trajectory's players and pass coalitions=",
    Need.PLANNING: "mark the tokens of planning phrases and pass planning=",
    Need.LOG_RATIO: "score every token under the tuned and the reference policy and pass log_ratio=",
    Need.CONTRAST: "score every token under the good and the bad prompt and pass contrast=",
}


class Declares(Protocol):
    """Something with a name and declared needs: a rule."""

    @property
    def name(self) -> str:
        """The rule's name."""
        ...

    @property
    def needs(self) -> frozenset[Need]:
        """What it declares to use."""
        ...


@dataclass(frozen=True, eq=False)
class Context:
    """What has been measured for a batch; None for what has not.

    Attributes:
        generator: the rule's own stream of random numbers.
        hindsight: (T,) mean token log-probability of each action with the final state revealed.
        outcome_scores: (T,) mean token log-probability of each action with its outcome told in words.
        replays: executed replays of the batch.
        continuations: Monte-Carlo values of the states before the turns.
        cuts: Monte-Carlo values at token cuts.
        truth: (T,) exact advantage where the environment knows it, NaN elsewhere.
        values: (T,) estimated value of the state before each turn, NaN where not estimated.
        token_values: (K,) estimated value before each token, NaN where not estimated.
        step_scores: (T,) score of a process reward model, NaN where it gave none.
        progress: predicted outcome before the first turn and after each.
        token_progress: (K,) predicted outcome after each token.
        gold: mean token log-probability of the known answer before the first turn and after each.
        judge: a judge's verdicts on the turns.
        greedy: (N,) outcome of greedy decoding on each trajectory's task.
        masked_agents: (A,) outcome with one agent's part masked, for the pairs of `agent_units`.
        tool_reward: (A,) reward of each agent's tool calls, for the pairs of `agent_units`.
        coalitions: values of coalitions of each trajectory's players.
        planning: (K,) whether a token belongs to a planning phrase.
        log_ratio: (K,) log-probability under the tuned policy minus that under the reference policy.
        contrast: (K,) log-probability given the good prompt minus that given the bad one.
    """

    generator: np.random.Generator | None = None
    hindsight: FloatArray | None = None
    replays: Replays | None = None
    truth: FloatArray | None = None
    outcome_scores: FloatArray | None = None
    continuations: Continuations | None = None
    cuts: Cuts | None = None
    values: FloatArray | None = None
    token_values: FloatArray | None = None
    step_scores: FloatArray | None = None
    progress: Boundary | None = None
    token_progress: FloatArray | None = None
    gold: Boundary | None = None
    judge: Verdicts | None = None
    greedy: FloatArray | None = None
    masked_agents: FloatArray | None = None
    tool_reward: FloatArray | None = None
    coalitions: Coalitions | None = None
    planning: BoolArray | None = None
    log_ratio: FloatArray | None = None
    contrast: FloatArray | None = None

    def for_rule(self, rule: Declares) -> "Context":
        """Return a view that lets `rule` read only what it declares.

        Reading an undeclared field raises UndeclaredNeed; reading a declared one that was not measured
        raises MissingNeed with how to mend it.
        """
        view = _Guarded(**{field.name: getattr(self, field.name) for field in fields(Context)})
        object.__setattr__(view, "_rule_name", rule.name)
        object.__setattr__(view, "_declared", rule.needs)
        return view

    def need(self, name: Need, kind: type[_T]) -> _T:
        """Return a measured field, known to be of `kind`.

        Raises:
            MissingNeed: when it was not measured.
            RuleError: when it is of another kind.
        """
        value = getattr(self, name.value)
        if value is None:
            message = f"the rule needs '{name}', which the context does not hold; {_MEND[name]}"
            raise MissingNeed(message)
        if not isinstance(value, kind):
            message = f"{name}: expected {kind.__name__}, got {type(value).__name__}"
            raise RuleError(message)
        return value

    def column(self, name: Need, units: int) -> FloatArray:
        """Return a measured (units,) column of numbers.

        Raises:
            MissingNeed: when it was not measured.
            RuleError: when it has another length.
        """
        value = self.need(name, np.ndarray)
        if value.shape != (units,):
            message = f"{name}: expected {units} entries, got {value.shape}; measure it on this batch"
            raise RuleError(message)
        return value

    def the_generator(self) -> np.random.Generator:
        """Return the generator; MissingNeed when there is none."""
        return self.need(Need.GENERATOR, np.random.Generator)

    def the_hindsight(self) -> FloatArray:
        """Return the hindsight scores; MissingNeed when there are none."""
        return self.need(Need.HINDSIGHT, np.ndarray)

    def the_replays(self) -> Replays:
        """Return the replays; MissingNeed when there are none."""
        return self.need(Need.REPLAYS, Replays)

    def the_truth(self) -> FloatArray:
        """Return the exact advantages; MissingNeed when there are none."""
        return self.need(Need.TRUTH, np.ndarray)


class _Guarded(Context):
    """A context as one rule may see it."""

    _rule_name: str
    _declared: frozenset[Need]

    def __getattribute__(self, name: str) -> object:
        value: object = object.__getattribute__(self, name)
        if name not in _MEND:
            return value
        rule, declared = (object.__getattribute__(self, key) for key in ("_rule_name", "_declared"))
        if name not in declared:
            message = f"rule '{rule}' reads '{name}' but declares {_listed(declared)}; add it to its needs"
            raise UndeclaredNeed(message)
        if value is None:
            message = f"rule '{rule}' needs '{name}', which the context does not hold; {_MEND[Need(name)]}"
            raise MissingNeed(message)
        return value


def _listed(needs: frozenset[Need]) -> str:
    return "needs " + ", ".join(sorted(needs)) if needs else "no needs"
