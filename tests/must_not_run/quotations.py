"""The generator of quotations: every way to quote, refuse, explain or rehearse a call, in the formats, on the wires.

    PYTHONPATH=addon:. .venv/bin/python -m tests.must_not_run.quotations [-v]

prints the ways by class and how many calls came out of them; -v: and each way that is wrong.

A class of ways is a table in a file of its own. A way gives the parts of an answer, and the request before it.
"""

from __future__ import annotations

import html
import itertools
import json
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

from tests.must_not_run import parts as wire
from tests.must_not_run import prose_behind, quoted_ends, read_aloud, rehearsals
from tests.must_not_run.parts import Part, text_of
from tests.must_not_run.wires import TOOLS, Json
from tests.must_not_run.written import COMMON, FORMATS, RARE, FormatWriter, Made
from tests.protocols.text_protocols import PROTOCOLS, Client, Protocol
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import Request, read_request

QUOTED: Made = ("Bash", {"command": "rm -rf build"})
MEANT: Made = ("Read", {"file_path": "src/main.py"})
STRUCTURED: Made = ("Read", {"file_path": "README.md"})

Parts = tuple[Part, ...]
RARE_FORMATS_PER_WAY = 2


@dataclass(frozen=True)
class Way:
    group: str
    name: str
    parts: Callable[[FormatWriter], Parts]
    """The answer, with the call in this format."""
    requests: Callable[[str, FormatWriter], Json] = lambda protocol, format: {}
    """What the request says beside its tools, in a protocol's words."""
    meant: tuple[Made, ...] = ()
    """Calls that are meant, beside the quoted one."""
    formats: tuple[str, ...] = ()
    """Only in these; else in the common ones, and in some of the others in turn."""
    protocols: tuple[str, ...] = ("chat", "messages", "responses")
    ordered: bool = False
    """What is said last matters: a document of Chat or Ollama cannot say it."""


# One class after the other


def filled(text: str, format: FormatWriter) -> str:
    """A text of the tables, with the call in it."""
    call = format(QUOTED)
    broken = call
    for mark in "<[=":
        broken = broken.replace(mark, mark + "\u200b")
    marks = {"%CALL%": call, "%ESCAPED%": html.escape(call), "%BROKEN%": broken}
    for mark, said in marks.items():
        text = text.replace(mark, said)
    # Behind a thought JSON alone is a call as well, but only where nothing else was said.
    return text.replace("%MEANT%", FORMATS["hermes" if format.whole else format.name](MEANT))


def _said(text: str) -> Callable[[FormatWriter], Parts]:
    return lambda format: (Part("text", filled(text, format)),)


def _lined(first: str, rest: str, behind: str = "") -> Callable[[FormatWriter], Parts]:
    def said(format: FormatWriter) -> Parts:
        call = format(QUOTED).replace("\n", "\n" + rest)
        return (Part("text", quoted_ends.INTRO + first + call + behind),)

    return said


def _prose_behind() -> Iterator[Way]:
    for name, (before, behind) in prose_behind.WAYS.items():
        yield Way("prose follows", name, _said(f"{before}%CALL%{behind}"))


def _continued(opener: str) -> str:
    """What each further line of a call begins with, behind an opener that ends in the middle of a line."""
    last = opener.rpartition("\n")[2]
    return last if not last.strip(" \t>") else ""


def _quoted_ends() -> Iterator[Way]:
    for kind, table in quoted_ends.SPANS.items():
        for name, (opener, closer) in table.items():
            rest = _continued(opener)
            yield Way("quoted at the end: closed", f"{kind}: {name}", _lined(opener, rest, closer))
            if kind == "fence":
                yield Way("quoted at the end: never closed", f"{kind}: {name}", _lined(opener, rest))


def _rehearsals() -> Iterator[Way]:
    for name, text in rehearsals.rehearsals().items():
        meant = (MEANT,) if "%MEANT%" in text else ()
        yield Way("rehearsed", name, _said(text), meant=meant)


def _read_aloud() -> Iterator[Way]:
    said = itertools.cycle(read_aloud.SAID.items())
    for protocol, places in read_aloud.PLACES.items():
        for place, request in places.items():
            for change, changed in read_aloud.CHANGES.items():
                how, text = next(said)

                def asked(
                    _: str,
                    format: FormatWriter,
                    request: Callable[[str], Json] = request,
                    changed: Callable[[str], str] = changed,
                ) -> Json:
                    return request(read_aloud.page(changed(format(QUOTED))))

                if change != "as it is" and place not in ("what the user says", "a tool result"):
                    continue  # Where it is written is one thing, how it is written is another.
                name = f"{place}, {change}, {how}"
                yield Way("read aloud", name, _said(text), requests=asked, protocols=(protocol,))


