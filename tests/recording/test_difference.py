"""The difference is shown around what differs, and never drowns the reader."""

from __future__ import annotations

from toolcalls.recording.replay import LONGEST, MOST_LINES, of_bodies, of_calls


def test_of_a_long_line_only_the_surroundings_of_the_change_are_shown() -> None:
    old = b"data: " + b"a" * 500 + b"RUN" + b"b" * 500 + b"\n\ndata: same\n\n"
    lines = of_bodies(old, old.replace(b"RUN", b"WALK"), "after.sse")
    around_a, around_b = "a" * 40, "b" * 40
    assert lines == [
        "--- recorded after.sse",
        "+++ today's after.sse",
        "@@ line 1",
        f"- …{around_a}RUN{around_b}…",
        f"+ …{around_a}WALK{around_b}…",
    ]


def test_lines_that_came_or_went_are_shown_as_such() -> None:
    assert of_bodies(b"a\nb\n", b"a\n", "x")[2:] == ["@@ line 2", "- b"]
    assert of_bodies(b"a\n", b"a\nb\n", "x")[2:] == ["@@ line 2", "+ b"]


def test_a_repetition_before_or_behind_the_change_does_not_confuse() -> None:
    assert of_bodies(b"aaaa\n", b"aaaaaa\n", "x")[3:] == ["- aaaa", "+ aaaaaa"]


def test_a_large_difference_is_cut() -> None:
    old = b"".join(b"old %d %s\n" % (number, b"x" * 1000) for number in range(500))
    new = b"".join(b"new %d %s\n" % (number, b"y" * 1000) for number in range(500))
    for factor in (1, 10):
        lines = of_bodies(old * factor, new * factor, "x")
        assert len(lines) <= 2 * MOST_LINES + 3
        assert max(map(len, lines)) < LONGEST + 60


def test_of_calls_the_keys_that_differ_are_shown() -> None:
    lines = of_calls(
        [{"status": "valid", "arguments": "{}"}], [{"status": "repaired", "arguments": "{}", "name": "x"}]
    )
    assert lines[2:] == ["@@ call 1: status", "- valid", "+ repaired"]
    assert "@@ 1 calls are expected, 0 came out" in of_calls([{"name": "a"}], [])
    assert '- call 1: {"name": "a"}' in of_calls([{"name": "a"}], [])
