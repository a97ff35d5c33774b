"""A call in a quotation that is still open is none, and one behind a quotation that was closed is one.

The cases are in `left_open`, a table an idea. Each goes through three protocols, streamed at every cut and whole, with
one format, and through Chat with those formats that users of agents meet most.
"""

from __future__ import annotations

import pytest

from tests.dialects.text_protocols import CHAT
from tests.must_not_run.left_open import IDEAS
from tests.must_not_run.quoted_ends import CALL
from tests.must_not_run.wires import Said, document, outcomes, stream
from tests.must_not_run.written import COMMON, FORMATS
from tests.sampling import part
from toolcalls.engine import Response, mend_whole

QUOTED = [(idea, name) for idea, cases in IDEAS.items() for name in cases.quoted]
CALLS = [(idea, name) for idea, cases in IDEAS.items() for name in cases.calls]
MEANT = ("Bash", {"command": "rm -rf build"})


def _said(text: str, format: str = "hermes", size: int = 9) -> Said:
    """The text with calls in it, in deltas of this length."""
    text = text.replace(CALL, FORMATS[format](MEANT))
    return Said(text=tuple(text[at : at + size] for at in range(0, len(text), size)))


def test_every_idea_has_ten_cases_and_near_misses() -> None:
    for idea, cases in IDEAS.items():
        assert len(cases.quoted) >= 5 and len(cases.calls) >= 5, idea
        assert len(cases.quoted) + len(cases.calls) >= 10, idea


@pytest.mark.parametrize(("idea", "name"), part(QUOTED, 2))
def test_a_call_in_an_open_quotation_is_text(idea: str, name: str) -> None:
    said = _said(IDEAS[idea].quoted[name])
    for where, client in outcomes(said):
        assert (client.calls, client.text) == ([], "".join(said.text)), where


@pytest.mark.parametrize(("idea", "name"), part(CALLS, 2))
def test_a_call_behind_a_closed_quotation_is_a_call(idea: str, name: str) -> None:
    said = _said(IDEAS[idea].calls[name])
    for where, client in outcomes(said):
        assert [(each["name"], each["arguments"]) for each in client.calls] == [MEANT], where


@pytest.mark.parametrize("format", part(COMMON, 2))
@pytest.mark.parametrize("idea", IDEAS)
def test_the_same_holds_in_every_common_format(idea: str, format: str) -> None:
    cases = IDEAS[idea]
    for number, table in enumerate((cases.quoted, cases.calls)):
        for name, text in table.items():
            said = _said(text, format, size=40)
            for body in (stream(CHAT, said), document(CHAT, said)):
                out = mend_whole(Response("chat", said.question), body)
                read = CHAT.read if body.startswith(b"data") else CHAT.read_document
                assert len(read(out).calls) == number, name
