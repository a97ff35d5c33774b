"""The report: everything is in it, nothing in it runs, and it asks nobody for anything. See also tests/system."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import ROOT, complaint, toolfix
from tests.recording.hostile import write_hostile
from tests.recording.test_record import EVENT, exchange
from toolcalls.recording import report, store
from toolcalls.recording.record import write_recording
from toolcalls.recording.report import page, write_report

RECORDINGS = ROOT / "recordings"


class Scripts(HTMLParser):
    """The elements of a page: what a browser would make of its markup."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag in ("script", "style"):
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data: str) -> None:
        if self.lasttag in ("script", "style") and self.scripts and not self.scripts[-1][1]:
            self.scripts[-1] = (self.scripts[-1][0], data)


def data_of(text: str) -> dict[str, Any]:
    found = next(body for attributes, body in Scripts(text).scripts if attributes.get("id") == "data")
    data: dict[str, Any] = json.loads(found)
    return data


@pytest.fixture(scope="module")
def committed() -> str:
    return page(RECORDINGS)


def test_every_committed_recording_is_in_the_report_with_all_its_calls(committed: str) -> None:
    flows = {flow["name"]: flow for flow in data_of(committed)["flows"]}
    assert sorted(flows) == sorted(path.name for path in store.find(RECORDINGS))
    for path in store.find(RECORDINGS):
        expected = store.load(path).calls or []
        calls = flows[path.name]["calls"]
        assert len(calls) == len(expected), path
        for call, wanted in zip(calls, expected, strict=True):
            assert call["status"] == wanted["status"]
        assert flows[path.name]["defect"] and flows[path.name]["title"]
    states = {flow["state"] for flow in flows.values()}
    assert states == {"mended", "refused", "stream", "request", "gathered", "untouched"}


def test_a_refused_call_has_its_reason_and_a_mended_one_its_steps(committed: str) -> None:
    for flow in data_of(committed)["flows"]:
        for call in flow["calls"]:
            assert call["status"] != "refused" or call["reason"]
            assert call["status"] != "repaired" or call["steps"]


def test_the_page_may_run_its_own_script_and_nothing_else(committed: str) -> None:
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', committed)
    assert found
    rules = dict(rule.strip().split(" ", 1) for rule in found[1].split(";"))
    assert rules["default-src"] == "'none'"
    parsed = Scripts(committed)
    running = [body for attributes, body in parsed.scripts if attributes.get("type") != "application/json"]
    assert len(running) == 2
    for body, rule in zip(running, ("style-src", "script-src"), strict=True):
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert not {"src", "href", "style", "onclick", "onerror", "srcset", "action"} & {n for n, _ in parsed.attributes}
    assert not {"link", "img", "iframe", "object", "embed", "form", "base", "a"} & set(parsed.tags)
    source = (ROOT / "addon/toolcalls/recording/report.js").read_text()
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|Function\(|fetch|XMLHttp", source
    )


def test_whatever_a_model_writes_stays_data(tmp_path: Path) -> None:
    attacks = write_hostile(tmp_path)
    text = page(tmp_path)
    flows = data_of(text)["flows"]
    assert {flow["title"] for flow in flows} == set(attacks)
    assert {flow["calls"][0]["name"] for flow in flows} == set(attacks)
    parsed = Scripts(text)
    assert parsed.tags.count("script") == 2 + len(attacks)
    assert parsed.tags.count("style") == parsed.tags.count("meta") - 4
    for attributes, body in parsed.scripts:
        if attributes.get("type") == "application/json":
            assert not re.search(r"[<>&]", body)
            assert body.isascii()


def test_what_was_recorded_live_is_classed_by_what_was_done(tmp_path: Path) -> None:
    outcomes = report.replay(store.load(RECORDINGS / "chat" / "chat-python-dict")).calls
    write_recording(tmp_path / "a", exchange(EVENT, over=True))
    write_recording(tmp_path / "b", exchange(EVENT))
    store.private_file(tmp_path / "a" / "calls.json", json.dumps(outcomes).encode())
    first, second = data_of(page(tmp_path))["flows"]
    assert first["title"] == "TodoWrite: single quotes"
    assert first["defect"] == ["single quotes"]
    assert first["state"] == "mended"
    assert second["title"] == "an answer without a tool call"
    assert (second["state"], second["defect"], second["flags"]) == ("untouched", ["none"], ["the connection broke"])


def test_large_texts_are_cut_and_the_page_stays_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report, "MOST_OF_ALL_BODIES", 250_000)
    for number in range(6):
        write_recording(tmp_path / str(number), exchange(EVENT * 20_000, over=True))
    text = page(tmp_path)
    assert len(data_of(text)["flows"]) == 6
    assert 1 <= text.count('id="body-') <= 3
    assert "more bytes" in text
    assert len(text) < 400_000


def test_a_recording_that_cannot_be_read_is_left_out_and_said(tmp_path: Path) -> None:
    write_recording(tmp_path / "good", exchange(EVENT, over=True))
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "flow.json").write_text("{oops")
    target = tmp_path / "report.html"
    result = toolfix("report", str(tmp_path), "-o", str(target))
    assert result.returncode == 0
    assert result.stdout.decode() == f"{target}: 1 recording\n"
    assert b"left out: " in result.stderr
    assert target.read_text().startswith("<!doctype html>")


def test_bad_input_is_one_sentence(tmp_path: Path) -> None:
    assert "there is no recording at" in complaint(toolfix("report", str(tmp_path), "-o", "x.html"))
    bad = toolfix("report", str(RECORDINGS / "chat" / "chat-python-dict"), "-o", str(tmp_path / "no" / "x.html"))
    assert "cannot be written" in complaint(bad)
    assert "Missing option" in complaint(toolfix("report", str(RECORDINGS)))


def test_write_report_writes_the_page(tmp_path: Path) -> None:
    write_report(RECORDINGS / "chat" / "chat-python-dict", tmp_path / "x.html")
    assert [flow["name"] for flow in data_of((tmp_path / "x.html").read_text())["flows"]] == ["chat-python-dict"]


def test_the_page_is_read_from_a_zipped_package_too(tmp_path: Path) -> None:
    """Its template is package data: it is found wherever Python finds the package."""
    archive = tmp_path / "engine.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (ROOT / "addon" / "toolcalls").rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                file.write(path, path.relative_to(ROOT / "addon"))
    names = set(zipfile.ZipFile(archive).namelist())
    assert {f"toolcalls/recording/report.{kind}" for kind in ("html", "css", "js")} <= names


def test_a_report_is_readable_by_its_user_alone_whatever_was_there_before(tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    for _ in range(2):
        write_report(RECORDINGS / "chat", target)
        assert target.stat().st_mode & 0o777 == 0o600
        target.chmod(0o644)
