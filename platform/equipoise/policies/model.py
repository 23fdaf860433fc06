"""The tiny policy: Qwen3's architecture at about a hundred thousand parameters."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.policies.shape import HEAD, heads_of

if TYPE_CHECKING:
    import torch
    from transformers import Qwen3ForCausalLM

__all__ = ["load_weights", "save_weights", "stored_digest", "tiny_qwen3", "weights_digest"]


def tiny_qwen3(vocabulary: int, *, hidden: int, layers: int, seed: int) -> "Qwen3ForCausalLM":
    """A Qwen3 model with random weights of its own seed (architecture: Qwen3 report, arXiv 2505.09388).

    Args:
        vocabulary: number of tokens.
        hidden: width of the residual stream, a multiple of 16.
        layers: decoder layers.
        seed: of the initial weights; the global generator is restored afterwards.
    """
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    heads, shared = heads_of(hidden)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=shared,
        head_dim=HEAD,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=3,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    model.eval()
    return model


def save_weights(model: "torch.nn.Module", path: Path) -> None:
    """Write the state as safetensors."""
    from safetensors.torch import save_model

    save_model(model, str(path))


def load_weights(model: "torch.nn.Module", path: Path) -> None:
    """Read a state written by `save_weights` into a model of the same shape."""
    from safetensors.torch import load_model

    load_model(model, str(path))


def weights_digest(model: "torch.nn.Module") -> str:
    """SHA-256 over names, shapes and bytes of all parameters, in the order of their names."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.named_parameters()):
        digest.update(f"{name}{tuple(tensor.shape)}{tensor.dtype}".encode())
        digest.update(tensor.detach().contiguous().numpy().tobytes())
    return digest.hexdigest()


def stored_digest(path: Path) -> str:
    """The `weights_digest` of the model that `save_weights` wrote, from the file alone.

    Raises:
        OSError: if there is no such file.
        ValueError: if it is not one of safetensors.
    """
    from safetensors import SafetensorError, safe_open

    digest = hashlib.sha256()
    try:
        with safe_open(str(path), framework="numpy") as stored:
            # Of tensors that are tied the file has one name; a model lists the other, that of its embedding.
            tied = {kept: name for name, kept in (stored.metadata() or {}).items() if name != "format"}
            names = {tied.get(name, name): name for name in stored.keys()}  # noqa: SIM118 - not a mapping
            for name, kept in sorted(names.items()):
                tensor = stored.get_tensor(kept)
                digest.update(f"{name}{tuple(tensor.shape)}torch.{tensor.dtype}".encode())
                digest.update(tensor.tobytes())
    except SafetensorError as error:
        message = f"{path}: expected weights written by save_weights(), got something else ({error})"
        raise ValueError(message) from error
    return digest.hexdigest()
