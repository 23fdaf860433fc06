"""How many operations a policy takes, from its registered shape alone: nothing is loaded."""

from equipoise_budget import Decoder

__all__ = ["HEAD", "decoder_of_shape", "heads_of"]

HEAD = 16
"""Width of an attention head."""


def heads_of(hidden: int) -> tuple[int, int]:
    """Attention heads, and heads of keys and values, of the tiny policy of a width."""
    heads = max(1, hidden // HEAD)
    return heads, max(1, heads // 2)


def decoder_of_shape(vocabulary: int, *, hidden: int, layers: int) -> Decoder:
    """The shape of the tiny policy as far as its operations depend on it; see `equipoise.policies.model.tiny_qwen3`.

    Args:
        vocabulary: number of tokens.
        hidden: width of the residual stream.
        layers: decoder layers.
    """
    heads, shared = heads_of(hidden)
    attention = hidden * HEAD * (2 * heads + 2 * shared)
    gated = 3 * hidden * 2 * hidden
    # The embedding is the output layer.
    return Decoder(vocabulary * hidden + layers * (attention + gated), layers, heads * HEAD)
