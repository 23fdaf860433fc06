"""Weights from a seed, to disk and back, and known by their digest."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from equipoise.policies.model import load_weights, save_weights, tiny_qwen3, weights_digest


def test_a_seed_decides_the_weights() -> None:
    one, same = (tiny_qwen3(30, hidden=16, layers=1, seed=4) for _ in range(2))
    other = tiny_qwen3(30, hidden=16, layers=1, seed=5)
    assert weights_digest(one) == weights_digest(same)
    assert weights_digest(one) != weights_digest(other)
    assert not one.training


def test_weights_come_back_from_disk(make_model: Callable[[], Any], tmp_path: Path) -> None:
    model = make_model()
    with torch.no_grad():
        model.model.embed_tokens.weight[7] += 1.0
    save_weights(model, tmp_path / "weights.safetensors")
    again = make_model()
    assert weights_digest(again) != weights_digest(model)
    load_weights(again, tmp_path / "weights.safetensors")
    assert weights_digest(again) == weights_digest(model)
    assert again.lm_head.weight is again.model.embed_tokens.weight


def test_the_digest_tells_the_least_change(make_model: Callable[[], Any]) -> None:
    model = make_model()
    before = weights_digest(model)
    with torch.no_grad():
        weight = model.model.norm.weight
        weight[0] = torch.nextafter(weight[0], torch.tensor(2.0))
    assert weights_digest(model) != before
