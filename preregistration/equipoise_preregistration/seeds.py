"""Seeds by name: each stream of random numbers is a function of the suite's seed and of what it is for."""

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

__all__ = ["derive_seed", "generator"]

_SPARE_BITS = 11


def derive_seed(suite_seed: int, *names: str | int) -> int:
    """A seed for one stream, the same whatever else is drawn, and in whatever order.

    It depends on the suite's own seed and on the names alone, so that a suite whose description changes
    keeps its numbers. SHA-256 over the length-prefixed names: `("a", "bc")` is not `("ab", "c")`, and the
    number 1 is not the text "1".

    Args:
        suite_seed: The `seed` of the suite.
        names: What the stream is for, from the large to the small: `("block", 3, "collect")`.

    Returns:
        An integer of 53 bits, which every generator takes and JSON keeps.
    """
    parts = (suite_seed, *names)
    text = "".join(f"{type(part).__name__[0]}{len(str(part))}:{part}" for part in parts)
    return int.from_bytes(sha256(f"eq1:{text}".encode()).digest()[:8], "big") >> _SPARE_BITS


def generator(seed: int, *names: str | int) -> "np.random.Generator":
    """A PCG64 generator of one's own, seeded by `derive_seed`."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(derive_seed(seed, *names)))
