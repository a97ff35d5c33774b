"""`toolfix repair`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.commands import complaint, lines, toolfix


def test_it_prints_strict_json_and_nothing_else() -> None:
    result = toolfix("repair", stdin="{'a': True, 'b': 'ä',}".encode())
    assert (result.returncode, result.stdout) == (0, '{"a":true,"b":"ä"}\n'.encode())
    assert result.stderr == b"toolfix: mended: single quotes, Python literals, trailing comma.\n"


def test_valid_text_comes_back_as_it_was() -> None:
    text = b'{ "a" : 1.50, "b": "\\u00e4" }\n'
    assert toolfix("repair", stdin=text).stdout == text


def test_a_refusal_exits_1_with_its_reason() -> None:
    message = complaint(toolfix("repair", stdin=b'{"command": "rm -rf /'), 1)
    assert message.startswith("toolfix: refused: ") and "cut off" in message


def test_where_only_the_finish_is_missing_it_is_asked_for() -> None:
    said = complaint(toolfix("repair", stdin=b"{'a': 'b'"), 1)
    assert said == "toolfix: refused: the arguments may have been cut off inside `a` after 9 characters; " + (
        "if the model had finished, add --finish stop."
    )
    for more in (["--finish", "length"], ["--finish", "stop"]):
        assert "may have" not in complaint(toolfix("repair", *more, stdin=b'{"a": "b'), 1)


def test_the_finish_reason_decides_what_was_cut() -> None:
    result = toolfix("repair", "--finish", "stop", stdin=b'{"a": "b"')
    assert result.stdout == b'{"a":"b"}\n'
    assert toolfix("repair", "--finish", "length", stdin=b'{"a": 12').returncode == 1


def test_many_at_once_give_a_line_each() -> None:
    entries = [
        {"id": "v", "input": '{"a": 1}'},
        {"id": 2, "input": "{'a': 1}"},
        {"id": None, "input": "I cannot do that."},
    ]
    valid, repaired, refused = lines(toolfix("repair", "--jsonl", stdin="\n".join(map(json.dumps, entries)).encode()))
    assert valid == {"id": "v", "status": "valid", "arguments": '{"a": 1}', "steps": []}
    assert (repaired["id"], repaired["status"], repaired["arguments"]) == (2, "repaired", '{"a":1}')
    assert repaired["steps"]
    assert refused["status"] == "refused" and refused["arguments"] is None


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    assert "line 1 of the input: it is not JSON" in complaint(toolfix("repair", "--jsonl", stdin=b"{oops\n"))
    assert 'line 1 of the input: it has no text under "input"' in complaint(
        toolfix("repair", "--jsonl", stdin=b"{}\n")
    )
    assert "'/no/such/file': No such file" in complaint(toolfix("repair", "--schema", "/no/such/file"))
    schema = tmp_path / "schema.json"
    schema.write_text("[]")
    assert "is not a JSON object" in complaint(toolfix("repair", "--schema", str(schema)))
    assert "not UTF-8" in complaint(toolfix("repair", stdin=b"\xff\xfe"), 1)
