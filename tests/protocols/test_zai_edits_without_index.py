"""Edits of chat.z.ai that lost their `edit_index`, behind a block whose arguments are still partial.

An edit runs to the end of the document, so one that ends a block which it did not begin is the rest of the last
block. Where it cuts is not known, because edits may repeat what they continue: the call is refused, and nothing of
the block is shown. Any other edit without an index replaces the document, as if its index were 0.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.zai_streams import Backend, block, convert, question, received

Json = dict[str, Any]

ARGUMENTS = '{"command": "curl https://example.com/ä/😀", "timeout": 3}'
INVALID = question([*("Bash", "Write"), "invalid"])


def tail(arguments: str, result: Any = "") -> str:
    """What an edit in the arguments of a block brings: the rest of them, and all that follows in the block."""
    whole = block("Bash", arguments, result=result)
    return whole[whole.index('"arguments": "') + len('"arguments": "') :]


def got(backend: Backend, asked: Any = INVALID) -> Json:
    """What a client gets, the same for every split."""
    stream = backend.stream
    first = convert(stream, asked=asked)
    for size in (1, 7, 64):
        assert convert(stream, size, asked=asked) == first
    return received(first)


def made(got: Json) -> list[tuple[str, Any]]:
    return [(call["name"], call["arguments"]) for call in got["tool_calls"]]


def null_patch(arguments: str = ARGUMENTS) -> str:
    whole = block("Bash", arguments, result=None)
    return whole[whole.index('"result": ') + len('"result": ') :]


@pytest.mark.parametrize("at", range(1, len("<glm_block >{")))
@pytest.mark.parametrize("before", ["", "Let me look. 😀"])
@pytest.mark.parametrize("index", [{}, {"edit_index": None}])
def test_the_rest_of_a_tag_without_an_index_has_all_of_the_call(index: Json, before: str, at: int) -> None:
    whole = block("Bash", ARGUMENTS)
    backend = Backend().delta(before).become(f"{before}\n\n{whole[:at]}")
    backend.say(edit_content=whole[at:], phase="tool_call", **index)
    answer = got(backend.usage().done())
    assert [(name, json.dumps(arguments)) for name, arguments in made(answer)] == [
        ("Bash", json.dumps(json.loads(ARGUMENTS)))
    ]
    assert answer["content"] == before


@pytest.mark.parametrize("at", [0, 1, 12, 30, len(ARGUMENTS) - 13, len(ARGUMENTS) - 1])
@pytest.mark.parametrize("overlap", [0, 1, 9])
@pytest.mark.parametrize("before", ["", "Let me look. 😀"])
@pytest.mark.parametrize("index", [{}, {"edit_index": None}, {"edit_index": "?"}])
def test_the_rest_of_a_block_without_an_index_is_not_shown_and_its_call_is_refused(
    index: Json, before: str, overlap: int, at: int
) -> None:
    backend = Backend().delta(before).become(f"{before}\n\n{block('Bash', ARGUMENTS[:at])}")
    backend.say(edit_content=tail(ARGUMENTS[max(at - overlap, 0) :]), phase="tool_call", **index)
    answer = got(backend.usage().done())
    assert [(name, arguments["tool"]) for name, arguments in made(answer)] == [("invalid", "Bash")]
    assert answer["content"] == before
    assert answer["finish_reason"] == "tool_calls"


def test_edits_with_an_index_behind_it_leave_the_call_refused_and_the_one_before_it_alone() -> None:
    first, rest = ARGUMENTS[:20], ARGUMENTS[20:40]
    before, behind = block("Write", '{"path": "a"}', "call_0"), block("Write", '{"path": "b"}', "call_2")
    backend = Backend().become(f"\n\n{before}\n\n{block('Bash', first)}")
    backend.say(edit_content=tail(rest), phase="tool_call")
    backend.document = f"\n\n{before}\n\n{block('Bash', first + rest)}"
    backend.become(f"\n\n{before}\n\n{block('Bash', ARGUMENTS)}")
    backend.become(f"\n\n{before}\n\n{block('Bash', ARGUMENTS)}\n\n{behind}")
    answer = got(backend.delta("\n\nNow I wait.").done())
    assert [name for name, _ in made(answer)] == ["Write", "invalid"]
    assert answer["content"] == "Now I wait."


def test_what_follows_in_such_an_edit_is_not_shown_and_does_not_run() -> None:
    backend = Backend().become(f"\n\n{block('Bash', ARGUMENTS[:9])}")
    second = block("Write", '{"path": "a"}', "call_2")
    backend.say(edit_content=f"{tail(ARGUMENTS[9:])}\n\n{second}", phase="tool_call")
    answer = got(backend.done())
    assert ([name for name, _ in made(answer)], answer["content"]) == (["invalid"], "")


def test_the_rest_of_the_name_of_the_server_is_not_shown_either() -> None:
    whole = f"\n\n{block('Bash', ARGUMENTS)}"
    cut = whole.index("mcp-server") + 3
    backend = Backend().say(edit_index=0, edit_content=whole[:cut], phase="tool_call")
    answer = got(backend.say(edit_content=whole[cut:], phase="tool_call").usage().done())
    assert ([name for name, _ in made(answer)], answer["content"]) == (["invalid"], "")


def test_the_null_patch_ends_the_turn_behind_such_an_edit_too() -> None:
    backend = (
        Backend()
        .become(f"\n\n{block('Bash', ARGUMENTS[:9])}")
        .say(edit_content=tail(ARGUMENTS[9:]), phase="tool_call")
    )
    answer = got(backend.say(edit_index=200, edit_content=null_patch(), phase="other").delta("It was null.").done())
    assert ([name for name, _ in made(answer)], answer["content"]) == (["invalid"], "")


def test_a_block_that_is_written_again_from_its_beginning_runs() -> None:
    backend = Backend().become(f"\n\n{block('Bash', ARGUMENTS[:9])}")
    backend.say(edit_content=tail(ARGUMENTS[9:]), phase="tool_call")
    backend.say(edit_index=0, edit_content=f"\n\n{block('Bash', ARGUMENTS)}", phase="tool_call")
    assert made(got(backend.done())) == [("Bash", json.loads(ARGUMENTS))]


def test_the_null_patch_has_one_place() -> None:
    backend = Backend().become(f"\n\n{block('Bash', ARGUMENTS)}").say(edit_content=null_patch(), phase="other")
    answer = got(backend.delta("The result was null.").done())
    assert made(answer) == [("Bash", json.loads(ARGUMENTS))]
    assert answer["content"] == ""


def test_the_null_patch_of_one_of_two_calls_ends_the_turn_with_both() -> None:
    second = block("Write", '{"path": "a"}', "call_2")
    for patch in (f"{null_patch()}\n\n{second}", null_patch()):
        backend = Backend().become(f"\n\n{block('Bash', ARGUMENTS)}\n\n{second}")
        answer = got(backend.say(edit_content=patch, phase="other").delta("The result was null.").done())
        assert made(answer) == [("Bash", json.loads(ARGUMENTS)), ("Write", {"path": "a"})]


def test_the_rest_of_a_block_without_an_end_is_not_shown_either() -> None:
    whole = f"\n\n{block('Bash', ARGUMENTS)}"
    for cut in (whole.index("curl"), whole.index("timeout") - 1, whole.index('"result"') + 3):
        for pieces in ([whole[cut:]], [whole[cut : cut + 5], whole[cut + 5 :]]):
            backend = Backend().say(edit_index=0, edit_content=whole[:cut], phase="tool_call")
            for piece in pieces:
                backend.say(edit_content=piece, phase="tool_call")
            answer = got(backend.done())
            assert [name for name, _ in made(answer)] == ["invalid"], cut
            assert answer["content"] == ""


@pytest.mark.parametrize(
    "text",
    ['mple}, "result": "", }}</glm_block>', '{"command": "rm"}}}</glm_block>', "</glm_block>", '"}}</glm_block>'],
)
def test_what_is_no_rest_of_a_block_is_not_shown_either(text: str) -> None:
    backend = Backend().become(f"\n\n{block('Bash', ARGUMENTS[:20])}").say(edit_content=text, phase="tool_call")
    answer = got(backend.done())
    assert [name for name, _ in made(answer)] == ["invalid"]
    assert answer["content"] == ""


@pytest.mark.parametrize(
    "text", ["Here is the answer.", "Here is </glm_block>.", f"Again:\n{block('Write', '{}', 'call_9')}"]
)
def test_without_a_block_before_it_the_index_is_zero(text: str) -> None:
    backend = Backend().delta("He").say(edit_content=text, phase="answer")
    assert convert(backend.done().stream) == convert(
        Backend().delta("He").say(edit_index=0, edit_content=text, phase="answer").done().stream
    )


@pytest.mark.parametrize("text", ["Here is the answer.", f"Again:\n{block('Write', '{}', 'call_9')}"])
def test_an_edit_that_ends_no_block_replaces_everything_as_before(text: str) -> None:
    def said(**index: int) -> bytes:
        backend = Backend().become(f"\n\n{block('Bash', ARGUMENTS)}")
        return convert(backend.say(edit_content=text, phase="answer", **index).done().stream)

    assert said() == said(edit_index=0)
