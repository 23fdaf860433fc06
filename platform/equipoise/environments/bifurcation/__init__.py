"""A text corridor in which a few turns decide everything, and the truth about each turn is known."""

from equipoise.environments.bifurcation.corridor import Corridor, CorridorState, bifurcation

__all__ = ["Corridor", "CorridorState", "bifurcation"]
