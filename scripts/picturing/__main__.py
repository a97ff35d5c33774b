"""`scripts/pictures [demo] [report]`: makes docs/demo.svg and docs/report.png again."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.system.browser import Browser
from toolcalls.recording.report import write_report

from .terminal import drawn, output_of

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def demo() -> None:
    text = output_of([sys.executable, "-m", "toolcalls.cli", "demo"])
    (DOCS / "demo.svg").write_text(drawn("toolfix demo", text), encoding="utf-8")


def report() -> None:
    if not Browser.is_installed():
        sys.exit("scripts/pictures: Chromium is missing: scripts/test-system --install")
    with tempfile.TemporaryDirectory(prefix="toolfix-pictures-") as folder, Browser() as browser:
        page = Path(folder) / "report.html"
        write_report(Path("recordings"), page)
        browser.look(1280, 860)
        browser.open(page, "#chat-python-dict")
        browser.run("scrollTo(0, 0)")
        browser.run(
            "const item = document.getElementById('list'); item.prepend(document.querySelector('.detail').parentNode)"
        )
        browser.screenshot(DOCS / "report.png")


PICTURES = {"demo": demo, "report": report}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        if name not in PICTURES:
            sys.exit(f"scripts/pictures: there is no picture {name!r}: name one of {', '.join(PICTURES)}.")
        PICTURES[name]()
