"""A plain loop in torch over the slots of a plan, row by row and token by token: what both trainers are held to."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from equipoise.policies.transcripts import Transcripts
from equipoise.training.settings import TrainingSettings
from equipoise_budget import Plan


@dataclass
class Loop:
    """Of every step: its loss, the norm before clipping, the clipped gradient, the weights afterwards."""

    losses: list[float] = field(default_factory=list)
    norms: list[float] = field(default_factory=list)
    gradients: list[Tensor] = field(default_factory=list)
    weights: list[Tensor] = field(default_factory=list)


def flat(tensors: Any) -> Tensor:
    return torch.cat([tensor.detach().reshape(-1).clone() for tensor in tensors])


def log_probability(model: Any, transcripts: Transcripts, turn: int, settings: TrainingSettings) -> Tensor:
    """Log-probabilities of one turn's action tokens, read alone and token by token."""
    row = transcripts.row(turn)
    logits = model(input_ids=torch.tensor(row)[None], use_cache=False).logits[0] / settings.temperature
    found = []
    for k, place in enumerate(range(transcripts.start[turn], transcripts.end[turn])):
        at = transcripts.token_offsets[turn] + k
        allowed = transcripts.allowed[transcripts.allowed_offsets[at] : transcripts.allowed_offsets[at + 1]]
        against = (
            logits[place - 1][torch.tensor(allowed)]
            if settings.normalisation == "admissible"
            else logits[place - 1]
        )
        found.append(logits[place - 1, row[place]] - torch.logsumexp(against, dim=0))
    return torch.stack(found)


def credit_of(plan: Plan, slot: int, tokens: int) -> Tensor:
    """One weight a token, NaN outside the loss."""
    if not plan.token_offsets.size:
        return torch.full((tokens,), float(plan.weight[slot]), dtype=torch.float64)
    begin, end = plan.token_offsets[slot : slot + 2]
    return torch.from_numpy(plan.token_weight[begin:end].copy())


def gains(logp: Tensor, old: Tensor, credit: Tensor, settings: TrainingSettings) -> Tensor:
    """What every token of one row in the loss adds; the ratio is 1 where there is no clip to leave."""
    if settings.clip is None:
        return credit * (logp if settings.loss is None else torch.exp(logp - logp.detach()))
    ratio = torch.exp(logp - old)
    held = torch.clip(ratio, 1 - settings.clip[0], 1 + settings.clip[1])
    return torch.minimum(credit * ratio, credit * held)


def reduced(rows: list[Tensor], batch: int, loss: str | None) -> Tensor:
    """The loss of one step from the gains of its rows, by the formulas of the papers."""
    if loss in (None, "dr_grpo"):
        return -torch.stack([row.sum() for row in rows]).sum() / batch
    if loss == "grpo":
        return -torch.stack([row.mean() for row in rows]).sum() / batch
    return -torch.cat(rows).mean() * (len(rows) / batch)


def plain_loop(model: Any, transcripts: Transcripts, plan: Plan, settings: TrainingSettings) -> Loop:
    matrices = [p for p in model.parameters() if p.ndim > 1]
    scales = [p for p in model.parameters() if p.ndim == 1]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": scales, "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate)
    done = Loop()
    with torch.no_grad():
        old = [log_probability(model, transcripts, int(turn), settings) for turn in plan.example]
    for step in range(plan.steps):
        optimizer.zero_grad()
        rows = []
        for slot in np.flatnonzero(plan.step == step):
            logp = log_probability(model, transcripts, int(plan.example[slot]), settings)
            credit = credit_of(plan, int(slot), len(logp))
            inside = ~torch.isnan(credit)
            rows.append(gains(logp[inside], old[slot][inside], credit[inside], settings))
        loss = reduced(rows, plan.batch, settings.loss)
        torch.autograd.backward(loss)
        done.norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)))
        done.gradients.append(flat(p.grad for p in model.parameters()))
        optimizer.step()
        done.losses.append(float(loss.detach()))
        done.weights.append(flat(model.parameters()))
    return done
