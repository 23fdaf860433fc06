"""How far training moved the policy; it is measured while training, and by the same functions afterwards."""

from equipoise.training.displacement import kl_from_start, l2_between, measured_turns

__all__ = ["kl_from_start", "l2_between", "measured_turns"]
