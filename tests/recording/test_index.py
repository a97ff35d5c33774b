"""The index of recordings/ is what the generator writes, and every recording is in it."""

from __future__ import annotations

import json
import re
from pathlib import Path

from scripts.writing_docs.index import page, write_index

RECORDINGS = Path(__file__).parents[2] / "recordings"
INDEX = (RECORDINGS / "README.md").read_text()
FLOWS = {path.parent: json.loads(path.read_bytes()) for path in RECORDINGS.rglob("flow.json")}


def a_recording(directory: Path, **flow: str) -> None:
    directory.mkdir(parents=True)
    (directory / "flow.json").write_text(json.dumps(flow))
    (directory / "before.sse").write_bytes(b"data: [DONE]\n\n")


def test_the_index_has_not_drifted() -> None:
    assert page(RECORDINGS) == INDEX, "recordings/README.md has drifted: run scripts/docs"


def test_every_recording_is_linked_once_in_the_row_of_its_defect_and_once_with_its_title() -> None:
    rows = {line[3 : line.index("]")]: line.split(" | ") for line in INDEX.splitlines() if line.startswith("| [")}
    columns = re.findall(r"\w+", INDEX[INDEX.index("| defect |") :].partition("\n")[0])
    lines = [line.replace("\\", "") for line in INDEX.splitlines()]
    for directory, flow in FLOWS.items():
        link = f"[{directory.name}]({directory.relative_to(RECORDINGS).as_posix()})"
        assert link in rows[flow["defect"]][columns.index(flow["protocol"])]
        assert lines.count(f"- {link}: {flow['title']}".replace("\\", "")) == 1
        assert INDEX.count(link) == 2


def test_what_the_index_links_to_exists() -> None:
    headings = {re.sub(r"[^\w-]", "", heading) for heading in re.findall(r"^### (.+)$", INDEX, re.MULTILINE)}
    for target in re.findall(r"\]\(([^)]+)\)", INDEX):
        assert target[1:] in headings if target.startswith("#") else (RECORDINGS / target).is_dir(), target


def test_a_row_for_each_defect_and_a_column_for_each_protocol(tmp_path: Path) -> None:
    a_recording(tmp_path / "chat" / "fine", protocol="chat", defect="none", title="nothing to do")
    a_recording(tmp_path / "seeds" / "dict", protocol="zai", defect="args.x", title="a dict")
    a_recording(tmp_path / "zai" / "again", protocol="zai", defect="args.x", title="a dict again")
    text = write_index(tmp_path).read_text()
    assert text == (tmp_path / "README.md").read_text()
    table = text[text.index("| defect") : text.index("\n\n## What")]
    assert table.splitlines() == [
        "| defect | chat | zai |",
        "| --- | --- | --- |",
        "| [args.x](#argsx) |  | [again](zai/again)<br>[dict](seeds/dict) |",
        "| [none](#none) | [fine](chat/fine) |  |",
    ]


def test_a_title_is_shown_as_text(tmp_path: Path) -> None:
    a_recording(tmp_path / "chat" / "markup", protocol="chat", defect="none", title="<think> *and*\n`[x](y)`")
    assert "](chat/markup): \\<think\\> \\*and\\* \\`\\[x\\](y)\\`\n" in page(tmp_path)
