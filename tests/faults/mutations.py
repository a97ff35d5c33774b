"""Does each of these tests fail when the protection that it is about is taken away?

    .venv/bin/python -m tests.faults.mutations             all of them, as a table
    .venv/bin/python -m tests.faults.mutations --write     the same, and how many fail into docs/evidence.md
    .venv/bin/python -m tests.faults.mutations gzip clock  those whose fault has one of these words

The repository is copied, a few words of its source are replaced, and the named test is run there. It has to fail.
A test that fails because the changed code crashes, or because a proxy did not start, shows nothing: it does not count.
With --whole nothing is replaced, and all of them have to pass. A quarter of an hour on two idle cores.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from scripts.shared.circumstances import commit
from scripts.shared.sections import EVIDENCE, write_section

from .mutation import ENGINE, Mutation
from .promises import PROMISES

ROOT = Path(__file__).parents[2]
PATIENCE = "30"
"""Seconds until a test gives up on a proxy that hangs, which is what many mutations make of it."""
AT_ONCE = 2
SHOWS_NOTHING = (
    *("TypeError", "ValueError", "NameError", "AttributeError", "ImportError", "UnicodeEncodeError"),
    "toolcalls.cli.proxy_process.ProxyFailed",
)
"""How a test fails that did not get as far as to find something wrong."""


SCRIPT = "addon/toolfix.py"
HTTP_FLOWS = ENGINE + "proxy/http_flows.py"
NOT_CALLED = (HTTP_FLOWS, "self._close(flow, state, broken=True)", "return")
JOINED = (
    HTTP_FLOWS,
    "        response.stream = self._new_stream(flow, state).feed",
    '        stream = self._new_stream(flow, state)\n        response.stream = lambda chunk: b"".join(stream.feed(chunk)) if chunk else stream.end()',
)
NO_END = (ENGINE + "protocols/chat.py", "out = super().end(half)", "out = list[bytes]()")
NO_LIMIT = (
    ENGINE + "engine.py",
    "self._mender, self._limit, self._decoder = mender, policy.max_held_bytes,",
    "self._mender, self._limit, self._decoder = mender, 10**12,",
)
NONE_TOGETHER = (
    ENGINE + "proxy/body_stream.py",
    "if not self.all_held.fits(self, self.response.held_bytes):",
    "if False:",
)

MUTATIONS = (
    Mutation(
        "resets at every byte", "test_resets.py a_reset_at_any_byte and chat and valid", "the `error` hook closes the books", (NOT_CALLED,)
    ),
    Mutation(
        "resets at every byte", "test_resets.py ends_at_any_byte and chat", "half an event at the end is no event",
        ((ENGINE + "protocols/protocol.py", "return self.end(event.raw)\n        return [event.raw]", "return [event.raw]\n        return [event.raw]"),),
    ),
    Mutation(
        "resets at every byte", "test_resets.py promised_more and chat", "mitmproxy's: an early end of the connection is an error",
        (("tests/faults/probe.py", "script.ReloadInterval = 0.05", '''import h11
for _reader in (h11._readers.ChunkedReader, h11._readers.ContentLengthReader):
    _reader.read_eof = lambda self: h11.EndOfMessage()
script.ReloadInterval = 0.05'''),),
    ),
    Mutation(
        "stalls", "test_slow.py before_a_stall and chat", "the answer is streamed, not gathered",
        ((HTTP_FLOWS, "            self._stream(flow, response, state)\n            return", "            return"),),
    ),
    Mutation(
        "stalls", "test_slow.py gives_up_on_a_stalled", "flows are known weakly, and closed in the `error` hook",
        (NOT_CALLED, (HTTP_FLOWS, "flows: WeakKeyDictionary[http.HTTPFlow, FlowState] = WeakKeyDictionary()", "flows: dict = {}")),
    ),
    Mutation(
        "half-closed connections", "test_slow.py half_closes_behind and chat", "what is held comes out at the end",
        (NO_END,),
    ),
    Mutation("slow drip of one byte", "test_slow.py drip and chat", "a swallowed chunk is `[]`, never `b\"\"`", (JOINED,)),
    Mutation("10,000 tiny chunks in one write", "test_slow.py ten_thousand_tiny", "a swallowed chunk is `[]`, never `b\"\"`", (JOINED,)),
    Mutation("an endless event", "test_sizes.py endless", "the limit of held bytes, and that of all answers together", (NO_LIMIT, NONE_TOGETHER)),
    Mutation("100 MB without a newline", "test_sizes.py 100_mb and text", "the limit of held bytes", (NO_LIMIT,)),
    Mutation(
        "100 MB without a newline", "test_sizes.py 100_mb and text", "what is kept of an answer has a limit",
        ((ENGINE + "proxy/body_stream.py", "MAX_KEPT_UNOBSERVED = 1024 *", "MAX_KEPT_UNOBSERVED = 10**9 *"),),
    ),
    Mutation(
        "wrong content-length", "test_lies.py length_that_is_right and chat", "where the body may change the length goes, and it is chunked",
        (
            (HTTP_FLOWS, '"content-encoding", "content-length", "transfer-encoding")', '"content-encoding", "transfer-encoding")'),
            (HTTP_FLOWS, 'headers["transfer-encoding"] = "chunked"', "pass"),
        ),
    ),
    Mutation(
        "wrong content-length", "test_lies.py too_short", "a call that is cut off is refused",
        (NO_END,),
    ),
    Mutation(
        "corrupt gzip in the middle", "test_lies.py gzip and broken", "a decoder that fails lets the bytes pass",
        ((ENGINE + "engine.py", "            self._rest += chunk\n            return self._give_up(error)\n", "            raise\n"),),
    ),
    Mutation(
        "invalid UTF-8", "test_lies.py invalid_utf_8", "bytes that are no text are read as U+FFFD",
        ((ENGINE + "wire/sse.py", 'str(data, "utf-8", "replace")', 'str(data, "utf-8")'),),
    ),
    Mutation(
        "deep nesting", "test_lies.py nested_too_deep", "a RecursionError is caught like any other",
        (
            (ENGINE + "engine.py", "except Exception as error:", "except ValueError as error:"),
            (ENGINE + "payload.py", "(ValueError, RecursionError)", "ValueError"),
            (ENGINE + "request/request.py", "except (ValueError, RecursionError):", "except ValueError:"),
        ),
    ),
    Mutation(
        "a million tool calls", "test_sizes.py million_tool_calls and responses", "at most 500 calls of one answer are told apart",
        ((ENGINE + "sizes.py", "MOST_CALLS: Final = 500", "MOST_CALLS: Final = 10**9"),),
    ),
    Mutation(
        "1 GB of arguments", "test_sizes.py gigabyte_of_arguments and messages", "what is kept of an answer has a limit",
        ((ENGINE + "proxy/body_stream.py", "MAX_KEPT_UNOBSERVED = 1024 *", "MAX_KEPT_UNOBSERVED = 10**9 *"),),
    ),
    Mutation(
        "duplicated and reordered frames", "test_frames.py events_that_come_twice and responses", "arguments that are stated twice are one call, by their item and by their meaning",
        ((ENGINE + "sent.py", "elif any(self._repeats(one, call) for one in earlier):", "elif False:"),),
    ),
    Mutation(
        "duplicated and reordered frames", "test_frames.py events_that_come_twice and messages", "a start that is told twice is one call",
        ((ENGINE + "calls.py", "(one.id, one.name) != (last.id, last.last_name)", "True"),),
    ),
    Mutation(
        "duplicated and reordered frames", "test_frames.py of_one_read", "several messages go where one would have gone",
        ((ENGINE + "proxy/websocket_flows.py", "layer.Fragmentizer.__call__ = _send_each", "_send_each"),),
    ),
    Mutation(
        "client that disconnects", "test_slow.py disconnects_at_any_event", "the `error` hook closes the books", (NOT_CALLED,)
    ),
    Mutation(
        "client that reads slowly", "test_slow.py reads_slowly", "mitmproxy's: it waits until its writers have drained",
        (("tests/faults/probe.py", "script.ReloadInterval = 0.05", '''from mitmproxy.proxy import server
async def _no_drain(self: Any) -> None: ...
server.ConnectionHandler.drain_writers = _no_drain
script.ReloadInterval = 0.05'''),),
    ),
    Mutation(
        "proxy told to stop with streams open", "test_stops.py told_to_stop and SIGINT", "open flows are written at the end",
        ((SCRIPT, "        self.settings.close()\n", "        pass\n"),),
    ),
    Mutation(
        "disk full while recording", "test_disk.py disk_fails and full", "an OSError of the recorder is counted and said once",
        ((ENGINE + "recording/record.py", "except OSError as error:", "except ZeroDivisionError as error:"),),
    ),
    Mutation(
        "disk full while recording", "test_disk.py disk_fails and full", "a recording that cannot be finished is taken away",
        ((ENGINE + "recording/record.py", "        if new:\n            shutil.rmtree(directory, ignore_errors=True)\n", ""),),
    ),
    Mutation(
        "read-only directory while recording", "test_disk.py disk_fails and read-only", "an OSError of the recorder is counted and said once",
        ((ENGINE + "recording/record.py", "except OSError as error:", "except ZeroDivisionError as error:"),),
    ),
    Mutation(
        "script reloaded with streams open", "test_stops.py reloaded_get_the_right", "open flows are handed to the new script",
        ((HTTP_FLOWS, "self.open = flows", "self.open = WeakKeyDictionary()"),),
    ),
    Mutation(
        "script reloaded with streams open", "test_stops.py websocket", "open sockets are handed to the new script",
        ((ENGINE + "proxy/websocket_flows.py", "= refusals, all_held, clock", "= refusals, all_held, clock; sockets.clear()"),),
    ),
    Mutation(
        "clock jumps", "test_clocks.py recordings_are_written", "a new job wakes the writer, whatever the clock says",
        ((
            ENGINE + "recording/record.py",
            "while (exchange := self._queue.get()) is not None:",
            "while time.sleep(60) or (exchange := self._queue.get()) is not None:",
        ),),
    ),
    Mutation(
        "clock jumps", "test_clocks.py told_of_once", "the keep-alive counts as something said",
        ((ENGINE + "proxy/body_stream.py", "if sent_data or due:", "if sent_data:"),),
    ),
)  # fmt: skip


def run_test(test: str, changes: tuple[tuple[str, str, str], ...]) -> str:
    """How the test fails in a copy of the repository with these changes; nothing where it passes."""
    file, _, words = test.partition(" ")
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        copy = Path(folder)
        shutil.copy(ROOT / "pyproject.toml", copy)
        shutil.copy(ROOT / "SECURITY.md", copy)
        for part in ("addon", "tests", "scripts"):
            shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        for part in ("recordings", ".venv-clients"):
            (copy / part).symlink_to(ROOT / part)
        for name, old, new in changes:
            source = (copy / name).read_text()
            if old not in source:
                raise SystemExit(f"{name} does not say {old!r} any more: mutations.py has to follow.")
            (copy / name).write_text(source.replace(old, new))
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", f"tests/faults/{file}"]
        environment = {**os.environ, "TOOLFIX_FAULTS_PATIENCE": PATIENCE, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [*command, "-k", words], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
    if done.returncode not in (0, 1) or "ERROR at setup" in done.stdout:
        print(
            f"{test}, {changes}: pytest could not run it:\n{done.stdout[-2000:]}{done.stderr[-2000:]}",
            file=sys.stderr,
        )
        return ""
    failures = done.stdout.partition("= FAILURES =")[2] or done.stdout
    told = [line[1:].strip() for line in failures.splitlines() if line.startswith("E ")]
    if told and told[0].startswith(SHOWS_NOTHING):
        print(f"{test}: fails, but not by what it asserts: {told[0]}", file=sys.stderr)
        return ""
    return (told[0] if told else "it fails") if done.returncode else ""


def named(mutation: Mutation) -> str:
    """The cells of its row but the last one."""
    file, _, words = mutation.test.partition(" ")
    return f'| {mutation.fault} | `{file}` -k "{words}" | {mutation.removed}'


def row(mutation: Mutation) -> tuple[str, bool]:
    how = run_test(mutation.test, mutation.changes)
    short = re.sub(r"/tmp/\S*", "…", how).removeprefix("AssertionError: ").replace("|", "/").replace("`", "'")[:110]
    result = f"fails: `{short}`" if how else "**passes**"
    line = f"{named(mutation)} | {result} |"
    print(line, file=sys.stderr, flush=True)
    return line, bool(how)


def main(words: list[str]) -> int:
    if not (ROOT / ".venv-clients").exists():
        print("There is no .venv-clients, which some of these tests need: run scripts/test first.", file=sys.stderr)
        return 2
    chosen = [one for one in (*MUTATIONS, *PROMISES) if not words or any(word in one.fault for word in words)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        if "--whole" in sys.argv:
            tests = sorted({one.test for one in chosen})
            failing = [
                test for test, how in zip(tests, pool.map(lambda t: run_test(t, ()), tests), strict=True) if how
            ]
            print("with nothing taken away:", ", ".join(failing) or "all of them pass")
            return int(bool(failing))
        rows = list(pool.map(row, chosen))
    print("\n".join([*HEAD, *(line for line, _ in rows)]))
    if "--write" in sys.argv:
        write_section(ROOT / EVIDENCE, "mutations", summary(rows))
    return int(not all(fails for _, fails in rows))


HEAD = ["| fault | test | protection taken away | the test |", "| --- | --- | --- | --- |"]


def summary(rows: list[tuple[str, bool]]) -> str:
    """How many tests fail, and the rows of those that do not."""
    passing = [line for line, fails in rows if not fails]
    told = f"{time.strftime('%Y-%m-%d')}, commit {commit()}: {len(rows) - len(passing)} of {len(rows)} tests fail."
    return "\n".join([told, *(["", *HEAD, *passing] if passing else [])])


if __name__ == "__main__":
    sys.exit(main([word for word in sys.argv[1:] if not word.startswith("-")]))