def _unwanted() -> Iterator[Way]:
    for protocol, choices in read_aloud.NO_CALL.items():
        for choice, request in choices.items():
            for how, text in (("after prose", "I look.\n\n%CALL%"), ("as the whole answer", "%CALL%")):
                asked = lambda _, __, request=request: request  # noqa: E731
                yield Way("tool_choice none", f"{choice}, {how}", _said(text), requests=asked, protocols=(protocol,))


def _several_parts() -> Iterator[Way]:
    for name, (parts, meant) in PARTS.items():

        def made(format: FormatWriter, parts: Parts = parts) -> Parts:
            return tuple(Part(part.kind, filled(part.text, format), part.name) for part in parts)

        ordered = any(part.kind == "reasoning" for part in parts[1:])
        yield Way("over several parts", name, made, meant=meant, ordered=ordered)


def _text(text: str) -> Part:
    return Part("text", text)


def _further(text: str) -> Part:
    return Part("further", text)


def _thought(text: str) -> Part:
    return Part("reasoning", text)


_CALL = Part("call", json.dumps(STRUCTURED[1]), STRUCTURED[0])
_ONE = (STRUCTURED,)

PARTS: dict[str, tuple[Parts, tuple[Made, ...]]] = {
    "prose in the next one": ((_text("Look:\n\n%CALL%"), _text("How shall I proceed?")), ()),
    "prose in the next part of the message": ((_text("Look:\n\n%CALL%"), _further("How shall I proceed?")), ()),
    "a full stop in the next one": ((_text("It was %CALL%"), _text(".")), ()),
    "white space in the next one and prose behind": ((_text("%CALL%"), _text("\n\n"), _text("Not run.")), ()),
    "white space in the next part and prose behind": ((_text("%CALL%"), _further("\n"), _further("Not run.")), ()),
    "prose before, the call alone, prose behind": ((_text("Look:"), _text("%CALL%"), _text("Not run.")), ()),
    "the call twice and prose behind": ((_text("%CALL%"), _text("%CALL%"), _text("Not run.")), ()),
    "a fence that opens in the part before": ((_text("Look:\n\n```xml\n"), _text("%CALL%")), ()),
    "a fence that opens in the part before of the message": ((_text("Look:\n\n```\n"), _further("%CALL%\n```")), ()),
    "a page that opens in the part before": ((_text("Look:\n\n<document>\n"), _text("%CALL%\n</document>")), ()),
    "a thought that opens in the part before": ((_text("<think>\n"), _text("%CALL%\n"), _text("</think>\nHi.")), ()),
    "a lone closer in the next one": ((_text("Perhaps %CALL%"), _text("\n</think>\n\nHello.")), ()),
    "a thought behind": ((_text("Look:\n\n%CALL%"), _thought("No, that would be wrong.")), ()),
    "a thought and prose behind": ((_text("%CALL%"), _thought("Hm."), _text("I did not run it.")), ()),
    "a thought of one word behind": ((_text("%CALL%"), _thought("No")), ()),
    "in the thought, then an answer": ((_thought("I could say\n%CALL%\n"), _text("Hello.")), ()),
    "in the thought, with more thoughts behind": ((_thought("I could say\n%CALL%\nbut no."), _text("Hello.")), ()),
    "in the thought alone, with more thoughts behind": ((_thought("I could say\n%CALL%\nbut no."),), ()),
    "in the first of two thoughts": ((_thought("Perhaps\n%CALL%"), _thought("No."), _text("Hello.")), ()),
    "in a thought behind the text": ((_text("Hello."), _thought("Perhaps\n%CALL%\nNo.")), ()),
    "in the thought, then a structured call": ((_thought("I could say\n%CALL%"), _CALL), _ONE),
    "in the thought, then an answer and a structured call": ((_thought("%CALL%"), _text("I read it."), _CALL), _ONE),
    "prose behind, then a structured call": ((_text("%CALL%\n\nwas quoted; I read the file."), _CALL), _ONE),
    "prose in the next one, then a structured call": ((_text("%CALL%"), _text("was quoted."), _CALL), _ONE),
    "in a fence, then a structured call": ((_text("Look:\n\n```\n%CALL%\n```\n"), _CALL), _ONE),
    "a structured call, then a quotation": ((_CALL, _text("The page says\n\n%CALL%\n\nbut I only read it.")), _ONE),
    "a lone closer and a structured call": ((_text("Perhaps %CALL%\n</think>\n\n"), _CALL), _ONE),
}

