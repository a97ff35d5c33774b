"""The index of a directory of recordings: a table of defects by protocol, and a line for each recording.

It is the directory's README.md, in Markdown. The titles of recordings are escaped, so that they stay plain text.
"""

from __future__ import annotations

import re
from pathlib import Path

from toolcalls.recording import store
from toolcalls.recording.store import Recording

NO_DEFECT = "none"
"""The defect of a recording in which nothing is broken; it is listed last."""

HEAD = """# Recordings

The acceptance set: what an upstream sent (`before`), what the client must get (`after`) and the calls in it.
They are grouped by protocol; those in [seeds/](seeds) reproduce the documents that the project started from.
`toolfix replay recordings --check` runs them all, `toolfix demo NAME` plays one.

This page is written by `scripts/docs`; do not edit it by hand.
"""

_MARKUP = re.compile(r"[\\`*<>\[\]&~|]")


def write_index(directory: Path) -> Path:
    """Write the index of a directory into it and return the file."""
    target = directory / "README.md"
    target.write_text(page(directory), encoding="utf-8")
    return target


def page(directory: Path) -> str:
    """The index of the recordings below a directory, in Markdown."""
    recordings = [store.load(path) for path in store.find(directory)]
    recordings.sort(key=lambda recording: (recording.protocol, recording.name))
    protocols = sorted({recording.protocol for recording in recordings})
    by_defect: dict[str, list[Recording]] = {}
    for recording in recordings:
        by_defect.setdefault(str(recording.flow.get("defect", NO_DEFECT)), []).append(recording)
    defects = sorted(by_defect, key=lambda defect: (defect == NO_DEFECT, defect))

    rows = [_row("defect", *protocols), _row(*["---"] * (len(protocols) + 1))]
    sections = []
    for defect in defects:
        found = by_defect[defect]
        cells = ([_link(one, directory) for one in found if one.protocol == protocol] for protocol in protocols)
        rows.append(_row(f"[{defect}](#{_anchor(defect)})", *map("<br>".join, cells)))
        sections.append(
            f"\n### {defect}\n\n" + "".join(f"- {_link(one, directory)}: {_title(one)}\n" for one in found)
        )
    table = "".join(rows)
    return f"{HEAD}\n## Defects by protocol\n\n{table}\n## What each recording shows\n{''.join(sections)}"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _link(recording: Recording, directory: Path) -> str:
    return f"[{recording.name}]({recording.directory.relative_to(directory).as_posix()})"


def _title(recording: Recording) -> str:
    """The title of a recording on one line, its markup escaped."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(str(recording.flow.get("title", "")).split()))


def _anchor(heading: str) -> str:
    """The fragment that GitHub makes of a heading of one word."""
    return re.sub(r"[^\w-]", "", heading.lower())
