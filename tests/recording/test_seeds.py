"""recordings/seeds: every recording is in the index of the documents' items, and every entry of the index is one."""

from __future__ import annotations

import re
from pathlib import Path

from toolcalls.recording import store

SEEDS = Path(__file__).parents[2] / "recordings" / "seeds"
INDEX = (SEEDS / "README.md").read_text()
LINK = re.compile(r"\]\(([^)#]+)[^)]*\)")
DOCUMENTS = ("000", "001", "002", "003", "004")


def rows() -> dict[str, list[list[str]]]:
    """The items of each document: what it says, what shows it, the verdict."""
    found: dict[str, list[list[str]]] = {}
    for line in INDEX.splitlines():
        if line.startswith("## "):
            found[line[3:6]] = []
        elif line.startswith("| ") and not line.startswith(("| item ", "| ---")):
            found[next(reversed(found))].append(re.split(r"(?<!\\) \| ", line.removeprefix("| ").removesuffix(" |")))
    return found


def test_every_recording_is_in_the_index_and_every_link_leads_somewhere() -> None:
    links = set(LINK.findall(INDEX))
    assert {path.name for path in store.find(SEEDS)} == {link for link in links if "/" not in link}
    assert all((SEEDS / link).exists() for link in links)


def test_every_document_has_its_recordings() -> None:
    assert {path.name[:3] for path in store.find(SEEDS)} == set(DOCUMENTS) == set(rows())


def test_every_item_says_what_shows_it_and_whether_it_works_and_why_not() -> None:
    for document, items in rows().items():
        assert items
        for item, shown, verdict in items:
            assert LINK.search(shown), (document, item)
            assert verdict.startswith("works") or re.fullmatch(r"differs: .{3,}", verdict), (document, item)


def test_the_head_of_the_index_counts_its_items() -> None:
    verdicts = [verdict for items in rows().values() for *_, verdict in items]
    differ = sum(verdict.startswith("differs") for verdict in verdicts)
    assert f"{len(verdicts)} items: {len(verdicts) - differ} work, {differ} differ" in INDEX
