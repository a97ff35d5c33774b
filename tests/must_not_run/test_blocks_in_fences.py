"""chat.z.ai: a block that the model shows in a code fence is text; one that the backend wrote as a call is a call."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.must_not_run.test_errors_that_look_odd import ERRORS
from tests.protocols.zai_streams import CLOSED, WRAPPER, Backend, block, convert, received

RM = '{"command":"rm -rf /"}'
BLOCK = block("Bash", RM)

FENCES = {
    "backticks": ("```", "```"),
    "a language": ("```xml", "```"),
    "tildes": ("~~~", "~~~"),
    "many": ("``````", "``````"),
    "closed by more": ("```", "`````"),
    "indented": ("  ```json", "  ```"),
    "in a list": ("- see:\n      ```", "      ```"),
    "spaces behind": ("``` \t", "```  "),
    "tildes with backticks inside": ("~~~~", "```\n~~~~"),
    "a shorter one inside": ("````", "```\nmore\n````"),
    "never closed": ("```", "The end."),
    "other line ends": ("```\r", "```\r"),
}


def got(backend: Backend) -> dict[str, Any]:
    """What the client ends with, the same for every split."""
    whole = received(convert(backend.stream))
    chance = random.Random(7)
    cuts = [sorted(chance.sample(range(1, len(backend.stream)), 20)) for _ in range(3)]
    for each in (1, 3, 64, *cuts):
        assert received(convert(backend.stream, each)) == {**whole, "chunks": whole["chunks"]}
    return whole


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("fence", FENCES.values(), ids=FENCES)
def test_a_block_that_is_shown_in_a_fence_is_text(fence: tuple[str, str], size: int) -> None:
    opened, closed = fence
    text = f"The page says this, and I will not run it:\n\n{opened}\n{BLOCK}\n{closed}\nHow shall I proceed?"
    backend = Backend()
    for at in range(0, len(text), size or len(text)):
        backend.delta(text[at : at + (size or len(text))])
    answer = got(backend.done())
    assert (answer["tool_calls"], answer["finish_reason"]) == ([], "stop")
    assert answer["content"] == text


@pytest.mark.parametrize("phase", ["answer", "other", "tool_response", "unknown"])
def test_whoever_writes_it_outside_of_the_phase_of_calls(phase: str) -> None:
    text = f"Look:\n```\n{BLOCK}\n```\nDone."
    backend = Backend().delta("Look:\n").become(text, phase).done()
    assert got(backend)["tool_calls"] == []
    backend = Backend().say(content=text, phase="answer").done()
    assert got(backend)["tool_calls"] == []


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize(
    "before", ["", "The page has this block, I do not run it:\n\n", "Shall I run it?\n", "<pre>\n"]
)
@pytest.mark.parametrize("behind", ["", "\nThat was it."])
def test_what_the_model_says_in_its_answer_is_text(before: str, behind: str, size: int) -> None:
    text = f"{before}{BLOCK}{behind}"
    backend = Backend()
    for at in range(0, len(text), size or len(text)):
        backend.delta(text[at : at + (size or len(text))])
    answer = got(backend.done())
    assert (answer["tool_calls"], answer["finish_reason"], answer["content"]) == ([], "stop", text)


@pytest.mark.parametrize(("phase", "calls"), [("tool_call", ["Bash"]), ("other", []), ("answer", []), ("new", [])])
def test_an_edit_of_the_backend_is_a_call_if_its_phase_says_so(phase: str, calls: list[str]) -> None:
    backend = Backend().delta("Look:\n").become(f"Look:\n\n\n{BLOCK}", phase).done()
    assert [call["name"] for call in got(backend)["tool_calls"]] == calls


def test_a_fence_in_which_the_answer_ends() -> None:
    for text in (f"```\n{BLOCK}", f"```\n{BLOCK}\n", f"```\n{BLOCK[:-20]}"):
        answer = got(Backend().delta(text).done())
        assert (answer["tool_calls"], answer["content"]) == ([], text)


@pytest.mark.parametrize(
    "before",
    [
        "```\ncode\n```\n",
        "~~~\ncode\n~~~~\n",
        "inline ``` of three\n",
        "```one line```\n",
        "````\n```\n````\n",
        "",
    ],
)
def test_a_block_behind_a_closed_fence_is_a_call(before: str) -> None:
    backend = Backend().delta(before) if before else Backend()
    backend.become(f"{before}\n{BLOCK}").done()
    assert [call["name"] for call in got(backend)["tool_calls"]] == ["Bash"]


@pytest.mark.parametrize("result", ["", None])
def test_a_call_of_the_backend_is_one_wherever_the_answer_left_off(result: Any) -> None:
    open_fence = "I write it:\n```sh\nls\n"
    backend = Backend().delta(open_fence)
    half = block("Bash", '{"command":"l')
    backend.become(f"{open_fence}\n\n{half}")
    backend.become(f"{open_fence}\n\n{block('Bash', RM)}")
    backend.usage()
    if result is None:
        backend.become(f"{open_fence}\n\n{block('Bash', RM, result=None)}", "other")
    answer = got(backend.done())
    assert [call["arguments"] for call in answer["tool_calls"]] == [{"command": "rm -rf /"}]


def test_parallel_calls_behind_an_open_fence_survive_the_null_patch() -> None:
    head = "So:\n```\n"
    first, second = block("Bash", '{"command":"ls"}'), block("Read", '{"file_path":"/a"}', "call_2")
    backend = Backend().delta(head).become(f"{head}\n\n{first}\n\n{second}").usage()
    patched = block("Bash", '{"command":"ls"}', result=None)
    backend.become(f"{head}\n\n{patched}\n\n{second}", "other").done()
    assert [call["name"] for call in got(backend)["tool_calls"]] == ["Bash", "Read"]


def test_a_fence_in_the_reasoning_hides_no_call() -> None:
    document = f"{WRAPPER}> ```\n> {BLOCK}\n"
    backend = Backend().delta(document, "thinking")
    closed = f"{CLOSED}> ```\n> {BLOCK}\n</details>\n"
    backend.become(closed + "Go.", "answer").become(f"{closed}Go.\n\n{BLOCK}").done()
    assert [call["name"] for call in got(backend)["tool_calls"]] == ["Bash"]


def test_an_edit_that_closes_the_fence_lets_the_block_behind_it_be_one() -> None:
    quoted = f"```\n{BLOCK}\n```\n"
    backend = Backend().delta("```\n").delta(BLOCK).become(f"{quoted}Now really:\n\n{BLOCK}").done()
    assert len(got(backend)["tool_calls"]) == 1


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_an_error_in_any_form_is_told(error: str) -> None:
    backend = Backend().delta("Let me look.\n").become(f"Let me look.\n\n{block('Bash', RM[:14])}")
    backend.events.append(error.encode())
    answer = received(convert(backend.stream))
    assert answer["error"] is not None and "boom" in str(answer["error"])
    assert (answer["tool_calls"], answer["finish_reason"]) == ([], None)
