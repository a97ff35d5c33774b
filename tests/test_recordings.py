"""The acceptance set: every committed scenario, at several splits, gives the bytes and the calls that it must."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.splits import splits
from toolcalls.recording import store
from toolcalls.recording.replay import replay

RECORDINGS = Path(__file__).parents[1] / "recordings"
DIRECTORIES = store.find(RECORDINGS)


def test_there_are_scenarios_for_every_protocol_and_some_where_nothing_may_change() -> None:
    loaded = [store.load(directory) for directory in DIRECTORIES]
    assert len(loaded) >= 13
    assert any(recording.before == recording.after for recording in loaded)
    assert all(recording.flow.get("title") and recording.flow.get("defect") for recording in loaded)
    assert all(recording.calls is not None for recording in loaded), "an expectation is written by hand"


@pytest.mark.parametrize("directory", DIRECTORIES, ids=lambda directory: directory.name)
def test_the_recording_is_mended_as_expected_at_every_split(directory: Path) -> None:
    recording = store.load(directory)
    assert replay(recording).drift == []
    for pieces in splits(recording.before):
        assert replay(recording, pieces).drift == []
