"""The recorder: whole files or none, private, masked, bounded, and never in anybody's way."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcalls.outcome import Outcome
from toolcalls.policy import BY_NAME
from toolcalls.recording import record, store
from toolcalls.recording.record import Exchange, Recorder, write_recording
from toolcalls.recording.replay import replay
from toolcalls.recording.store import Frame

SECRET = "sk-live-abcdefghijklmnopqrstuvwx"
OPTIONS = {name: option.default for name, option in BY_NAME.items()}
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":null}]}\n\n'


def exchange(*chunks: bytes, **more: Any) -> Exchange:
    """The exchange of an answer that passed unchanged."""
    flow: dict[str, Any] = {
        "protocol": "chat",
        "method": "POST",
        "host": "api.example",
        "path": "/v1/chat/completions",
        "status": 200,
        "content_type": "text/event-stream",
    }
    flow |= {name: more.pop(name) for name in list(more) if name in flow}
    given: dict[str, Any] = {
        "flow": flow,
        "id": "0123abcd-4567",
        "started": 1_763_251_200.0,
        "options": OPTIONS,
        "request": b'{"stream": true}',
        "outcomes": [],
        **more,
    }
    made = Exchange(**given)
    for number, chunk in enumerate(chunks):
        made.add(chunk, [chunk], 100.0 + number / 100)
    return made


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(str(tmp_path / "flows"))
    yield recorder
    recorder.close()


def wait_for(condition: Callable[[], object]) -> bool:
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def only(folder: Path) -> store.Recording:
    (path,) = store.find(folder)
    return store.load(path)


# What is written


def test_a_flow_is_one_directory_that_only_the_user_can_read(recorder: Recorder) -> None:
    recorder.write(exchange(EVENT, EVENT))
    recorder.close()
    recording = only(recorder.directory)
    assert recording.before == recording.after == EVENT * 2
    assert recording.pieces() == [EVENT, EVENT]
    assert not recording.broken
    assert stat.S_IMODE(recording.directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in recording.directory.iterdir()} == {0o600}
    assert replay(recording).drift == []


def test_flow_json_has_a_chunk_a_line_and_is_json(recorder: Recorder) -> None:
    recorder.write(exchange(EVENT, EVENT))
    recorder.close()
    text = (only(recorder.directory).directory / "flow.json").read_text()
    assert f'  {{"offset": {len(EVENT)}, "ms": 10.0}}\n' in text
    assert json.loads(text)["chunks"][1] == {"offset": len(EVENT), "ms": 10.0}


def test_of_the_headers_a_recording_holds_the_content_type_alone(recorder: Recorder) -> None:
    recorder.write(exchange(EVENT))
    recorder.close()
    flow = json.loads((only(recorder.directory).directory / "flow.json").read_bytes())
    about_the_flow = {"protocol", "method", "host", "path", "status", "content_type", "started", "broken"}
    assert set(flow) == about_the_flow | {"seed", "policy", "versions", "chunks"}


def test_no_secret_reaches_the_disk_from_any_part_of_a_flow(tmp_path: Path) -> None:
    told = Outcome("repaired", "Bash", json.dumps({"key": SECRET}), "Bash", f"{{'key': '{SECRET}'}}", ("x",), SECRET)
    write_recording(
        tmp_path / "flow",
        exchange(
            EVENT.replace(b"hi", SECRET.encode()),
            path=f"/v1/chat/completions?key={SECRET}&sig=0a1b2c3d",
            host="api.example",
            content_type=f"text/event-stream; boundary={SECRET}",
            request=json.dumps({"api_key": "hunter2hunter2", "m": f"x {SECRET}"}).encode(),
            outcomes=[told],
            options={**OPTIONS, "toolfix_invalid_tool": SECRET},
        ),
    )
    for file in (tmp_path / "flow").iterdir():
        for secret in (SECRET, "hunter2", "0a1b2c3d"):
            assert secret.encode() not in file.read_bytes(), file
    assert json.loads((tmp_path / "flow" / "request.json").read_bytes())["api_key"] == "*" * 14


def test_a_websocket_is_recorded_message_by_message_and_replayed(tmp_path: Path) -> None:
    create = {
        "type": "response.create",
        "model": "m",
        "tools": [{"type": "function", "name": "sh", "parameters": {}}],
    }
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "sh", "arguments": "{'a': 1}"}
    socket = exchange(protocol="responses", suffix=".jsonl", method="GET", over=True)
    messages = [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [item]}},
    ]
    socket.add(Frame(True, json.dumps(create), 1.0).line(1.0), [])
    for number, message in enumerate(messages):
        socket.add(Frame(False, json.dumps(message), 2.0 + number).line(1.0), [])
    socket.add(Frame(True, "pong", 9.0).line(1.0), [])
    write_recording(tmp_path / "ws", socket)
    recording = only(tmp_path)
    assert recording.suffix == ".jsonl"
    first, *_, last = (json.loads(line) for line in recording.before.splitlines())
    assert (first["from"], first["ms"], json.loads(first["text"])) == ("client", 0.0, create)
    assert last == {"from": "client", "ms": 8000.0, "text": "pong"}
    today = replay(recording)
    assert [call["status"] for call in today.calls] == ["repaired"]
    assert today.drift, "what was delivered was recorded as nothing"
    store.private_file(recording.directory / "after.jsonl", today.after)
    store.private_file(recording.directory / "calls.json", store.pretty(today.calls))
    assert replay(store.load(recording.directory)).drift == []


# Flows that are not over


def test_what_is_not_over_when_the_proxy_ends_is_written_as_broken(recorder: Recorder) -> None:
    recorder.begin(exchange(EVENT, EVENT[:20]))
    recorder.begin(exchange(id="ffffffff"))
    recorder.close()
    recording = only(recorder.directory)
    assert recording.broken
    assert recording.before == EVENT + EVENT[:20]


def test_a_flow_that_goes_on_behind_another_recorder_is_written_whole_in_the_end(tmp_path: Path) -> None:
    """The script is loaded again while an answer arrives."""
    live = exchange(EVENT)
    for over in (False, True):
        recorder = Recorder(str(tmp_path))
        (recorder.write if over else recorder.begin)(live)
        recorder.close()
        live.add(EVENT, [EVENT], 101.0)
        assert only(tmp_path).broken is not over
    assert only(tmp_path).before == EVENT * 2


# Limits


def test_a_full_queue_loses_the_recording_with_one_line_and_nobody_waits(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(record, "MAX_BYTES", 1000)
    go_on = threading.Event()
    real = record.write_recording

    def slow(*arguments: Any) -> int:
        go_on.wait(60)
        return real(*arguments)

    monkeypatch.setattr(record, "write_recording", slow)
    started = time.monotonic()
    for number in range(50):
        recorder.write(exchange(EVENT * 4, id=f"{number:08}"))
    assert time.monotonic() - started < 5
    go_on.set()
    assert wait_for(lambda: recorder.written + recorder.lost == 50)
    assert recorder.lost > 40
    assert caplog.text.count("too much is waiting to be written") == 1


def test_a_full_directory_stops_the_recording_with_one_line_and_goes_on_when_there_is_room(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(record, "MAX_DIRECTORY", 5000)
    monkeypatch.setattr(record, "LOOK_AGAIN_SECONDS", 0.0)
    for number in range(30):
        recorder.write(exchange(EVENT, id=f"{number:08}"))
    assert wait_for(lambda: recorder.written + recorder.lost == 30)
    assert 0 < recorder.written < 10
    assert caplog.text.count("move or delete some to go on recording") == 1
    for file in recorder.directory.rglob("*.json*"):
        file.unlink()
    recorder.write(exchange(EVENT, id="99999999"))
    assert wait_for(lambda: f"toolfix records to {recorder.directory} again." in caplog.text)


def test_an_answer_larger_than_the_limit_is_not_recorded_and_the_log_says_so(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("toolcalls.recording.record.MAX_KEPT", 2 * len(EVENT))
    large = exchange(EVENT, EVENT, EVENT)
    recorder.write(large)
    recorder.close()
    assert large.before.joined() == EVENT * 2, "and no more of it is kept"
    assert store.find(recorder.directory) == []
    assert recorder.lost == 1
    assert "an answer from api.example has more than" in caplog.text


# A disk that fails


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO])
def test_a_disk_that_fails_costs_only_the_recording_and_leaves_no_half_of_it(
    code: int, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = store.private_file
    failing = True

    def failing_file(path: Path, data: bytes) -> None:
        if failing and path.name.startswith("after"):
            raise OSError(code, os.strerror(code))
        real(path, data)

    monkeypatch.setattr(store, "private_file", failing_file)
    for number in range(3):
        recorder.write(exchange(EVENT, id=f"{number:08}"))
    assert wait_for(lambda: recorder.lost == 3)
    assert list(recorder.directory.iterdir()) == []
    assert caplog.text.count(os.strerror(code)) == 1
    failing = False
    recorder.write(exchange(EVENT))
    assert wait_for(lambda: recorder.written == 1)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777, 0o722])
def test_a_directory_into_which_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "somebody's").write_text("x")
    shared.chmod(mode)
    with pytest.raises(PermissionError, match="others can write into it"):
        Recorder(str(shared))
    assert stat.S_IMODE(shared.stat().st_mode) == mode, "what is in it may be shared on purpose"
    assert [path.name for path in shared.iterdir()] == ["somebody's"]


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_an_empty_directory_of_the_user_is_made_private(tmp_path: Path, mode: int) -> None:
    made = tmp_path / "made"
    made.mkdir()
    made.chmod(mode)
    Recorder(str(made)).close()
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o1777, 0o777])
def test_an_empty_directory_of_the_system_or_of_another_user_keeps_its_mode(
    tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    if mode == 0o777:
        monkeypatch.setattr(os, "geteuid", lambda: shared.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="others can write into it"):
        Recorder(str(shared))
    assert stat.S_IMODE(shared.stat().st_mode) == mode


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o700])
def test_a_directory_that_others_can_only_read_is_taken_as_it_is(tmp_path: Path, mode: int) -> None:
    readable = tmp_path / "readable"
    readable.mkdir()
    readable.chmod(mode)
    Recorder(str(readable)).close()
    assert stat.S_IMODE(readable.stat().st_mode) == mode


def test_a_directory_that_is_gone_is_made_again(recorder: Recorder) -> None:
    recorder.directory.rmdir()
    recorder.write(exchange(EVENT))
    recorder.close()
    assert only(recorder.directory).before == EVENT


def test_an_error_of_ours_does_not_end_the_thread(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real = record.write_recording

    def fail(*_: Any) -> int:
        monkeypatch.setattr(record, "write_recording", real)
        raise KeyError("oops")

    monkeypatch.setattr(record, "write_recording", fail)
    recorder.write(exchange(EVENT))
    recorder.write(exchange(EVENT, id="ffffffff"))
    recorder.close()
    assert only(recorder.directory).before == EVENT
    assert "could not write a recording; the answer was not touched" in caplog.text
