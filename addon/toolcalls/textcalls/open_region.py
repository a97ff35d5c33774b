"""A region while its format reads it: it is held until it is decided. A quoted region passes while it is read."""

from __future__ import annotations

from collections.abc import Callable

from ..work import Work
from .cursor import CutOff, NotACall, Step
from .quoting import Quoting
from .region import Region

_SEARCH = 10
"""The steps that a search inside a region costs."""


class OpenRegion:
    __slots__ = (
        "_last_line",
        "_parts",
        "_quoting_before",
        "_reading",
        "_work",
        "cut",
        "decided",
        "proven",
        "quoted",
        "region",
        "rescue",
        "shown",
    )

    def __init__(
        self,
        region: Region,
        text: str,
        reader: Callable[[Region], Step[int]],
        work: Work,
        *,
        rescue: bool,
        shown: bool,
        quoting: Quoting | None = None,
    ) -> None:
        """`text`: how the region begins. `rescue`: if it has no call, its text is searched. `shown`: the words before
        it say that it is an example and not a call. `quoting`: the state at its beginning, if it is quoted."""
        self.region = region
        self.rescue = rescue
        self.shown = shown
        self.quoted = quoting is not None
        self._work = work
        self._parts = [text] if quoting is None else []
        self._reading = reader(region)
        self._quoting_before = quoting
        self._last_line: list[str] = []
        """The last line of a quoted region so far, with the newline before it."""
        self.decided = False
        """Whether the format has read all of it, or found that it is no call."""
        self.proven = 0
        """How much of it is certain to be calls."""
        self.cut = False
        """The text ended inside a call."""

    def drain(self) -> str:
        """The text of the region that has not passed; nothing is read after this."""
        return self.region.drain() + self.region.rest if self.quoted else "".join(self._parts)

    def read(self, text: str, *, eof: bool, finished: bool) -> None:
        """Let the format read on."""
        region = self.region
        if text:
            region.extend(text)
            if not self.quoted:
                self._parts.append(text)
        region.eof, region.finished = eof, finished
        self.decided = True
        try:
            next(self._reading)
            self.decided = False
        except StopIteration as end:
            self.proven = end.value
        except NotACall:
            pass
        except CutOff:
            self.cut = True
        self._work.spend(_SEARCH * region.searches)
        region.searches = 0

    def pass_over(self, quoting: Quoting) -> tuple[str, Quoting]:
        """The text of a quoted region as far as it was read, and the quoting state after it."""
        region = self.region
        if self.decided and not region.offset:
            region.pos = 1
        text = region.drain()
        quoting.advance(text)
        _, newline, line = text.rpartition("\n")
        self._last_line = ["\n", line] if newline else [*self._last_line, line]
        if self.decided and region.items and self._quoting_before is not None:
            # Nothing in the text of a call ends the quotation around it.
            quoting = self._quoting_before
            quoting.call("".join(self._last_line), turn_follows=region.turn_follows)
            quoting.behind_quoted = True
        return text, quoting
