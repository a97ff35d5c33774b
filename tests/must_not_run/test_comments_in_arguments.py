"""A comment that may be what was meant eats no values: the arguments are refused."""

from __future__ import annotations

import pytest

from tests.must_not_run.arguments_on_wires import always_runs_with, never_runs


@pytest.mark.parametrize(
    "text",
    [
        '{"items": [1, #2, 3\n]}',
        '{"items": [1, #2, 3',
        '{"a": 1, #"b": 2}',
        '{"a": 1, #"b": 2\n}',
        '{"a": 1, # "b": 2\n "c": 3}',
        '{"a": 1, // "dry_run": true\n "c": 3}',
        '{"a": 1, //dry_run: true\n "c": 3}',
        "{'a': 1, # 'dry_run': True,\n}",
        '{"items": [1 #, 2\n]}',
        '{"items": [1, #{"b": 2},\n3]}',
        '{"items": ["a", //"b",\n"c"]}',
        '{"items": [1, 2 // two]\n}',
        '{"a": 1, "b": 2 # x, "c": 3}\n',
        '{"a": 1 // note}',
        '{"colour": #fff\n}',
        '{"command": "rm -rf /"#build"/out",\n "timeout": 5}',
        '{"command": "rm -rf "//tmp/x"\n}',
        '{"command": "grep "#include" src",\n "timeout": 5}',
        "{'command': 'echo '#x' y',\n 'timeout': 5}",
        '{"args": ["a", #b, "c"\n], "command": "rm"}',
        '{"items": [1, #two, 3\n]}',
        '{"command": "ls", # dry_run=true\n "timeout": 1}',
        '{"command": "ls", #"dry_run" true,\n "timeout": 1}',
        '{"command": "rm" /* do not run */}',
        '{// never run this\n"command": "rm"}',
        '{"issue": #42,\n "b": 5}',
        '{"command": "grep "/*.c" src/*/, "timeout": 1}',
        '{"command": "rm -rf /tmp/x"/* "*/}',
        '{"command": "rm" // example only\n}',
        '{"command": "rm" /* skipped */}',
        '{"command": "rm", # ask the user first\n}',
        '{"command": "rm", // cancelled\n "timeout": 1}',
    ],
)
def test_a_comment_with_values_in_it_is_refused(text: str) -> None:
    assert never_runs(text)


# Near misses.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // why not\n "c": 3}', {"a": 1, "c": 3}),
        ('{"a": 1 # python comment\n, "b": 2}', {"a": 1, "b": 2}),
        ('{// first\n"a": 1}', {"a": 1}),
        ('{"a": 1, /* "b": 3, */ "c": 2}', {"a": 1, "c": 2}),
        ('{"a": 1, // it\'s a "note"\n"b": 2}', {"a": 1, "b": 2}),
        ('{"a": 1, // TODO: fix\n "c": 3}', {"a": 1, "c": 3}),
        ('{"a": [1, // 2 more follow\n 2, 3]}', {"a": [1, 2, 3]}),
        ('{"a": 1, // c, }\n "b": 2}', {"a": 1, "b": 2}),
        ('{"a": "# 1, 2", "b": "// 3",}', {"a": "# 1, 2", "b": "// 3"}),
        ('{"a": "x" // a note\n}', {"a": "x"}),
        ('{"a": "x" /* it\'s "so" */, "b": 1}', {"a": "x", "b": 1}),
        ('{"a": "x"/* so */, "b": 1}', {"a": "x", "b": 1}),
        ('{"a": "x" // the confinement of y\n}', {"a": "x"}),
        ("{'url': 'http://x/#2, 3'}", {"url": "http://x/#2, 3"}),
    ],
)
def test_a_comment_that_is_only_one_is_dropped(text: str, value: object) -> None:
    assert always_runs_with(text, value)
