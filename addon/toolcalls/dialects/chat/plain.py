"""Which events of a Chat stream cannot concern us, told by their bytes alone.

A few marks decide: an event without any of them has no call, no usage that lacks its choices and no odd end. Most
events repeat the one before them but for the text. What surrounds the text is then known, and only the text is
searched, each mark only where the text has a byte that belongs to it: one byte is found at the speed of memory.
"""

from __future__ import annotations

import re

from .calls import FAILURES, FOREIGN_REASONS

_CALL = b"_call"
_NO_CALL = (b's":null', b's": null', b'":null', b'": null', b's":[]', b's": []')
"""How `tool_calls` or `function_call` go on when there is none."""
_PYTHON = b"{'"
_DATA = b"data:"
_DONE = b"data: [DONE]"
_CHOICES = b'"choices"'
_NULL_CHOICES = (b'"choices":null', b'"choices": null')
_ERROR_LINES = (b"\nerror", b"\rerror")
"""llama.cpp writes an error as a field of the event, without data. (No line end stands in a JSON string.)"""
_REASON = b"finish_reason"
_REFUSAL = b'"refusal"'
_NO_REFUSAL = (b":null", b": null")
_ENDS = (b'finish_reason":"', b'finish_reason": "')
_ODD_ENDS = tuple(f'"{reason}"'.encode() for reason in ("tool_use", *FOREIGN_REASONS, *FAILURES))
"""Of the reasons that need a call `tool_calls` and `function_call` have the mark of a call; this one has not."""
_TEXT = re.compile(rb'"content": ?"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL)
_APOSTROPHE, _BRACE, _COLON, _UNDERSCORE = b"'{:_"
_PATIENCE = 8
"""After so many looks that no event repeated, none is taken any more: this server varies its events."""


class Plain:
    """The look of the last event without a mark: all of it but its text."""

    __slots__ = ("_after", "_before", "_repeated", "_tail", "_text", "_top", "_unused")

    def __init__(self) -> None:
        self._before = b""
        self._after = b"nothing"
        """What no block ends with: nothing was looked at yet. (With a line end one may even begin.)"""
        # Cut out and compared, bytes take half the time of `startswith`.
        self._top, self._text, self._tail = slice(0), slice(0), slice(-len(self._after), None)
        self._repeated = True
        self._unused = 0

    def passes(self, block: bytes) -> bool:
        """Has none of these events a mark? The same as `unmarked`, sooner."""
        if block[self._top] == self._before and block[self._tail] == self._after:
            self._repeated = True
            text = block[self._text]
            if (
                (_UNDERSCORE not in text or (text.rfind(_CALL) < 0 and text.rfind(_REASON) < 0))
                and (_BRACE not in text or _APOSTROPHE not in text or text.rfind(_PYTHON) < 0)
                and (_COLON not in text or text.rfind(_DATA) < 0)
            ):
                return True
            return unmarked(block)
        if not unmarked(block):
            return False
        if self._unused < _PATIENCE and block.find(b"\n") == len(block) - 2:
            self._look_at(block)
        return True

    def _look_at(self, event: bytes) -> None:
        self._unused = 0 if self._repeated else self._unused + 1
        self._repeated = False
        text = _TEXT.search(event)
        if text is None:
            return
        before, after = event[: text.start(1)], event[text.end(1) :]
        # No mark can begin before the text and end in it, or the other way round: a quote stands on either side. An
        # end with a reason is left out, for there the text itself may be the word that makes it an odd one. Whatever
        # the text says about usage, the choices are there, and they are counted only against another `data:`.
        lone = before.rfind(_DATA) == 0 and before.find(_CHOICES) >= 0 and _DATA not in after
        if lone and not any(end in before or end in after for end in _ENDS):
            self._before, self._after = before, after
            self._top, self._text = slice(len(before)), slice(len(before), -len(after))
            self._tail = slice(-len(after), None)


def unmarked(block: bytes) -> bool:
    """Has none of these events a mark?"""
    # From the end on: CPython searches backwards in half the time.
    mention = block.rfind(_CALL)
    while mention >= 0:
        if not block.startswith(_NO_CALL, mention + 5):
            return False
        mention = block.rfind(_CALL, 0, mention)
    if _APOSTROPHE in block and block.rfind(_PYTHON) >= 0:
        return False
    if (mention := block.find(_REFUSAL)) >= 0 and not block.startswith(_NO_REFUSAL, mention + len(_REFUSAL)):
        return False
    if not _has_choices(block) or any(mark in block for mark in _NULL_CHOICES):
        return False
    if block.startswith(b"error") or any(mark in block for mark in _ERROR_LINES):
        return False
    return not ((block.rfind(_ENDS[0]) >= 0 or block.rfind(_ENDS[1]) >= 0) and any(end in block for end in _ODD_ENDS))


def _has_choices(block: bytes) -> bool:
    """Usage in an event without choices crashes clients, and what has neither may be an error in any form.

    Inside a JSON string these quotes would be escaped.
    """
    if block.rfind(_DATA) == 0:
        return block.find(_CHOICES) >= 0 or block.startswith(_DONE)
    return block.count(_CHOICES) + block.count(_DONE) >= block.count(_DATA)