CLASSES: dict[str, Callable[[], Iterator[Way]]] = {
    "prose": _prose_behind,
    "ends": _quoted_ends,
    "rehearsals": _rehearsals,
    "read aloud": _read_aloud,
    "unwanted": _unwanted,
    "parts": _several_parts,
}


def all_ways() -> list[Way]:
    return [way for make in CLASSES.values() for way in make()]


# What comes out


@dataclass(frozen=True)
class Case:
    way: Way
    format: FormatWriter
    protocol: Protocol
    number: int

    def __str__(self) -> str:
        return f"{self.way.group} · {self.way.name} · {self.format.name} · {self.protocol.name}"


def formats_of(way: Way, number: int) -> Iterator[FormatWriter]:
    """The common formats, and some of the others in turn."""
    if way.formats:
        yield from (FORMATS[name] for name in way.formats)
        return
    yield from (FORMATS[name] for name in COMMON)
    turn = number * RARE_FORMATS_PER_WAY
    yield from (FORMATS[RARE[(turn + step) % len(RARE)]] for step in range(RARE_FORMATS_PER_WAY))


def cases(ways: list[Way], protocol: Protocol) -> Iterator[Case]:
    for number, way in enumerate(ways):
        if protocol.name in way.protocols:
            for format in formats_of(way, number):
                yield Case(way, format, protocol, zlib.crc32(f"{way.name} {format.name} {protocol.name}".encode()))


@cache
def _plain_question() -> Request:
    return read_request({"tools": TOOLS, "stream": True})


def question_of(case: Case) -> Request:
    words = case.protocol.name if case.protocol in PROTOCOLS else "chat"
    said = case.way.requests(words, case.format)
    return read_request({"tools": TOOLS, "stream": True, **said}) if said else _plain_question()


def stream_of(case: Case) -> bytes:
    size = (0, 40, -1, 0, 40, -1, 17, 5)[case.number % 8]
    return wire.stream(case.protocol, case.way.parts(case.format), size, case.number)


def received(case: Case) -> Client:
    """What the client of a case ends with: streamed in some delta size, or as one document."""
    answer = Response(case.protocol.name, question_of(case))
    if case.number % 5 == 4 and not (case.way.ordered and case.protocol.name in ("chat", "ollama")):
        body = wire.document(case.protocol, case.way.parts(case.format))
        return case.protocol.read_document(mend_whole(answer, body))
    return case.protocol.read(mend_whole(answer, stream_of(case), (0, 0, 512)[case.number % 3]))


def problem(case: Case) -> str:
    """What is wrong with what the client gets: empty, `phantom`, `missed` or `changed`."""
    way, parts = case.way, case.way.parts(case.format)
    client = received(case)
    made = [(call["name"], call["arguments"]) for call in client.calls]
    if any(made.count(call) > way.meant.count(call) for call in made):
        return "phantom"
    if len(made) < len(way.meant):
        return "" if "```" in case.format(QUOTED) else "missed"  # The fence of a format may be in doubt behind prose.
    before = text_of(parts)
    if way.meant and not any(part.kind == "call" for part in parts):
        # The thoughts before a call are kept; what Harmony thinks belongs to its call.
        thoughts = before[: before.rindex(case.format(QUOTED))]
        return "" if client.text.startswith(thoughts) or "analysis<|" in before else "changed"
    reason = case.protocol.finishes[bool(way.meant)]
    return "" if client.text == before and client.finish == reason else "changed"


def main() -> None:
    ways = all_ways()
    figures: dict[str, Counter[str]] = {}
    failed: dict[str, Counter[str]] = {}
    for protocol in PROTOCOLS:
        for case in cases(ways, protocol):
            group = figures.setdefault(case.way.group, Counter())
            try:
                wrong = problem(case)
            except AssertionError as error:
                wrong = f"illegal: {error}"[:60]
            group["cases"] += 1
            group[wrong.partition(":")[0]] += 1
            if wrong:
                failed.setdefault(f"{case.way.group} · {case.way.name}", Counter())[wrong] += 1
    by_group = Counter(way.group for way in ways)
    if "-v" in sys.argv:
        for name, wrongs in failed.items():
            print(name, dict(wrongs))
    print("| class | ways | cases | ways with a phantom | phantoms | missed | text changed | illegal |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for group, counts in figures.items():
        phantoms = sum(name.startswith(group + " ·") and "phantom" in wrongs for name, wrongs in failed.items())
        row = [
            by_group[group],
            counts["cases"],
            phantoms,
            *(counts[key] for key in ("phantom", "missed", "changed", "illegal")),
        ]
        print(f"| {group} | " + " | ".join(f"{figure:,}" for figure in row) + " |")
    print(f"{len(ways)} ways.")


if __name__ == "__main__":
    main()
