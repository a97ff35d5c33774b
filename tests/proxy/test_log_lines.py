"""Whatever an upstream calls its tools and paths, a log line stays one visible line of a bounded length."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from mitmproxy import http
from mitmproxy.log import LegacyLogEvents
from mitmproxy.test import tflow

from toolcalls.cli import doctor, main, remark, replay
from toolcalls.cli.doctor import Finding
from toolcalls.outcome import Outcome
from toolcalls.proxy import advice
from toolcalls.proxy.content_view import view_text
from toolcalls.proxy.reporting import FlowReport, Reporter, guard, is_read
from toolcalls.proxy.session_summary import SummaryFile, read
from toolcalls.proxy.settings import Settings
from toolcalls.recording.store import Recording, calls_json
from toolcalls.shown import LINE, shown, shown_lines

HOSTILE = "Bash\r\nERROR: all is lost\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp.exe\u2028\x00\ud800"
ENCODABLE = HOSTILE.replace("\ud800", "")
VISIBLE = re.compile(r"[^\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]*")


def report_on(flow: http.HTTPFlow) -> FlowReport:
    return FlowReport(Reporter(Settings()), flow, "chat")


def test_what_is_not_visible_is_escaped_and_what_is_long_is_cut() -> None:
    assert VISIBLE.fullmatch(shown(HOSTILE))
    assert shown(HOSTILE).startswith(r"Bash\r\nERROR: all is lost\x1b[2J")
    assert shown("Bash naïve 工具 🎉") == "Bash naïve 工具 🎉"
    assert shown("x" * 1_000_000) == "x" * 200 + "… (1,000,000 characters)"
    assert len(shown("\x00" * 1_000_000)) < 450
    assert shown_lines("a\r\nb\tc\x1b[1m", 100) == "a\nb\tc\\x1b[1m"


def test_no_character_that_a_terminal_obeys_or_a_reader_does_not_see_is_shown() -> None:
    """Controls of both tables, line separators, marks that turn the text round, formats, surrogates, private use."""
    hidden = [char for char in map(chr, (*range(0x10000), *range(0xE0000, 0xE0100))) if not char.isprintable()]
    assert {"\0", "\x1b", "\x85", "\x9b", "\u200e", "\u2028", "\u202e", "\u2066", "\ufeff", "\ud800"} <= set(hidden)
    assert all(shown(char).isascii() and shown(char).isprintable() for char in hidden)
    assert all(shown_lines(char, 9).isprintable() for char in hidden if char not in "\n\t")


def test_every_line_of_ours_goes_through_the_logger_that_is_guarded() -> None:
    addon = Path(__file__).parents[2] / "addon"
    loggers = {
        (path.relative_to(addon).as_posix(), name)
        for path in addon.rglob("*.py")
        for name in re.findall(r"getLogger\(([^)]*)\)", path.read_text(encoding="utf-8"))
    }
    others = {(path, name) for path, name in loggers if name not in ('"toolfix"', '"toolfix.engine"')}
    others.remove(("toolcalls/proxy/reporting.py", "name"))  # the guard itself
    # These two belong to mitmproxy: the first is made quieter, the second gets a hint of ours beside a line of its own.
    assert others == {("toolcalls/cli/run.py", '"mitmproxy.proxy.server"'), ("toolcalls/cli/run.py", "")}


@pytest.mark.parametrize("status", ["repaired", "refused"])
def test_a_log_line_stays_one_line_whatever_the_names_and_paths_are(
    status: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    guard()
    flow = tflow.tflow()
    flow.request.path = "/v1/\x1b[31m\n" + "p" * 1_000_000
    log = report_on(flow)
    for name in (HOSTILE, "x" * 1_000_000):
        outcome = Outcome(status, name, HOSTILE, name, HOSTILE * 1000, (HOSTILE,), HOSTILE)  # type: ignore[arg-type]
        log.calls([outcome])
    ours = [record.getMessage() for record in caplog.records if record.name == "toolfix"]
    assert len(ours) == 6
    assert all(VISIBLE.fullmatch(line) and len(line) < 2 * LINE + 100 for line in ours)


def test_an_answer_of_hundreds_of_calls_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    mended = Outcome("repaired", "Bash", "{}", "Bash", "{,}", ("trailing comma",))
    refused = Outcome("refused", "Bash", "{}", "Bash", "{", (), "no reading")
    untouched = Outcome("valid", "Bash", "{}", "Bash", "{}", ())
    report_on(tflow.tflow()).calls([untouched] * 300 + [mended] * 300 + [refused] * 100)
    assert len(caplog.records) == 51
    assert caplog.records[-1].getMessage().endswith("mended 250 more calls and refused 100.")


def test_what_nobody_reads_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """mitmproxy logs at every level, and its old hook for scripts takes every line."""
    handler, old_hook = logging.Handler(logging.INFO), LegacyLogEvents(None)  # type: ignore[arg-type]
    monkeypatch.setattr(logging.root, "handlers", [old_hook, handler])
    monkeypatch.setattr(logging.root, "level", logging.DEBUG)
    assert not is_read(logging.DEBUG) and is_read(logging.INFO)
    handler.setLevel(logging.DEBUG)
    assert is_read(logging.DEBUG)


def test_a_traceback_of_ours_says_nothing_invisible(caplog: pytest.LogCaptureFixture) -> None:
    guard()
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        logging.getLogger("toolfix").exception(f"failed on {HOSTILE}")
    logging.getLogger("toolfix.engine").warning("the upstream said %s", HOSTILE)
    assert all(VISIBLE.fullmatch(line) for line in caplog.text.split("\n"))
    assert "Traceback" in caplog.text


def test_samples_of_arguments_are_masked_as_recordings_are(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    key = "gh" + "p_" + "a1B2" * 9
    arguments = f'{{"command": "curl -H \'x-api-key: {key}\'", "password": "hunter2hunter2", "n": 1}}'
    outcome = Outcome("repaired", "Bash", arguments, "Bash", arguments, ("trailing comma",))
    report_on(tflow.tflow()).calls([outcome])
    assert "before" in caplog.text and "curl -H" in caplog.text
    assert key not in caplog.text and "hunter2" not in caplog.text


def test_the_view_the_summary_and_the_commands_show_nothing_invisible(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome = Outcome("refused", HOSTILE, HOSTILE, "x" * 1_000_000, HOSTILE, (), HOSTILE)
    view = view_text(Recording(Path(), {}, b"", HOSTILE.encode("utf-8", "replace"), b"after", calls_json([outcome])))
    assert all(VISIBLE.fullmatch(line) for line in view.split("\n")) and len(view) < 10_000
    file = SummaryFile(str(tmp_path / "summary"))
    file.warning(HOSTILE)
    file.no_answer(advice.of_status(HOSTILE, 404, HOSTILE))
    session = read(tmp_path / "summary")
    assert [bool(VISIBLE.fullmatch(line)) for line in (*session.warnings, *session.reasons)] == [True, True]
    for hostile in (ENCODABLE, HOSTILE):
        remark(hostile)
        monkeypatch.setattr(doctor, "checks", lambda *_, hostile=hostile: [Finding("wrong", hostile, hostile)])
        found = CliRunner().invoke(main, ["doctor", "--no-probe"]).output
        assert "wrong  Bash" in found
        assert all(VISIBLE.fullmatch(line) for line in (capsys.readouterr().err + found).split("\n"))


def test_recordings_that_somebody_else_made_show_nothing_invisible(monkeypatch: pytest.MonkeyPatch) -> None:
    for hostile in (ENCODABLE, HOSTILE):
        recording = SimpleNamespace(directory=Path(hostile.replace("\0", "")))
        replayed = SimpleNamespace(recording=recording, drift=[f"-{hostile}", f"+{hostile}"])
        monkeypatch.setattr(replay, "_replayed", lambda _path, replayed=replayed: [replayed])
        done = CliRunner().invoke(main, ["replay", ".", "--check"])
        # It colours the lines itself where it writes to a terminal.
        assert done.exit_code == 1 and all(VISIBLE.fullmatch(line) for line in done.output.split("\n"))


def test_why_arguments_are_refused_is_said_in_one_visible_line() -> None:
    done = CliRunner().invoke(main, ["repair"], input='{"a\x1b[2J\u202e\u2028": 1, "a\x1b[2J\u202e\u2028": 2,}')
    assert done.exit_code == 1 and "has two values" in done.output
    assert VISIBLE.fullmatch(done.output.rstrip("\n"))
