"""Where the engine fails, what it held goes out before what came behind it: text never overtakes a written call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.must_not_run.wires import TOOLS
from tests.must_not_run.written import FORMATS
from tests.protocols.text_protocols import CHAT, MESSAGES, RESPONSES, Protocol, deltas
from tests.splits import cut_at_random, feed
from tests.test_fail_open import READERS
from toolcalls.answer import Answer
from toolcalls.engine import Response, mend_whole
from toolcalls.mend.mender import Mender
from toolcalls.request.request import read_request
from toolcalls.textcalls.search import Search

LS = ("Bash", {"command": "ls"})
READ = ("Read", {"file_path": "a"})
HERMES, QWEN, MISTRAL, BARE = (FORMATS[name](LS) for name in ("hermes", "qwen3-coder", "mistral", "json"))
TEXT_BEHIND = {
    "a call that is quoted": f"On the page:\n{HERMES}\nI will not run it.",
    "two of them": f"First\n{HERMES}\nand\n{QWEN}\nThat is all.",
    "another format": f"It says {MISTRAL} and more.",
    "a call that is begun": f"{HERMES[:30]} and no more of it.",
    "a call and a lone word": f"{QWEN}\nDone",
    "a mark that may be an opener": "a < b, <tool and then <tool_",
}
CALL_LAST = {
    "a call at the end": f"I look.\n{HERMES}",
    "two at the end": f"I look.\n{HERMES}\n{FORMATS['hermes'](READ)}",
    "another format": f"I look.\n{QWEN}",
    "the whole message": BARE,
    "white space behind": f"I look.\n{HERMES}\n\n  \n",
}
QUESTION = read_request({"tools": TOOLS, "stream": True})
PROTOCOLS = pytest.mark.parametrize("protocol", [CHAT, MESSAGES, RESPONSES], ids=lambda protocol: protocol.name)
PLACES: list[tuple[type, str]] = [
    (Search, "feed"), (Search, "close"), (Mender, "decide"), (Answer, "close"),
]  # fmt: skip


class Broken(Exception):
    """What the engine did not expect."""


def _failing(method: Callable[..., Any], at: int) -> Callable[..., Any]:
    """The method, which raises when it is called for the `at`-th time."""
    times = iter(range(at))

    def call(*given: Any, **named: Any) -> Any:
        if next(times, None) is None:
            raise Broken
        return method(*given, **named)

    return call


def _answers(protocol: Protocol, text: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Response, bytes]]:
    """The answer with a failure in each of the places, at its first times."""
    body = protocol.stream(deltas(text, 9), False)
    for owner, name in PLACES:
        for at in (0, 1, 3, 6):
            for pieces in ([body], cut_at_random(body, at)):
                with monkeypatch.context() as patch:
                    patch.setattr(owner, name, _failing(getattr(owner, name), at))
                    answer = Response(protocol.name, QUESTION)
                    yield answer, feed(answer, pieces)


@PROTOCOLS
@pytest.mark.parametrize("text", [*TEXT_BEHIND.values(), *CALL_LAST.values()], ids=[*TEXT_BEHIND, *CALL_LAST])
def test_every_word_comes_once_and_in_order(protocol: Protocol, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = 0
    for answer, out in _answers(protocol, text, monkeypatch):
        if answer.failure is not None:
            failed += 1
            assert READERS[protocol.name](out).texts == text
    assert failed > 3, "the test must really make it fail"


@PROTOCOLS
@pytest.mark.parametrize("name", CALL_LAST)
def test_where_nothing_fails_the_call_at_the_end_is_one(protocol: Protocol, name: str) -> None:
    answer = Response(protocol.name, QUESTION)
    feed(answer, [protocol.stream(deltas(CALL_LAST[name], 9), False)])
    assert answer.failure is None
    assert [outcome.name for outcome in answer.outcomes][:1] == ["Bash"]


@PROTOCOLS
@pytest.mark.parametrize("name", TEXT_BEHIND)
def test_an_answer_in_one_piece_comes_as_it_was(
    protocol: Protocol, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = protocol.document(TEXT_BEHIND[name], False)
    monkeypatch.setattr(Search, "feed", _failing(Search.feed, 0))
    assert mend_whole(Response(protocol.name, QUESTION), body) == body
