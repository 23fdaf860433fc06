"""Placebos: the same credit, moved to other turns of the same trajectory."""

import numpy as np

from equipoise_conditions.arrays import IntArray
from equipoise_conditions.trajectories import Trajectories

__all__ = ["permutation"]


def permutation(trajectories: Trajectories, rng: np.random.Generator) -> IntArray:
    """Return sigma, uniform over the permutations of each trajectory's own turns.

    Args:
        trajectories: the batch, T turns.
        rng: the twin's own stream; one number is drawn for each turn, copies included.

    Returns:
        (T,) turn -> turn of the same trajectory. Copies of a parent's turns map to themselves.
    """
    key = rng.random(trajectories.n_turns)
    own = np.flatnonzero(trajectories.own)
    shuffled = own[np.lexsort((key[own], trajectories.trajectory_of_turn[own]))]
    sigma = np.arange(trajectories.n_turns, dtype=np.int64)
    sigma[own] = shuffled
    sigma.setflags(write=False)
    return sigma
