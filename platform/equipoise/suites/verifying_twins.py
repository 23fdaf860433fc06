"""Whether a twin received what its rule did, but for the place of the credit; and what it may differ in, beside it."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from equipoise.execution.conditions import twin_of
from equipoise.suites.verifying_findings import Findings
from equipoise.suites.verifying_training import Trained
from equipoise_budget import Plan
from equipoise_conditions.twins import Twin
from equipoise_preregistration import Suite

__all__ = ["check_twin", "twins_beside"]

_STEP = ("slots", "weight_abs", "weight_sq", "ess")
"""Of each step; a twin's credit moves, its slots and their absolute weights do not."""

_TOKEN_STEP = ("slots", "tokens")
"""Where tokens have weights of their own, these change places inside a slot, and turns have as many of them."""

_RUN = ("slots", "optimizer_steps", "weight_abs", "weight_sq", "weight_mass", "ess")
_TOKEN_RUN = ("slots", "optimizer_steps", "tokens_in_loss")

_INSIDE = frozenset({Twin.WITHIN, Twin.SIGN, Twin.ANYWHERE})
"""Kinds that never move credit from one trajectory to another."""


def check_twin(rule: Trained, twin: Trained, findings: Findings) -> None:
    """Hold the steps of a twin to those of its rule, to the last bit.

    Which examples carry the weights is what a twin changes: how many different ones there are, and with them tokens and
    repetition, may be others. Both are put beside each other for a reader.
    """
    suite = Suite.model_validate(twin.job.payload["suite"])
    kind = twin_of(suite, str(twin.job.payload["cell"]["condition"]))
    of_tokens = bool(rule.plan.token_offsets.size)
    names = _TOKEN_STEP if of_tokens else (*_STEP, "tokens") if kind == Twin.SIGN else _STEP
    theirs = {row["step"]: row for row in rule.job.stored.steps}
    rows = {row["step"]: row for row in twin.job.stored.steps}
    for step in sorted(theirs.keys() | rows.keys()):
        for name in names:
            column = f"allocated_{name}"
            pair = theirs.get(step, {}).get(column), rows.get(step, {}).get(column)
            findings.hold("matches", twin.job.key, f"step {step}, {name} allocated, as its rule's", pair)
    if rule.sound and twin.sound:
        _check_weights(rule.plan, twin.plan, twin.job.key, findings)
    if "rounds" not in (twin.job.result or {}):
        # Later rounds of a twin are of its own policy: their weights are not those of its rule.
        columns = (*_RUN, "ess_trajectories") if kind in _INSIDE else _RUN
        _check_run(rule, twin, _TOKEN_RUN if of_tokens else columns, findings)
    _put_beside(rule, twin, findings)


def _check_run(rule: Trained, twin: Trained, names: tuple[str, ...], findings: Findings) -> None:
    rows = rule.job.stored.ledger, twin.job.stored.ledger
    if rows[0] is None or rows[1] is None:
        return
    for name in names:
        pair = rows[0][f"allocated_{name}"], rows[1][f"allocated_{name}"]
        findings.hold("matches", twin.job.key, f"{name} allocated in all, as its rule's", pair)


def _check_weights(rule: Plan, twin: Plan, key: str, findings: Findings) -> None:
    """Every step of the twin's plan has the absolute weights of its rule's, in whatever order."""
    for step, pair in enumerate(zip(_weights(rule), _weights(twin), strict=False), start=1):
        findings.compared["matches"] += 1
        if not np.array_equal(*pair):
            sums = tuple(f"{weights.size} that sum to {float(weights.sum())!r}" for weights in pair)
            findings.fault(key, f"step {step}, absolute weights of the plan, as its rule's", *sums)


def _weights(plan: Plan) -> Iterator["np.ndarray"]:
    weight, step = plan.weight, plan.step
    if plan.token_offsets.size:
        known = ~np.isnan(plan.token_weight)
        weight, step = plan.token_weight[known], np.repeat(step, np.diff(plan.token_offsets))[known]
    begins = np.searchsorted(step, np.arange(plan.steps + 1))
    for place in range(plan.steps):
        yield np.sort(np.abs(weight[begins[place] : begins[place + 1]]))


def _put_beside(rule: Trained, twin: Trained, findings: Findings) -> None:
    told = [_shown(trained.job.result) for trained in (rule, twin)]
    cell = twin.job.payload["cell"]
    place = f"b{twin.job.payload.get('block')}" + (f" twin {cell['twin']}" if cell["twin"] else "")
    findings.beside.setdefault(str(cell["condition"]), []).append(f"{place} {told[0]} | {told[1]}")


def _shown(result: Mapping[str, Any] | None) -> str:
    dose = (result or {}).get("dose", {})
    unique = dose.get("unique_examples")
    if not unique:
        return "none"
    shown = (dose["slots"] - dose.get("padding_slots", 0)) / unique
    return f"{unique} ({shown:.2f}x, {dose['tokens_in_loss']} tokens)"


def twins_beside(findings: Findings) -> None:
    """Tell a reader how many different examples rules and their twins saw, one line a condition."""
    for condition, pairs in sorted(findings.beside.items()):
        findings.notes.append(
            f"{condition}: unique examples of rule | twin, how often each was shown on average, tokens in the loss "
            f"(these may differ, slots, steps and weights may not): {'; '.join(pairs)}"
        )
