"""The search of the text of one answer for calls, and of the end of its reasoning.

A server that does not notice the end of the reasoning sends the call behind it as reasoning: a call at its very end
counts, if the answer has nothing else. The reasoning itself passes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from .mend.finish import Finish
from .parts import Other, Part, Slot, Text
from .policy import Policy
from .request.request import Request
from .sizes import Searched
from .textcalls.held import FoundCall
from .textcalls.search import Search
from .textcalls.structure import Structure
from .waiting import Waiting, Written

_MOST_UNREAD = 64 * 1024
"""The bytes of events that pass unparsed before the search is given their texts: it reads so many in a few ms."""


class AnswerText:
    """The searches of one answer. What may become a call waits; the methods return what goes now."""

    def __init__(self, request: Request, policy: Policy, sizes: Searched, waiting: Waiting) -> None:
        self._request, self._policy, self._sizes, self._waiting = request, policy, sizes, waiting
        self._tools = request.written_tools(policy)
        """The tools whose calls are searched for."""
        self.examines = policy.text_calls != "off" and len(self._tools) > 0
        """Text is searched for calls."""
        self._search: Search | None = None
        """The search of the text that arrives: of a block, a part of an item, or the whole answer."""
        self._structure = Structure()
        """What the text before it left open, which quotes what follows."""
        self._thoughts: Search | None = None
        self._thoughts_count = self.examines
        """A call at the end of the reasoning counts: the answer has nothing else but white space."""
        self._unread: list[str] = []
        """Texts that passed unparsed, of which the search knows nothing yet; and how large their events were."""
        self._unread_size = 0
        self._line_begun = False
        """The line has begun with words that begin no call."""
        self._slot: Slot = None
        """Where the text that is searched arrives."""
        self._ended = False
        """The block whose text may become a call has ended."""

    def undecided(self, *, alone: bool) -> bool:
        """Whether what follows decides if text is a call, or, if the answer has no other call (`alone`), the end of
        the reasoning."""
        if self._search is not None and self._search.held is not None:
            return True
        return alone and self._thoughts_count and self._thoughts is not None and self._thoughts.held is not None

    @property
    def rests(self) -> bool:
        """Whether no text is the beginning of a call."""
        return self._search is None or self._search.rests

    @property
    def line_begun(self) -> bool | None:
        """Whether the last line has begun with words that begin no call; None if text is not searched."""
        return self._line_begun if self.examines else None

    def pass_texts(self, texts: list[str], size: int, line_begun: bool | None) -> None:
        """Texts went to the client unparsed, in events of this size. `line_begun`: see `Alike.texts`."""
        if line_begun is not None:
            self._line_begun = line_begun
            self._thoughts_count = self._thoughts_count and not "".join(texts).strip()
            self._unread += texts
            self._unread_size += size
            if self._unread_size > _MOST_UNREAD:
                self._begun()

    # What arrives

    def feed(self, part: Text) -> list[Part]:
        """Search the next text."""
        waits = bool(self._waiting.texts)
        if not self.examines or not (part.text or waits):
            return [part]
        before = self.end_block() if self._slot != part.slot or self._ended else []
        self._slot = part.slot
        # Longer text may quote what follows, so nothing more is searched.
        searched = self._sizes.may_search(len(part.text))
        found = self._feed(part.text) if searched else [*self._stop(), part.text]
        if not waits and found == [part.text]:
            return [part]
        self._waiting.add(part)
        return before + self._waiting.release(found, part.slot)

    def think(self, text: str) -> None:
        """Watch the reasoning, which has passed."""
        if not self._thoughts_count or not text:
            return
        if self._sizes.may_search(len(text)):
            self._thoughts = self._thoughts or self._new_search(reasoning=True)
            self._thoughts.feed(text)
        else:
            self._thoughts_count = False

    def show(self, part: Other) -> list[Part]:
        """Take something else, which may show the client text, and which the text before it goes before."""
        self._thoughts_count = self._thoughts_count and part.quiet
        out = self.release()
        if self.examines and part.shown != "":
            self._slot = part.slot if self._search is None else self._slot
            if part.shown is None or not self._sizes.may_search(len(part.shown)):
                self._stop()
            else:
                self._feed(part.shown)
                self._drain()
        return out

    def release(self) -> list[Part]:
        """The text is followed by something else: what waits of it is no call."""
        return self._waiting.release(self._drain(), self._slot)

    def end(self, slot: Slot) -> list[Part] | None:
        """A block ends: what goes of its text; None if that may still become a call."""
        if self._search is None or self._slot != slot:
            return []
        self._ended = self._search.held is not None
        return None if self._ended else self.end_block()

    def end_block(self) -> list[Part]:
        """The text is over. The next is searched on its own."""
        out: list[Part] = []
        if self._search is not None:
            self._structure = self._begun().structure
            out = self.release()
            self._structure.end_block()
            self._search, self._ended = None, False
        return out

    def close(self, finish: Finish, *, alone: bool = True) -> list[Part]:
        """The answer ends: what waits of its text is a call or not. `alone`: it has no call."""
        if alone and self._thoughts_count and self._thoughts is not None and finish is Finish.COMPLETE:
            self._thoughts_count = False
            for call in self._thoughts.close():
                if isinstance(call, FoundCall):
                    choice = self._waiting.choice
                    self._waiting.add(Written("", choice=choice, call=call, step="written as reasoning"))
        if self._search is None:
            return []
        known = {Finish.COMPLETE: True, Finish.CUT: False}.get(finish)
        return self._waiting.release(self._begun().close(known), self._slot)

    def would_quote_after(self, text: str) -> bool:
        """Whether a call that followed the text so far and `text` would be quoted or only an example."""
        if not self.examines or not self._sizes.may_search(len(text)):
            return True
        search = self._begun()
        structure = copy(search.structure)
        structure.add(self._waiting.text + text)
        return search.off or not structure.may_begin()

    # The search

    def _begun(self) -> Search:
        """The search of the text that arrives, which knows the texts that passed unparsed."""
        unread, self._unread, self._unread_size = self._unread, [], 0
        if self._search is None:
            self._search, self._line_begun = self._new_search(), False
        elif unread:
            self._search.skip("".join(unread))
        return self._search

    def _new_search(self, *, reasoning: bool = False) -> Search:
        request, policy = self._request, self._policy
        return Search(
            self._tools,
            max_held=policy.max_held_bytes,
            declared=request.tools,
            texts=lambda: request.read_by_model.texts,
            # If the request asked for JSON, a message of nothing but JSON is that answer, not a call.
            weak=not request.json_wanted,
            whole=policy.text_calls == "whole",
            structure=Structure() if reasoning else self._structure,
            reasoning=reasoning,
        )

    def _feed(self, text: str) -> Sequence[str | FoundCall]:
        line = text.rpartition("\n")[2].strip()
        found = self._begun().feed(text)
        self._thoughts_count = self._thoughts_count and not (line or text.strip())
        self._line_begun = bool(line) or (self._line_begun and "\n" not in text)
        return found

    def _drain(self) -> Sequence[str | FoundCall]:
        return self._search.release() if self._search is not None else []

    def _stop(self) -> Sequence[str | FoundCall]:
        """The client gets text that cannot be read: nothing more is searched."""
        out = self._drain()
        self._search, self.examines, self._thoughts_count = None, False, False
        return out
