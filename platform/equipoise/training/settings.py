"""How a policy is trained, as registered."""

from dataclasses import dataclass

__all__ = ["TrainingSettings"]


@dataclass(frozen=True)
class TrainingSettings:
    """One optimizer for every cell of a suite.

    Attributes:
        learning_rate: of AdamW, constant. `weight_decay`: of AdamW, on matrices; scales of norms are left alone.
        max_grad_norm: gradients are clipped to this L2 norm; the norm before clipping is recorded.
        normalisation: of the action likelihood, see `equipoise.policies.rows.token_logprobs`.
        temperature: the logits are divided by it, as they were when the actions were sampled.
        clip: how far below and above 1 the probability ratio to the collecting policy may lie before a token
            stops pushing it further (PPO, arXiv 1707.06347, with the two sides of DAPO, arXiv 2503.14476);
            None leaves the plain policy gradient.
        loss: one of the losses of TRL's GRPOTrainer (`equipoise.training.on_policy`); None for the weighted
            likelihood of its SFTTrainer (`equipoise.training.trainer`).
        measure_every: optimizer steps between two measurements of KL and L2 from the start, which cost a forward
            pass over up to 511 turns each; None for none but those that a plan's stop needs.
        seed: for the trainer's own generators; the order of the rows does not depend on it.
    """

    learning_rate: float
    max_grad_norm: float
    normalisation: str
    weight_decay: float = 0.0
    temperature: float = 1.0
    clip: tuple[float, float] | None = None
    loss: str | None = None
    measure_every: int | None = None
    seed: int = 0
