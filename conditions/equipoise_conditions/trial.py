"""A rule on a batch of two trajectories, before any suite relies on it."""

import inspect

import numpy as np

from equipoise_conditions.context import Context, Need
from equipoise_conditions.errors import RuleError
from equipoise_conditions.rule import Rule
from equipoise_conditions.trajectories import Trajectories

__all__ = ["trial"]


def trial(rule: Rule) -> None:
    """Find out whether a rule can be called with its own parameters, and gives credit that fits its batch.

    A rule that needs more than a generator is called when its needs are measured, not before.

    Raises:
        RuleError: when it cannot, or does not, or changes the batch that it is given.
    """
    rule.validate()
    accepted = inspect.signature(rule.assign).parameters
    loose = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted.values())
    unknown = [p.name for p in rule.parameters if p.name not in accepted and not loose]
    if unknown:
        message = (
            f"rule '{rule.name}' lists the parameters {', '.join(unknown)}, which its function does not take"
        )
        raise RuleError(message)
    if rule.needed() <= {Need.GENERATOR}:
        batch = _small()
        before = batch.digest()
        credit = rule.apply(batch, Context(generator=np.random.default_rng(0)))
        if batch.digest() != before:
            message = f"rule '{rule.name}' changes the batch that it is given; let it work on copies"
            raise RuleError(message)
        if credit.digest() != rule.apply(_small(), Context(generator=np.random.default_rng(0))).digest():
            message = f"rule '{rule.name}' gives other credit for the same batch and the same generator"
            raise RuleError(message)


def _small() -> Trajectories:
    return Trajectories(
        task=np.array([0, 0]),
        outcome=np.array([1.0, 0.0]),
        turn_offsets=np.array([0, 2, 3]),
        parent=np.array([-1, -1]),
        branch=np.array([0, 0]),
        state=np.array([0, 1, 0]),
        action=np.array([0, 1, 1]),
        n_actions=np.array([2, 2, 2]),
        reward=np.array([0.0, 1.0, 0.0]),
        token_offsets=np.array([0, 1, 3, 4]),
        logprob=np.array([-0.1, -0.5, -1.0, -2.0]),
        entropy=np.array([0.2, 0.3, 0.4, 0.5]),
    )
