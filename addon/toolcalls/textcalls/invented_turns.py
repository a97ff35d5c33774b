"""Turns of a user or a tool that the model invents in its answer: nothing after one is a call.

A model that invents the user's consent or the result of a tool goes on as if it had received them. It may write the
role markers of its template, the bare roles if a server stripped the markers, an element, or lines of a script.
"""

from __future__ import annotations

import re

_OTHERS = r"(?:user|human|system|developer|tool|ipython|observation|environment|function|functions\.[\w.-]{1,80})"
_MODEL = r"(?:assistant|model|gpt)"
_ROLE = r"(?:<\|(?:im_start|start_header_id|header_start|start_of_role|start)\|>|<\|turn>|<start_of_turn>)\s?"
"""What comes before the name of a role."""

TURN = (
    rf"(?P<foreign>(?i:{_ROLE}{_OTHERS}\b|<\|(?:user|human|observation|system|tool|tool_response)\|?>"
    r"|<｜user｜>|<｜tool▁outputs?▁begin｜>|<\|(?:user|system)_token\|>|\[\|(?:user|human)\|\]|<\|im_(?:user|system|tool)\|>|\]~b\](?:user|system|tool)\b"
    r"|<\|open\|>message\s{1,4}role=\"(?:user|tool|system)\"|[<‹]｜hy_user｜>"
    r"|(?:<\|endoftext\|>|<\|end_of_text\|>|<eos>|</s>)\s{0,8}(?:human|user)\s?:)|\[INST\])"
    rf"|(?:(?i:{_ROLE}{_MODEL}\b|<\|assistant\|>|<｜assistant｜>|<\|chatbot_token\|>|<\|im_assistant\|>|\]~b\](?:ai|assistant)\b"
    r"|<\|open\|>message\s{1,4}role=\"assistant\"|[<‹]｜hy_assistant｜>)|\[/INST\])"
)
"""Matches the beginning of a turn: of a user, a tool or the system (group `foreign`), or of the model."""

_ANSWERS = frozenset(("tool_response", "tool_result", "function_results", "function_result", "system-reminder"))
"""Elements in which clients send the model results and reminders."""
_OTHER_ROLES = frozenset(("user", "human", "tool", "system", "observation"))
_MODEL_ROLES = frozenset(("assistant", "model"))
_LINE = re.compile(
    r"(?:(?:\#{1,4}\s|\*{2,3})?(?:user|human)(?:\*{2,3})?|h|tool (?:result|response|output)s?):",
    re.IGNORECASE,
)
"""A line that begins the turn of a user or a tool."""
_OBSERVED = re.compile(r"observation:", re.IGNORECASE)
_ACTED = re.compile(r"(?:thought|action(?: input)?):", re.IGNORECASE)
"""With a call or one of these, an observation is the result of a tool; alone it is a remark of the model."""
_BEGINS_LINE = frozenset("uUhHoOtTsSaAmM#*")
_may_name = re.compile(
    r"user|h(?:uman|:)|tool|system|observation|assistant|model|thought|action|(?:#{1,4}\s|\*{2,3})(?:user|human)",
    re.IGNORECASE,
)
"""How such lines begin: a quick check that rules out most others."""


class Turns:
    """Whose turn it is. An invented turn never ends, because the model cannot give itself the next turn."""

    __slots__ = ("_acted", "_observed", "_role", "foreign")

    def __init__(self) -> None:
        self.foreign = False
        """The model invented a turn of a user or a tool."""
        self._role = False
        """A line was nothing but a role other than the model's."""
        self._acted = self._observed = False

    def call(self, *, turn_follows: bool) -> None:
        """Note a call. `turn_follows`: a token after it begins the turn of a user or a tool."""
        self._acted = True
        self.foreign = self.foreign or turn_follows

    def close(self, element: str, *, in_reasoning: bool) -> None:
        """Note the end of an element. `in_reasoning`: reasoning may repeat what the client sent."""
        self.foreign = self.foreign or (element in _ANSWERS and not in_reasoning)

    def lines(self, lines: list[str]) -> None:
        """Take whole lines of the answer, or their beginnings."""
        for line in lines:
            if line[:1] in _BEGINS_LINE and _may_name.match(line) is not None:
                self._line(line)

    def _line(self, line: str) -> None:
        word = line[:16].rstrip().lower()
        if word in _OTHER_ROLES:
            self._role = True
        elif (self._role and word in _MODEL_ROLES) or _LINE.match(line) is not None:
            self.foreign = True
        else:
            self._observed = self._observed or _OBSERVED.match(line) is not None
            self._acted = self._acted or _ACTED.match(line) is not None
            self.foreign = self.foreign or (self._acted and self._observed)
