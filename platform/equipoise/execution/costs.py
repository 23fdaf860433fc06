"""What it cost to obtain credit, counted from what was really played and scored."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from equipoise.policies.episodes import Episode, Start
from equipoise_budget import Cost, Decoder

if TYPE_CHECKING:
    from transformers import Qwen3ForCausalLM

__all__ = ["decoder_of", "played", "sampled", "scored"]


def decoder_of(model: "Qwen3ForCausalLM") -> Decoder:
    """The model's shape, as far as its operations depend on it; embeddings count once, as the output layer."""
    config = model.config
    # Scales of norms are vectors: a product for each entry and token, and no sum.
    parameters = sum(p.numel() for p in model.parameters() if p.ndim > 1)
    if not config.tie_word_embeddings:
        parameters -= config.vocab_size * config.hidden_size
    return Decoder(parameters, config.num_hidden_layers, config.num_attention_heads * config.head_dim)


def played(
    model: "Qwen3ForCausalLM", starts: Sequence[Start], episodes: Sequence[Episode], *, restored: bool = False
) -> Cost:
    """Tokens that the policy read and wrote, actions it took, states it was put into.

    Args:
        model: that played.
        starts: where each episode began.
        episodes: what came of them.
        restored: whether the starts are states that were played to before. Their prefixes were counted then, and
            their encoding is shared by all that start there.
    """
    decoder = decoder_of(model)
    whole = [len(episode.tokens) for episode in episodes]
    before = [len(start.prefix) if restored else 0 for start in starts]
    return Cost(
        rollout_tokens=sum(whole) - sum(before),
        environment_steps=sum(len(episode.actions) for episode in episodes),
        environment_resets=len(starts),
        flops=decoder.forward(whole) - decoder.forward(before),
    )


def sampled(model: "Qwen3ForCausalLM", starts: Sequence[Start], episodes: Sequence[Episode]) -> Cost:
    """Actions drawn at states that were played to before, and not taken: no environment is touched."""
    return replace(played(model, starts, episodes, restored=True), environment_steps=0, environment_resets=0)


def scored(model: "Qwen3ForCausalLM", lengths: Sequence[int]) -> Cost:
    """Teacher-forced reading of sequences of these lengths."""
    return Cost(scoring_tokens=sum(lengths), flops=decoder_of(model).forward(lengths))
