"""An answer of which the client has only one block open at a time, so a call that goes out makes the rest wait."""

from __future__ import annotations

from collections.abc import Sequence

from .answer import Answer
from .call import Call
from .calls import are_certain
from .live import Live, LiveCall
from .mend.finish import Finish
from .outcome import Outcome
from .parts import Fragment, Other, Part, Piece, Text, Thought, read_together


class BlockAnswer(Answer):
    """With `toolfix_aggregate=true` it is as any other."""

    _later: tuple[Part, ...] = ()
    """What waits for the end of the call that goes out."""
    half_end = ",\x1a"
    """The end of a refused call of which the client has the beginning: Anthropic's Python SDK reads half an object as
    if it were complete, but not this."""

    def take(self, part: Part) -> list[Part]:
        return super().take(part) if self.live is None else self._take_live(self.live, part)

    def _take_live(self, live: Live, part: Part) -> list[Part]:
        live.one_at_a_time = True
        going = live.open
        begins = isinstance(part, Fragment) and part.begins
        again = isinstance(part, Other) and part.ends and going is not None and part.slot in going.call.slots
        if again and not self._later:
            return []  # The block of a call ends with the call.
        if going is None or not (begins or _is_beside(part, going)) or (self.ended and not self._later):
            return [*super().take(part), *(self._take_later() if live.open is None else [])]
        ends = isinstance(part, Other) and part.ends
        if self.ended and not ends:
            before = self._go_on()
        elif going.complete and are_certain(self._fragments, self._tools, ended=False):
            before = self._decide(self._complete(Finish.COMPLETE))
        elif begins:
            return super().take(part)
        else:
            self._later = (*self._later, part)
            self.tail.keep(part)
            return []
        return [*before, *self._take_later(), *self.take(part)]

    def _take_later(self) -> list[Part]:
        later, self._later = self._later, ()
        for part in later:
            self.tail.let_go(part)
        return [ready for part in later for ready in self.take(part)]

    def _take_fragment(self, part: Fragment) -> list[Part]:
        out = super()._take_fragment(part)
        for one in out:
            if isinstance(one, Piece) and part.source is not None and _says_as(one, part):
                read_together(part.source.raw, [one])
        return out

    def _sent(self, call: Call, outcome: Outcome, flowing: LiveCall | None = None) -> list[Part]:
        left_alone, left_half = self.left_alone or outcome.left_alone, self._left_half
        out = super()._sent(call, outcome, flowing)
        for one in out:
            if isinstance(one, Piece):
                # A call that is dropped before an error gets no end.
                one.ends = one.ends and not outcome.dropped
                self.left_alone = left_alone
                if one.ends and not outcome.left_alone:
                    self._left_half = left_half  # A block that has an end is a call, however its input reads.
        return out

    def close(self, finish: Finish, *, failed: bool = False) -> list[Part]:
        out: list[Part] = []
        if self._later:
            # A reason that waits came behind all of this.
            stop, self._stop = self._stop, None
            worst = Finish.CUT if failed else self._trusted(finish)
            out = [*self._decide(self._complete(worst), drop=failed), *self._take_later()]
            self._stop = stop
        return [*out, *super().close(finish, failed=failed)]

    def _truth(self, reasons: Sequence[str]) -> object:
        return super()._truth([reason for reason in reasons if reason or not self._left_half])


def _is_beside(part: Part, going: LiveCall) -> bool:
    """Whether a part is of another block than the call that goes out."""
    if isinstance(part, Other) and not (part.begins or part.ends):
        return part.slot is not None and not (part.quiet and part.slot in going.call.slots)
    return isinstance(part, Text | Thought | Other)


def _says_as(piece: Piece, part: Fragment) -> bool:
    """Whether a piece says just what a fragment says, which is all of its event."""
    alone = part.source is not None and part.source.parts == [part] and piece.slot == part.slot
    named = not piece.begins or (piece.id, piece.name) == (part.id, part.name)
    return alone and named and (piece.arguments, piece.begins, piece.ends) == (part.arguments, part.begins, part.ends)
