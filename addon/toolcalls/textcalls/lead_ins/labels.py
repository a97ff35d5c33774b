"""Labels, which name what is below them: the output, the prompt, an example, a speaker, a key of data."""

from __future__ import annotations

import re

from . import announcements

_DECORATION = "#*_~=[]()<>`❌✅⚠\ufe0f \t"
"""Characters around the words of a label."""
_one_word = re.compile(r"[A-Za-zÀ-ɏЀ-ӿ][\w./@-]{0,40}(?=\W{0,4}:\W{0,4}\Z)")


class Label:
    """The last line of a paragraph, as a label."""

    __slots__ = ("_word", "text")

    def __init__(self, line: str) -> None:
        self.text = line.strip(_DECORATION)
        self._word = _one_word.match(self.text)

    @property
    def ends_with_colon(self) -> bool:
        return self.text.endswith((":", "："))

    @property
    def is_one_word(self) -> bool:
        """Whether the label is one word and a colon."""
        return self._word is not None

    @property
    def names_speaker_or_key(self) -> bool:
        """Whether the label is one word and a colon, and not a word with which a model begins to act."""
        return self._word is not None and not announcements.begins_to_act(self._word[0])
