"""Generated sections of pages: what stands between two marks is written anew, the rest is written by people."""

from __future__ import annotations

from pathlib import Path

EVIDENCE = "docs/evidence.md"


def write_section(page: Path, name: str, text: str) -> None:
    """Put a text between `<!-- name -->` and `<!-- /name -->`; a page that has no such marks gets them at its end."""
    begin, end = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    old = page.read_text(encoding="utf-8") if page.exists() else ""
    before, _, rest = old.partition(begin)
    after = rest.partition(end)[2] or "\n"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")
