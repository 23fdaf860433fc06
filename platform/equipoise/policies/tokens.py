"""Words to token ids: one id a word, and five markers that give an episode its shape.

A transcript reads ``<bos> observation <act> command <eot> observation <act> command <eot> ...``.
"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from equipoise.errors import ExecutionError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["MARKERS", "WordTokens"]

_PARTS = re.compile(r"[A-Za-z0-9']+|[^A-Za-z0-9'\s]")

MARKERS = ("<pad>", "<bos>", "<act>", "<eot>", "<end>")


class WordTokens:
    """A closed word-level vocabulary.

    Args:
        words: every word that observations and commands can contain; order does not matter.
    """

    def __init__(self, words: Iterable[str]) -> None:
        unique = sorted(set(words) - set(MARKERS))
        self.words: tuple[str, ...] = (*MARKERS, *unique)
        self._ids = {word: index for index, word in enumerate(self.words)}
        self._cache: dict[str, tuple[int, ...]] = {}
        self.pad, self.bos, self.act, self.eot, self.end = range(len(MARKERS))

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of the words of a text: what blanks separate or, where the vocabulary lacks that, its parts.

        The parts are runs of letters, digits and apostrophes, and every other sign by itself, so that a full stop
        need not be listed behind every word.

        Raises:
            ExecutionError: if a word and its parts are not in the vocabulary.
        """
        known = self._cache.get(text)
        if known is None:
            words = (part for word in text.split() for part in self._parts(word))
            known = self._cache[text] = tuple(self._id(word, text) for word in words)
        return known

    def decode(self, ids: Sequence[int]) -> str:
        """The words of a sequence of ids, separated by spaces."""
        return " ".join(self.words[index] for index in ids)

    def _parts(self, word: str) -> list[str]:
        return [word] if word in self._ids else _PARTS.findall(word)

    def _id(self, word: str, text: str) -> int:
        found = self._ids.get(word)
        if found is None:
            message = (
                f"expected a word of the environment's vocabulary ({len(self)} words), got {word!r} in {text!r}; "
                "the environment's vocabulary() has to list every word it can say"
            )
            raise ExecutionError(message)
        return found

    def to_transformers(self) -> "PreTrainedTokenizerFast":
        """The same vocabulary as a Hugging Face tokenizer (word level, whitespace split)."""
        from tokenizers import Tokenizer
        from tokenizers.models import WordLevel
        from tokenizers.pre_tokenizers import WhitespaceSplit
        from transformers import PreTrainedTokenizerFast

        inner = Tokenizer(WordLevel(dict(self._ids), unk_token=MARKERS[0]))
        inner.pre_tokenizer = WhitespaceSplit()
        return PreTrainedTokenizerFast(
            tokenizer_object=inner, pad_token=MARKERS[0], bos_token=MARKERS[1], eos_token=MARKERS[3]
        )
