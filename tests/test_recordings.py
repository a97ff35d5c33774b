"""The acceptance set: every committed recording, at several splits, gives the bytes and the calls that it must."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.splits import splits
from tests.validators.history import VALIDATORS, Illegal
from toolcalls.recording import store
from toolcalls.recording.replay import replay

RECORDINGS = Path(__file__).parents[1] / "recordings"
DIRECTORIES = store.find(RECORDINGS)


def test_there_are_recordings_for_every_protocol_and_some_where_nothing_may_change() -> None:
    loaded = [store.load(directory) for directory in DIRECTORIES]
    assert len(loaded) >= 13
    assert any(recording.before == recording.after for recording in loaded)
    assert all(recording.flow.get("title") and recording.flow.get("defect") for recording in loaded)
    assert all(recording.calls is not None for recording in loaded), "an expectation is written by hand"


def test_a_recording_stands_in_the_folder_of_its_protocol_or_among_the_seeds() -> None:
    for directory in DIRECTORIES:
        group = "seeds" if directory.name[:3].isdigit() else store.load(directory).protocol
        assert directory == RECORDINGS / group / directory.name


def test_the_name_of_a_recording_names_only_one() -> None:
    assert len({directory.name for directory in DIRECTORIES}) == len(DIRECTORIES)


OTHER_NAMES = {
    "ollama": {"finish-stop": "finish-stop-untouched"},
    "gemini": {"finish-stop": "finish-stop-untouched", "text-tool-choice-none": "text-mode-none"},
}
"""Where `stop` is the right word, and `tool_choice` is called otherwise."""
ONLY_CHAT = {
    "ollama": {"text-tool-choice-none"},
    "gemini": set[str](),
    "both": {
        "finish-in-every-chunk",
        "finish-tool-use-without-call",
        "name-twice-one-call-untouched",
        "name-twice-two-calls",
    },
}
"""Calls come whole in Ollama and Gemini, so no name comes twice; they have no finish reason for calls, and Ollama
has no `tool_choice`."""


@pytest.mark.parametrize("wire", ["ollama", "gemini"])
def test_the_recordings_of_chat_about_arguments_names_ends_and_text_are_on_this_wire_too(wire: str) -> None:
    known = {directory.name for directory in DIRECTORIES}
    chat = [name.removeprefix("chat-") for name in known if name.startswith("chat-")]
    wanted = {name for name in chat if name.split("-")[0] in ("args", "name", "finish", "text")}
    assert len(wanted) > 80
    expected = wanted - ONLY_CHAT[wire] - ONLY_CHAT["both"]
    assert {OTHER_NAMES[wire].get(name, name) for name in expected} <= {
        name.removeprefix(f"{wire}-") for name in known if name.startswith(f"{wire}-")
    }


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda directory: directory.name)
def test_the_recording_is_mended_as_expected_at_every_split(directory: Path) -> None:
    recording = store.load(directory)
    assert replay(recording).drift == []
    for pieces in splits(recording.before):
        assert replay(recording, pieces).drift == []


REQUESTS = [
    directory
    for directory in DIRECTORIES
    if directory.name.startswith("request-") or (directory / store.REQUEST_AFTER).is_file()
]
LEFT_ALONE = {"request-gemini-pairs-untouched"}
"""Histories that servers refuse, and in which nobody knows what was meant."""


@pytest.mark.parametrize("directory", REQUESTS, ids=lambda directory: directory.name)
def test_what_goes_up_is_a_history_that_strict_servers_read(directory: Path) -> None:
    recording = store.load(directory)
    request = json.loads(recording.request_after or recording.request)
    ids = {word for word in json.dumps(request).split('"') if word}
    if directory.name in LEFT_ALONE:
        with pytest.raises(Illegal):
            VALIDATORS[recording.protocol](request, ids)
    else:
        VALIDATORS[recording.protocol](request, ids)


@pytest.mark.parametrize("name", ["history-poisoned", "repeated-tool-use", "empty-name-history"])
def test_without_us_servers_refuse_the_histories_that_we_mend(name: str) -> None:
    broken = [store.load(directory) for directory in REQUESTS if name in directory.name]
    assert broken
    for recording in broken:
        with pytest.raises(Illegal):
            VALIDATORS[recording.protocol](json.loads(recording.request))


def test_there_are_requests_that_change_and_requests_that_do_not_for_every_protocol() -> None:
    loaded = [store.load(directory) for directory in REQUESTS]
    for changes in (True, False):
        protocols = {recording.protocol for recording in loaded if (recording.request_after is not None) == changes}
        assert protocols == set(VALIDATORS)
