"""What a model lets a user or a tool say was said by nobody: no call runs behind it, and none before it."""

from __future__ import annotations

import pytest

from tests.must_not_run.invented_turns import INVENTED, MEANT
from tests.must_not_run.quotations import MEANT as SECOND
from tests.must_not_run.quotations import QUOTED as FIRST
from tests.must_not_run.wires import TOOLS
from tests.must_not_run.written import COMMON, FORMATS
from tests.protocols.text_protocols import CHAT, PROTOCOLS, Protocol
from tests.splits import mend
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import read_request

QUESTION = read_request({"tools": TOOLS, "stream": True})


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("name", INVENTED)
def test_nothing_runs_around_an_invented_turn(name: str, protocol: Protocol) -> None:
    for format in (FORMATS[each] for each in COMMON):
        text = INVENTED[name].replace("%A%", format(FIRST)) + format(SECOND)
        client = protocol.read(mend_whole(Response(protocol.name, QUESTION), protocol.stream([text], False)))
        assert (client.calls, client.text) == ([], text), format.name


@pytest.mark.parametrize("name", MEANT)
def test_a_role_that_is_only_spoken_of_changes_nothing(name: str) -> None:
    for format in (FORMATS[each] for each in COMMON):
        text = MEANT[name].replace("%B%", format(SECOND))
        client = CHAT.read(mend_whole(Response(CHAT.name, QUESTION), CHAT.stream([text], False)))
        assert [(call["name"], call["arguments"]) for call in client.calls] == [SECOND], format.name


@pytest.mark.parametrize("name", [*INVENTED, *MEANT])
def test_the_cut_of_the_bytes_does_not_matter(name: str) -> None:
    format = FORMATS[COMMON[0]]
    text = {**INVENTED, **MEANT}[name].replace("%A%", format(FIRST)).replace("%B%", format(SECOND))
    text += "" if name in MEANT else format(SECOND)
    mend(
        CHAT.stream([text[at : at + 7] for at in range(0, len(text), 7)], False),
        protocol=CHAT.name,
        question=QUESTION,
    )
