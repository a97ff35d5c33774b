"""The search of the text of one answer for calls, and of the end of its reasoning.

It tells what of the text so far is text, and what is a call; the text itself waits in `waiting.py`. A server that
does not notice the end of the reasoning sends the call behind it as reasoning: a call at its very end counts, if the
answer has nothing else. The reasoning itself passes at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from .mend.finish import Finish
from .parts import Other, Slot
from .policy import Policy
from .request.request import Request
from .sizes import Searched
from .textcalls.held import FoundCall
from .textcalls.search import Search

Found = Sequence[str | FoundCall]
"""The next of the text: what is text, and what is a call."""
_MOST_UNREAD = 64 * 1024
"""The bytes of events that pass unparsed before the search is given their texts: it reads so many in a few ms."""


class AnswerText:
    """The searches of one answer."""

    def __init__(self, request: Request, policy: Policy, sizes: Searched) -> None:
        self._request, self._policy, self._sizes = request, policy, sizes
        self._tools = request.written_tools(policy)
        """The tools whose calls are searched for."""
        self.examines = policy.text_calls != "off" and len(self._tools) > 0
        """Text is searched for calls."""
        self._search: Search | None = None
        """The search of the text that arrives: of a block, a part of an item, or the whole answer."""
        self._last: Search | None = None
        """The search of the text before it, if that is over: what it left open quotes what follows."""
        self._thoughts: Search | None = None
        self._thoughts_count = self.examines
        """A call at the end of the reasoning counts, if nothing follows."""
        self._unread: list[str] = []
        """Texts that passed unparsed, of which the search knows nothing yet; and how large their events were."""
        self._unread_size = 0
        self._has_text = False
        """The answer has more than white space."""
        self._line_begun = False
        """The line has begun with words that begin no call."""
        self.slot: Slot = None
        """Where the text that is searched arrives."""
        self._ended = False
        """The block whose text may become a call has ended."""

    @property
    def undecided(self) -> bool:
        """Whether what follows decides if text is a call."""
        return self._search is not None and self._search.undecided

    @property
    def reasoning_undecided(self) -> bool:
        """Whether the reasoning ends with a call, if nothing else follows it."""
        ends_with_call = self._thoughts_count and self._thoughts is not None and self._thoughts.undecided
        return ends_with_call and not self._has_text

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
            self._has_text = self._has_text or bool("".join(texts).strip())
            self._unread += texts
            self._unread_size += size
            if self._unread_size > _MOST_UNREAD:
                self._catch_up()

    def _catch_up(self) -> None:
        """Give the search the texts that passed unparsed."""
        unread, self._unread, self._unread_size = self._unread, [], 0
        if unread and self._search is not None:
            self._search.skip("".join(unread))

    # What arrives

    def feed(self, text: str, slot: Slot) -> Found:
        """Search the next text; what is told by now of it, and of the text that waits."""
        if not self.examines:
            return [text]
        before = self.end_block() if self.slot != slot or self._ended else []
        self.slot = slot
        if not self._sizes.may_search(len(text)):
            # It may quote what follows, so nothing more is searched.
            return [*before, *self._stop(), text]
        return [*before, *self._feed(text)]

    def think(self, text: str) -> None:
        """Watch the reasoning, which has passed."""
        if not self._thoughts_count or not text:
            return
        if self._sizes.may_search(len(text)):
            self._thoughts = self._thoughts or self._new_search(reasoning=True)
            self._thoughts.feed(text)
        else:
            self._thoughts_count = False

    def show(self, part: Other) -> Found:
        """Take something else, which may show the client text, and which the text before it goes before."""
        self._thoughts_count = self._thoughts_count and part.quiet
        if not self.examines or part.shown == "":
            return self.release()
        self.slot = part.slot if self._search is None else self.slot
        if part.shown is None or not self._sizes.may_search(len(part.shown)):
            return self._stop()
        out = self.release()
        self._feed(part.shown)
        self.release()
        return out

    def release(self) -> Found:
        """The text is followed by something else: what waits of it is no call."""
        return self._search.release() if self._search is not None and self._search.held else []

    def end(self, slot: Slot) -> Found | None:
        """A block ends: what is told of its text; None if that may still become a call."""
        if self._search is None or self.slot != slot:
            return []
        self._ended = self.undecided
        return None if self._ended else self.end_block()

    def end_block(self) -> Found:
        """The text is over. The next is searched on its own."""
        self._catch_up()
        out = self.release()
        self._last, self._search, self._ended = self._search or self._last, None, False
        return out

    def close_thoughts(self, finish: Finish) -> list[FoundCall]:
        """The answer ends, and has no other call: the calls at the end of its reasoning."""
        if not self.reasoning_undecided or self._thoughts is None or finish is not Finish.COMPLETE:
            return []
        self._thoughts_count = False
        return [call for call in self._thoughts.close() if isinstance(call, FoundCall)]

    def close(self, finish: Finish) -> Found:
        """The answer ends: what waits of its text is a call or not."""
        self._catch_up()
        known = {Finish.COMPLETE: True, Finish.CUT: False}.get(finish)
        return [] if self._search is None else self._search.close(known)

    def would_quote_after(self, waiting: str, text: str) -> bool:
        """Whether a call that followed `text` would be quoted or only an example. `waiting`: the text that waits."""
        if not self.examines or not self._sizes.may_search(len(text)):
            return True
        search = self._begun()
        structure = search.structure.copy()
        structure.add(waiting + text)
        return search.off or not structure.may_begin()

    # The search

    def _begun(self) -> Search:
        """The search of the text that arrives."""
        self._catch_up()
        if self._search is None:
            self._search, self._line_begun = self._new_search(), False
        return self._search

    def _new_search(self, *, reasoning: bool = False) -> Search:
        request, policy = self._request, self._policy
        structure = None
        if self._last is not None and not reasoning:
            structure = self._last.structure
            structure.end_block()
        return Search(
            self._tools,
            max_held=policy.max_held_bytes,
            declared=request.tools,
            texts=lambda: request.read_by_model.texts,
            # If the request asked for JSON, a message of nothing but JSON is that answer, not a call.
            weak=not request.json_wanted,
            whole=policy.text_calls == "whole",
            structure=structure,
            reasoning=reasoning,
        )

    def _feed(self, text: str) -> Found:
        line = text.rpartition("\n")[2].strip()
        found = self._begun().feed(text)
        self._has_text = self._has_text or bool(line or text.strip())
        self._line_begun = bool(line) or (self._line_begun and "\n" not in text)
        return found

    def _stop(self) -> Found:
        """The client gets text that cannot be read: nothing more is searched."""
        out = self.release()
        self._search, self.examines, self._has_text = None, False, True
        return out
