"""Losses of TRL, verl and CTS, and TRL's rows for process reward models."""

from typing import Any

import torch
from tests.golden.adapter import Adapter
from torch import Tensor

from equipoise.policies.step_labels import StepRowSettings, tokenize_steps
from equipoise.training.losses import (
    GRPOLossSettings,
    agg_loss,
    cts_surrogate_loss,
    dual_clip_loss,
    grpo_loss,
    kl_penalty,
)

__all__ = ["ADAPTERS"]

FIRST_WORD, BOS = 10, 1


def tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def optional(values: Any) -> Tensor | None:
    return None if values is None else tensor(values)


def gradient(loss: Tensor, of: Tensor) -> Any:
    return torch.autograd.grad(loss, of)[0].tolist()


def trl_grpo_loss(inputs: dict[str, Any]) -> dict[str, Any]:
    logps = tensor(inputs["logps"]).requires_grad_()
    names = set(GRPOLossSettings.__dataclass_fields__)
    settings = GRPOLossSettings(**{name: value for name, value in inputs.items() if name in names})
    loss = grpo_loss(
        logps,
        tensor(inputs["advantages"]),
        tensor(inputs["completion_mask"]),
        settings,
        old_logps=optional(inputs.get("old_logps")),
        ref_logps=optional(inputs.get("ref_logps")),
        tool_mask=optional(inputs.get("tool_mask")),
        num_items_in_batch=inputs.get("num_items_in_batch"),
    )
    return {"loss": loss.item(), "grad_wrt_logps": gradient(loss, logps)}


def cts_grpo_loss(inputs: dict[str, Any]) -> float:
    return cts_surrogate_loss(
        tensor(inputs["logprobs_new"]),
        tensor(inputs["logprobs_old"]),
        tensor(inputs["mask"]),
        tensor(inputs["advantages"]),
        clip=inputs["clip"],
        kl_coef=inputs["kl_coef"],
    ).item()


def verl_agg_loss(inputs: dict[str, Any]) -> float:
    return agg_loss(
        tensor(inputs["loss_mat"]),
        tensor(inputs["loss_mask"]),
        inputs["loss_agg_mode"],
        loss_scale_factor=inputs.get("loss_scale_factor"),
    ).item()


def verl_policy_loss_vanilla(inputs: dict[str, Any]) -> dict[str, Any]:
    log_prob = tensor(inputs["log_prob"]).requires_grad_()
    found = dual_clip_loss(
        log_prob,
        tensor(inputs["old_log_prob"]),
        tensor(inputs["advantages"]),
        tensor(inputs["response_mask"]),
        clip_ratio_low=inputs["clip_ratio_low"],
        clip_ratio_high=inputs["clip_ratio_high"],
        clip_ratio_c=inputs["clip_ratio_c"],
        loss_agg_mode=inputs["loss_agg_mode"],
    )
    return {
        "loss": found.loss.item(),
        "actor/pg_clipfrac": found.clip_fraction,
        "actor/ppo_kl": found.approx_kl,
        "actor/pg_clipfrac_lower": found.clip_fraction_lower,
        "grad_wrt_log_prob": gradient(found.loss, log_prob),
    }


def verl_kl_penalty(inputs: dict[str, Any]) -> Any:
    return kl_penalty(tensor(inputs["logprob"]), tensor(inputs["ref_logprob"]), inputs["kl_penalty"]).tolist()


def words(text: str) -> list[str]:
    return text.replace("\n", " \n ").split(" ")


def trl_prm_tokenize_row(inputs: dict[str, Any]) -> dict[str, Any]:
    """Run with the tokenizer that the cases describe: a new word gets the next id when it is first met."""
    ids: dict[str, int] = {}

    def encode(text: str) -> list[int]:
        return [ids.setdefault(word, FIRST_WORD + len(ids)) for word in words(text) if word]

    settings = StepRowSettings(
        step_separator=inputs["step_separator"],
        bos=BOS,
        max_length=inputs["max_length"],
        max_completion_length=inputs["max_completion_length"],
        last_step_only=inputs["train_on_last_step_only"] and not inputs["is_eval"],
    )
    row = tokenize_steps(inputs["prompt"], inputs["completions"], inputs["labels"], encode, settings)
    return {"input_ids": list(row.input_ids), "labels": list(row.labels)}


ADAPTERS: dict[str, Adapter] = {
    "trl_grpo_loss": Adapter(trl_grpo_loss),
    "cts_grpo_loss": Adapter(cts_grpo_loss),
    "verl_agg_loss": Adapter(verl_agg_loss),
    "verl_policy_loss_vanilla": Adapter(verl_policy_loss_vanilla),
    "verl_kl_penalty": Adapter(
        verl_kl_penalty,
        better="k1+, k2+ and k3+ have the value of k1, k2 and k3; the reference documents them and refuses the words",
    ),
    "trl_prm_tokenize_row": Adapter(trl_prm_tokenize_row),
}
