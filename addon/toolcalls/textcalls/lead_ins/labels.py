"""Labels, which name what is below them: the output, the prompt, an example, a speaker, a key of data."""

from __future__ import annotations

import re

from . import announcements

_THINGS = (
    r"examples?|samples?|outputs?|results?|response|stdout|stderr|prompts?|transcripts?|logs?|usage|syntax|formats?"
    r"|page|documents?|contents?|quot(?:e|es|ation)|excerpts?|snippets?|errors?|exceptions?|warnings?|messages?"
    r"|inputs?"
    r"|originals?|before|after|wrong|bad|incorrect|good|correct|right|don['’]?ts?|dos|instructions?|templates?|diff"
    r"|patch|source|text|data|body|comments?|observations?|conversations?|dialog(?:ue)?s?|history|questions?|answers?"
    r"|user|human|assistant|system|tool|model|notes?|beispiele?|ausgabe|exemples?|sortie|ejemplos?|salida|exemplos?"
    r"|sa[ií]da|esempio|примеры?|вывод|示例|例子|输出|输入|結果|例|出力|예시|출력"
)
_label = re.compile(
    rf"(?:[\w/'’-]{{1,24}}\s){{0,2}}(?:{_THINGS})(?:\s?#?\d{{1,4}}|\s\([^()]{{1,24}}\)|\s[a-z]\b)?\W{{0,6}}\Z",
    re.IGNORECASE,
)
"""A label for a text below it: the output, the prompt, an example."""
_DECORATION = "#*_~=[]()<>`❌✅⚠\ufe0f \t"
"""Characters around the words of a label."""
_one_word = re.compile(r"[A-Za-zÀ-ɏЀ-ӿ][\w./@-]{0,40}(?=\W{0,4}:\W{0,4}\Z)")


class Label:
    """The last line of a paragraph, as a label."""

    __slots__ = ("_decorated", "_word", "text")

    def __init__(self, line: str) -> None:
        self.text = line.strip(_DECORATION)
        self._decorated = line[0] in _DECORATION
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

    @property
    def names_a_thing(self) -> bool:
        """Whether the label names the text below it."""
        return (self._decorated or self.ends_with_colon) and _label.match(self.text) is not None
