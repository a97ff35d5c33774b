"""What the model says in a Messages stream: in the open block as it comes, or in one of its own.

Text is searched for calls on its way (`block_search.py`). What may be a call is held until the answer ends, or until
something else follows it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...mend.finish import Finish
from ...textcalls.scanner import FoundCall
from ...turn.text_search import SearchResult, TextPiece
from ...turn.turn import Turn
from ...unread.fast_path import PASSING_TEXT, Lesson
from ...wire.events import Event
from ..reply_builder import ReplyBuilder
from .block_search import STOP_KEY, TEXT_KEY, BlockSearch
from .blocks import SAYS, Blocks, Place, text_event
from .calls import Json

_SPACE = "white space"


class TextBlocks:
    __slots__ = ("_blocks", "_make_room", "_search", "_space", "_turn", "ends_in_text")

    def __init__(
        self, blocks: Blocks, search: BlockSearch | None, turn: Turn, make_room: Callable[[ReplyBuilder], None]
    ) -> None:
        self._blocks = blocks
        self._turn = turn
        self._search = search
        self._make_room = make_room
        self._space: tuple[Place, list[str]] | None = None
        self.ends_in_text = False
        """The last thing said was not part of a call, and its block is still open."""

    @property
    def holding(self) -> bool:
        """Is text, or a call that was found in it, held back?"""
        return self._turn.has_found or (self._search is not None and self._search.holding)

    def open(self, kind: str, place: Place, draft: ReplyBuilder) -> None:
        """A block of ours, behind everything that is complete."""
        self._make_room(draft)
        self.ends_in_text = True
        draft.out.append(self._blocks.begin(kind, place))

    def go_on(self, event: Event, said: Json, draft: ReplyBuilder) -> None:
        """A delta of the open block, as it came."""
        self.ends_in_text = True
        draft.out.append(self._blocks.renumbered(event, said))

    def lesson(self, kind: str, delta: Json) -> Lesson | None:
        """What a delta that has just gone on as it came says about those like it."""
        key = SAYS.get(kind, "")
        text = delta.get(key)
        if not isinstance(text, str) or not text:
            return None
        if kind != "text_delta" or self._search is None:
            return Lesson(key, text, PASSING_TEXT)
        return Lesson(key, text, self._search.prose) if self._search.prose is not None else None

    def search(self, event: Event, said: Json, delta: Json, place: Place, draft: ReplyBuilder) -> bool:
        """Look for calls in a delta. False when it goes on as it is."""
        search, text = self._search, delta.get("text")
        if search is None or not isinstance(text, str) or not text:
            return False
        if search.active and (search.place != place or search.stop is not None):
            self.pass_on(draft)
        told = search.take(place, text, (event, said))
        if told.parts == ((text, (event, said)),):
            return False
        if told.parts:
            draft.release(TEXT_KEY)
            self._tell_parts(told, place, said, draft)
        if search.holding:
            draft.hold(TEXT_KEY, text_event(said, search.held) if told.parts else event.raw)
        return True

    def _tell_parts(self, told: SearchResult, place: Place, said: Json, draft: ReplyBuilder) -> None:
        self._turn.found(told.calls)
        for number, part in enumerate(told.parts):
            if not isinstance(part, TextPiece):
                self.ends_in_text = False
            elif part.text.strip() or not any(isinstance(before, FoundCall) for before in told.parts[:number]):
                # White space behind a call has no use, and a block of nothing else is refused in the next request.
                self.tell(part.text, place, said, draft, part.source)

    def tell(
        self, text: str, place: Place, said: Json, draft: ReplyBuilder, source: tuple[Event, Json] | None = None
    ) -> None:
        """Say a text at a place: in the open block, there by the event that it came in, or in one of its own."""
        there = self._blocks.open
        if there is None or there.place != place or there.kind != "text":
            if not text.strip():
                # SGLang puts a newline between two calls. A block of white space alone is refused by the
                # API in the next request, so it waits for text that makes it one.
                self._keep_space(place, text, said, draft)
                return
            text = self._take_space(place, draft) + text
            self.open("text", place, draft)
            source = None
        self.ends_in_text = True
        assert self._blocks.open is not None
        index = self._blocks.open.index
        draft.out.append(self._blocks.renumbered(*source) if source else text_event({**said, "index": index}, text))

    def pass_on(self, draft: ReplyBuilder) -> None:
        """Something else follows the block that is searched: what is held of it is text."""
        self._end(draft, lambda search: search.pass_on())

    def end(self, draft: ReplyBuilder, finish: Finish) -> None:
        """The answer is over: what is held is a call or text."""
        self._end(draft, lambda search: search.close(finish))

    def _end(self, draft: ReplyBuilder, decide: Callable[[BlockSearch], SearchResult]) -> None:
        search = self._search
        if search is None or not search.active:
            return
        if search.holding:
            draft.release(TEXT_KEY)
        self._tell_parts(decide(search), search.place, {"type": "content_block_delta"}, draft)
        stop, search.stop = search.stop, None
        if stop is not None:
            draft.release(STOP_KEY)
            there = self._blocks.open
            if there is not None and there.place == search.place and there.kind == "text":
                draft.out.append(self._blocks.renumbered(*stop))
                self._blocks.open = None
                self.ends_in_text = False

    def may_stop(self, event: Event, said: Json, place: Place, draft: ReplyBuilder) -> bool:
        """The stop of a block whose last words may be a call waits for what follows."""
        search = self._search
        if search is None or not search.active or search.place != place:
            return True
        if not search.undecided:
            self.pass_on(draft)
            return True
        if search.stop is None:
            search.stop = (event, said)
            draft.hold(STOP_KEY, event.raw)
        return False

    # White space that has no block of its own

    def _keep_space(self, place: Place, text: str, said: Json, draft: ReplyBuilder) -> None:
        if self._space is None or self._space[0] != place:
            self._take_space(place, draft)
            self._space = (place, [])
        self._space[1].append(text)
        draft.hold(_SPACE, text_event(said, text))

    def _take_space(self, place: Place, draft: ReplyBuilder) -> str:
        if self._space is None:
            return ""
        draft.release(_SPACE)
        (where, texts), self._space = self._space, None
        return "".join(texts) if where == place else ""

    def drop_space(self, draft: ReplyBuilder) -> None:
        """The answer is over: white space that waited has no use."""
        self._take_space(None, draft)
