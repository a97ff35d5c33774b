"""What only the declared schema proves: quotes that are missing; and commas and brackets with one reading."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from toolcalls.call import Call
from toolcalls.ids import Ids
from toolcalls.mend.arguments import Finish, mend_arguments
from toolcalls.mend.mender import Mender
from toolcalls.policy import Policy
from toolcalls.tools.declared import Tool, Tools

_TEXT = {"type": "string"}
_PROPERTIES = {
    "command": _TEXT,
    "description": _TEXT,
    "file_path": _TEXT,
    "url": _TEXT,
    "mode": {"type": "string", "enum": ["read", "write"]},
    "note": {"type": ["string", "null"]},
    "any": {},
    "either": {"anyOf": [_TEXT, {"type": "object"}]},
    "timeout": {"type": "number"},
    "dry_run": {"type": "boolean"},
    "files": {"type": "array", "items": _TEXT},
    "edits": {
        "type": "array",
        "items": {"type": "object", "properties": {"old_string": _TEXT, "new_string": _TEXT}},
    },
}
TOOL = Tool("Bash", {"type": "object", "properties": _PROPERTIES})
REFUSE: None = None

CASES: list[tuple[str, dict[str, Any] | None]] = [
    # The opening quote of a declared key is missing.
    ('{"command":"git diff HEAD",description":"x"}', {"command": "git diff HEAD", "description": "x"}),
    ('{"command":"git diff HEAD", description": "x"}', {"command": "git diff HEAD", "description": "x"}),
    ("{'command':'ls',description':'x'}", {"command": "ls", "description": "x"}),
    ('{file_path": "a"}', {"file_path": "a"}),
    ('{"timeout":5,description":"x"}', {"timeout": 5, "description": "x"}),
    ('{"command":"a",description":"b",file_path":"c"}', {"command": "a", "description": "b", "file_path": "c"}),
    (
        '{"edits":[{"old_string":"a",new_string":"b"},{old_string":"c","new_string":"d"}]}',
        {"edits": [{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]},
    ),
    ('{"command":"echo \\"a\\"",description":"x"}', {"command": 'echo "a"', "description": "x"}),
    # … and the near misses: an undeclared key, one that is declared elsewhere, text that only looks like a key.
    ('{"command":"git diff HEAD",purpose":"x"}', REFUSE),
    ('{purpose": "a"}', REFUSE),
    ('{"command":"a",old_string":"b"}', REFUSE),
    ('{"edits":[{"old_string":"a",description":"b"}]}', REFUSE),
    ('{"command":"git commit -m fix,description":"x"}', REFUSE),
    ('{"command":"echo "hi",description":"x"}', REFUSE),
    ('{"command":"curl -d "{a",description":"x"}"}', REFUSE),
    ('{"command":"a",description":"b","command":"c"}', REFUSE),
    ('{"command":"a",command":"b"}', REFUSE),
    ('{"command":"a" description":"x"}', REFUSE),
    ('{"command":"a",description:"x"}', {"command": "a", "description": "x"}),
    ('{"command":"a",description"}', REFUSE),
    ("{\"command\":\"echo 'a',description':'x'\",}", {"command": "echo 'a',description':'x'"}),
    ('{"edits":[{"old_string":"x",description":"y"}],"command":"z"}', REFUSE),
    # A comma before the first pair. An object has no holes, but a list has, and a first pair may be lost.
    ('{,"command":"ls"}', {"command": "ls"}),
    ('{ , command: "ls"}', {"command": "ls"}),
    ('{,"description":"x"}', REFUSE),
    ("{,}", REFUSE),
    ("{,,}", REFUSE),
    ('{,,"command":"ls"}', REFUSE),
    ('{"files":[,"a"]}', REFUSE),
    (',{"command":"ls"}', REFUSE),
    # A list that ends with a comma and the bracket of the object around it.
    ('{"files":["foo",}', {"files": ["foo"]}),
    ('{"files":["foo", } }', {"files": ["foo"]}),
    ('{"files":["foo",},"command":"ls"}', REFUSE),
    ('["foo",}', REFUSE),
    ('{"files":[,}', REFUSE),
    ('{"files":["foo",', REFUSE),
    ('{"files":["fo,}', REFUSE),
    # A quote of another kind: the typographic one may be the first character of the text.
    ('{"files":[“foo",}', REFUSE),
    ('{"command":“ls"}', REFUSE),
    # One word or URL for a string.
    ("{url:https://x.de/}", {"url": "https://x.de/"}),
    (
        '{"url": https://x.de:8080/a?b=c&d=%20#e, "timeout": 5}',
        {"url": "https://x.de:8080/a?b=c&d=%20#e", "timeout": 5},
    ),
    ("{file_path: src/main.py}", {"file_path": "src/main.py"}),
    ("{file_path: ./a-b.py}", {"file_path": "./a-b.py"}),
    ("{file_path: /etc/hosts}", {"file_path": "/etc/hosts"}),
    ('{"command": ls, "timeout": 5}', {"command": "ls", "timeout": 5}),
    ("{note: Größe}", {"note": "Größe"}),
    ("{mode: read}", {"mode": "read"}),
    # … and the near misses: several words, a colon, a comma, another type, an expression, a word for something else.
    ("{command: ls -la}", REFUSE),
    ("{command: git, status}", REFUSE),
    ("{command: a:b}", REFUSE),
    ("{file_path: C:/x}", REFUSE),
    ("{url:https://x.de/,timeout:5}", REFUSE),
    ("{url: https://x.de/, timeout: 5}", REFUSE),
    ("{note: x, mode: read}", REFUSE),
    ("{url:https://x.de/a,b}", REFUSE),
    ("{url:https://x.de/(a)}", REFUSE),
    ('{url:https://x.de/"}', REFUSE),
    ("{mode: rewrite}", REFUSE),
    ("{any: word}", REFUSE),
    ("{either: word}", REFUSE),
    ("{timeout: soon}", REFUSE),
    ("{dry_run: yes}", REFUSE),
    ("{other: word}", REFUSE),
    ("{files: [a.py]}", REFUSE),
    ("{files: a.py}", REFUSE),
    ("{command: undefined}", REFUSE),
    ("{command: NaN}", REFUSE),
    ("{command: string}", REFUSE),
    ("{command: command}", REFUSE),
    ("{command: description}", REFUSE),
    ("{command: f()}", REFUSE),
    ("{command: ...}", REFUSE),
    ("{command: /re/}", REFUSE),
    ("{command: //x}", REFUSE),
    ("{command: 1.2.3}", REFUSE),
    ("{command: -rf}", REFUSE),
    ("{command: <x>}", REFUSE),
    ("{command: ls", REFUSE),
    ('{command: ls "timeout": 5}', REFUSE),
    ("{command: ls,}", REFUSE),
    ("{command: ls}{timeout: 5}", REFUSE),
    ("{command: ls}}", REFUSE),
    # Text in a fence may begin with the name of a language.
    ('{"command": ```ls```}', REFUSE),
    ('{"command": ``ls``, "timeout": 5}', REFUSE),
    ('{"command": ``}', {"command": ""}),
    ('{"command": ```bash ls```}', REFUSE),
    ('{"command": ```\nls\n```}', REFUSE),
    ('{"command": ```ls`}', REFUSE),
    ('{"command": ````ls````}', REFUSE),
    ('{"command": ```a``` ```b```}', REFUSE),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_the_schema_proves_what_is_missing(text: str, expected: dict[str, Any] | None) -> None:
    outcome = Mender(Tools([TOOL]), Policy(), Ids()).decide(Call(name="Bash", arguments=text, finish=Finish.COMPLETE))
    assert outcome.status == ("refused" if expected is None else "repaired"), outcome
    assert expected is None or json.loads(outcome.arguments) == expected
    assert expected is not None or outcome.reason


@pytest.mark.parametrize("finish", [Finish.CUT, Finish.UNKNOWN])
@pytest.mark.parametrize(
    "text",
    [
        '{"command":"git diff HEAD",description":"x"}',
        '{file_path": "a"}',
        "{url:https://x.de/}",
        "{file_path: a}",
        '{"files":["foo",}',
        '{"command":“ls"}',
    ],
)
def test_nothing_is_proven_in_an_answer_that_may_be_cut_off(text: str, finish: Finish) -> None:
    assert (
        Mender(Tools([TOOL]), Policy(), Ids()).decide(Call(name="Bash", arguments=text, finish=finish)).status
        == "refused"
    )


@pytest.mark.parametrize("text", ['{"command":"a",description":"b"}', '{file_path": "a"}', "{url:https://x.de/}"])
def test_without_a_schema_no_quote_is_proven(text: str) -> None:
    assert mend_arguments(text, Finish.COMPLETE).status == "refused"
    assert (
        Mender(Tools([Tool("Bash")]), Policy(), Ids())
        .decide(Call(name="Bash", arguments=text, finish=Finish.COMPLETE))
        .status
        == "refused"
    )


@pytest.mark.parametrize("name", ["float", "double", "Float"])
def test_a_float_is_a_number(name: str) -> None:
    tool = Tool("T", {"type": "object", "properties": {"n": {"type": name}}, "required": ["n"]})
    outcome = Mender(Tools([tool]), Policy(), Ids()).decide(
        Call(name="T", arguments='{"n":"1.5"}', finish=Finish.COMPLETE)
    )
    assert json.loads(outcome.arguments) == {"n": 1.5}
    kept = Mender(Tools([tool]), Policy(), Ids()).decide(
        Call(name="T", arguments='{"n":"soon"}', finish=Finish.COMPLETE)
    )
    assert json.loads(kept.arguments) == {"n": "soon"}


_PIECES = (
    *("a", "ls", " y", "description", "command", '"', "'", ",", ":", "{", "}", "[", "]", "\\", "\n", "`", "“", "”"),
    *('",description":"', '", "command": "', "{file_path: x}", "https://x.de/", "/", ", mode: read"),
)


def test_whatever_quote_is_lost_the_object_is_the_same_or_refused() -> None:
    """One quote of an object in JSON is lost, or all quotes of one key or value; values may look like other pairs."""
    draw = random.Random(5)
    mended = 0
    for _ in range(1500):
        keys = draw.sample(["command", "description", "file_path", "url", "note"], draw.randint(1, 3))
        value = {key: "".join(["x", *draw.choices(_PIECES, k=draw.choice([0, 1, 2, 6]))]) for key in keys}
        text = json.dumps(value, ensure_ascii=False, separators=draw.choice([(",", ":"), (", ", ": ")]))
        strings = [found.span() for found in re.finditer(r'"(?:[^"\\]|\\.)*"', text)]
        quotes = [at for span in strings for at in (span[0], span[1] - 1)]
        lost = [text[:at] + text[at + 1 :] for at in quotes]
        lost += [text[:begin] + text[begin + 1 : end - 1] + text[end:] for begin, end in strings]
        for broken in lost:
            outcome = Mender(Tools([TOOL]), Policy(), Ids()).decide(
                Call(name="Bash", arguments=broken, finish=Finish.COMPLETE)
            )
            if outcome.status != "refused":
                mended += 1
                assert json.loads(outcome.arguments) == value, (text, broken, outcome)
    assert mended > 1000
