"""Operations by the formula are those that PyTorch counts while the model runs, and one term that is named."""

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from equipoise.execution.costs import decoder_of


def _model(*, tied: bool) -> Any:
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=128,
        tie_word_embeddings=tied,
        pad_token_id=0,
        # Its products are seen by the counter; the fused kernel of the processor is not.
        attn_implementation="eager",
    )
    return Qwen3ForCausalLM(config)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("rows", "length"), [(1, 1), (1, 7), (3, 20), (2, 64)])
def test_operations_are_those_that_torch_counts(tied: bool, rows: int, length: int) -> None:
    model = _model(tied=tied)
    ids = torch.zeros((rows, length), dtype=torch.long)
    with FlopCounterMode(display=False) as forward, torch.no_grad():
        model(input_ids=ids, use_cache=False)
    with FlopCounterMode(display=False) as both:
        loss = model(input_ids=ids, use_cache=False).logits.sum()
        torch.autograd.backward(loss)
    decoder = decoder_of(model)
    lengths = [length] * rows
    # The pairs that the causal mask hides are computed too: 3 layers, 4 heads of 16.
    hidden = 4 * 3 * (4 * 16) * rows * length * (length - 1) // 2
    assert forward.get_total_flops() == decoder.forward(lengths) + hidden
    assert both.get_total_flops() == decoder.train(lengths) + 3 * hidden


def test_a_table_that_is_only_looked_up_costs_nothing() -> None:
    assert decoder_of(_model(tied=True)) == decoder_of(_model(tied=False))
    # By hand: per layer q 32x64, k and v 32x32 each, o 64x32, and three of 32x64; the output layer 50x32.
    assert decoder_of(_model(tied=True)).parameters == 3 * (2048 + 2 * 1024 + 2048 + 3 * 2048) + 1600
