"""What a suite will conclude, and by which rule: level, smallest effect, looks, hypotheses."""

import re
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from equipoise_preregistration.sections import Identifier, Section, Share, Size

__all__ = ["ARMS_OF", "CONTRASTS", "Analysis", "Contrast", "Hypothesis", "Kind", "parse_contrast"]

Kind = Literal["content", "shape", "volume", "total"]
"""The four contrasts of a condition with the baseline; content + shape + volume = total."""

CONTRASTS: tuple[Kind, ...] = get_args(Kind)

_KINDS: dict[str, Kind] = {kind: kind for kind in CONTRASTS}

ARMS_OF: dict[Kind, tuple[str, ...]] = {
    "content": ("matched", "twins"),
    "shape": ("matched", "twins"),
    "volume": ("native", "matched"),
    "total": ("native",),
}
"""Which arms the cell means of a contrast come from."""

_CONTRAST = re.compile(r"\s*([A-Za-z]+)\s*\(\s*([A-Za-z0-9_-]+)\s*\)\s*")


@dataclass(frozen=True)
class Contrast:
    """What a hypothesis is about: one contrast of one condition."""

    kind: Kind
    condition: str


def parse_contrast(text: str) -> Contrast:
    """Reads `content(gigpo)`.

    Raises:
        ValueError: If the text is not one of the four contrasts with a condition in brackets.
    """
    match = _CONTRAST.fullmatch(text)
    kind = _KINDS.get(match[1]) if match else None
    if match is None or kind is None:
        expected = ", ".join(f"{kind}(CONDITION)" for kind in CONTRASTS)
        message = f"expected one of {expected}, got {text!r}"
        raise ValueError(message)
    return Contrast(kind, match[2])


class Hypothesis(Section):
    """A claim that will be called confirmed, refuted, equivalent or inconclusive.

    Attributes:
        id: Its name in the suite.
        says: The claim in a sentence.
        contrast: What it is about, as `content(gigpo)`.
        direction: Of the claim.
    """

    id: Identifier
    says: str = ""
    contrast: str
    direction: Literal["greater", "less", "two-sided"] = "greater"

    @property
    def about(self) -> Contrast:
        """The contrast, read."""
        return parse_contrast(self.contrast)


class Analysis(Section):
    """The plan of the inference.

    Attributes:
        alpha: Level of the family of claims.
        smallest_effect: Smallest difference in success rate that would matter.
        primary: The contrast that a rule wins on.
        multiplicity: How the family is held at its level.
        engine: Whether contrasts are tested on the exact error stratum or paired by block, or `both` must agree;
            `auto` is `both`, and `paired` where a block has several twins or the data are looked at open-ended.
        gatekeeping: Families in an order: each is judged only when all of the one before it is shown.
        looks: After how many blocks the data are analysed; empty means once, after the last block.
        spending: How the level is spent over the looks: `obf` and `pocock` for planned looks, `e-process` for
            looks after any block.
    """

    alpha: Share = 0.05
    smallest_effect: Share = 0.05
    primary: Literal["content"] = "content"
    multiplicity: Literal["holm", "step-down-max-t"] = "holm"
    engine: Literal["auto", "exact-stratum", "paired", "both"] = "auto"
    gatekeeping: Annotated[tuple[Kind, ...], Field(strict=False)] = ()
    looks: Annotated[tuple[Size, ...], Field(strict=False)] = ()
    spending: Literal["none", "obf", "pocock", "e-process"] = "none"
