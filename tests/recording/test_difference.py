"""The difference is a unified one, of lines that a reader can take in, and never drowns him."""

from __future__ import annotations

from toolcalls.recording import store
from toolcalls.recording.replay import LONGEST, MOST_LINES, difference, named


def test_of_a_long_line_only_the_pieces_around_the_change_are_shown() -> None:
    old = b"data: " + b"a" * 2000 + b"RUN" + b"b" * 2000 + b"\n\ndata: same\n\n"
    lines = difference(old, old.replace(b"RUN", b"SIT"), "after.sse")
    assert lines[:2] == ["--- after.sse as recorded", "+++ after.sse by this version"]
    old_lines, new_lines = ([line for line in lines[2:] if line[0] == sign] for sign in "-+")
    assert len(old_lines) == len(new_lines) == 1
    assert "RUN" in old_lines[0] and "SIT" in new_lines[0]


def test_lines_that_came_or_went_are_shown_as_such() -> None:
    assert difference(b"a\nb\n", b"a\n", "x")[3:] == [" a", "-b"]
    assert difference(b"a\n", b"a\nb\n", "x")[3:] == [" a", "+b"]


def test_a_large_difference_is_cut() -> None:
    old = b"".join(b"old %d %s\n" % (number, b"x" * 1000) for number in range(500))
    new = b"".join(b"new %d %s\n" % (number, b"y" * 1000) for number in range(500))
    for factor in (1, 10):
        lines = difference(old * factor, new * factor, "x")
        assert len(lines) <= MOST_LINES
        assert max(map(len, lines)) <= LONGEST + 1


def test_of_calls_the_keys_that_differ_are_shown() -> None:
    def of_calls(expected: list[dict[str, str]], calls: list[dict[str, str]]) -> list[str]:
        return difference(store.pretty(expected), store.pretty(named(expected, calls)), "calls.json")

    lines = of_calls(
        [{"status": "valid", "arguments": "{}"}], [{"status": "repaired", "arguments": "{}", "name": "x"}]
    )
    assert lines[:2] == ["--- calls.json as recorded", "+++ calls.json by this version"]
    assert [line.strip("+-, ") for line in lines[2:] if line[0] in "+-"] == [
        '"status": "valid"',
        '"status": "repaired"',
    ]
    assert any(line.startswith("-") and '"name": "a"' in line for line in of_calls([{"name": "a"}], []))
    assert any(line.startswith("+") and '"name": "a"' in line for line in of_calls([], [{"name": "a"}]))
