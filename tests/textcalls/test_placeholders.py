"""A call whose values somebody has yet to fill in is a template, and runs nothing."""

from __future__ import annotations

import json

import pytest

from tests.dialects.text_protocols import PROTOCOLS, Protocol
from tests.must_not_run import parts as wire
from tests.must_not_run.parts import Part
from tests.must_not_run.wires import TOOLS
from tests.must_not_run.written import COMMON, FORMATS
from toolcalls.engine import Response, mend_whole
from toolcalls.request.request import read_request
from toolcalls.textcalls import placeholders

TEMPLATES = (
    ("command", "git clone <repository-url> <target-dir>"),
    ("command", "kubectl delete pod <pod-name> -n <namespace>"),
    ("command", "<your command here>"),
    ("command", "..."),
    ("command", "…"),
    ("command", "alembic upgrade {revision}"),
    ("command", "ssh USER@HOST 'systemctl restart app'"),
    ("command", 'curl -H "Authorization: Bearer YOUR_TOKEN" https://api.example.com'),
    ("command", "cat /path/to/file"),
    ("file_path", "/path/to/file"),
    ("file_path", "C:\\path\\to\\file"),
    ("file_path", "<absolute path>"),
    ("file_path", "{{ file_path }}"),
)
FILLED = (
    ("command", "cat < in.txt > out.txt"),
    ("command", "cat <input>out"),
    ("command", "diff <(ls a) <(ls b)"),
    ("command", "grep -rn '<my-app>' src"),
    ("command", 'echo "<repository-url>"'),
    ("command", "grep -rn YOUR_TOKEN ."),
    ("command", "find . -name '*.o' -exec rm {} \\;"),
    ("command", "echo ${HOME} {a,b}"),
    ("command", "ls <dir> && echo 1"),
    ("command", "cat [x] {y}"),
    ("command", "awk '{print}' log"),
    ("command", "cat > a.html <<'EOF'\n<my-app>\n</my-app>\nEOF"),
    ("command", "git commit -m 'wip...'"),
    ("file_path", "docs/path/to/file.md"),
    ("file_path", "src/<name>.py"),
    ("pattern", "<div>"),
    ("pattern", "[foo]"),
    ("old_string", "return <Spinner>"),
    ("content", "TOKEN=YOUR_TOKEN"),
)


@pytest.mark.parametrize(("key", "value"), TEMPLATES)
def test_placeholders_are_known(key: str, value: str) -> None:
    assert placeholders.are_left(json.dumps({key: value, "description": "What it does."}))


@pytest.mark.parametrize(("key", "value"), FILLED)
def test_values_that_look_like_placeholders_are_values(key: str, value: str) -> None:
    assert not placeholders.are_left(json.dumps({key: value}))


def test_arguments_that_are_long_or_no_object_are_not_looked_at() -> None:
    assert not placeholders.are_left(json.dumps({"command": "<your command here>", "content": "x" * 2_000}))
    assert not placeholders.are_left('["..."]')
    assert not placeholders.are_left('{"command": "..."')


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
@pytest.mark.parametrize("size", [0, 30, -1])
def test_a_call_with_placeholders_stays_text(protocol: Protocol, size: int) -> None:
    for name in COMMON:
        for command, made in (("rm -rf <build-dir>", 0), ("rm -rf build", 1)):
            text = "I'll run it.\n\n" + FORMATS[name](("Bash", {"command": command}))
            answer = Response(protocol.name, read_request({"tools": TOOLS, "stream": True}))
            client = protocol.read(mend_whole(answer, wire.stream(protocol, (Part("text", text),), size, 1)))
            assert len(client.calls) == made, (name, command)
            assert made or client.text == text, (name, command)
