"""Real prose and code: every Markdown and source file of the installed packages, streamed as an answer."""

from __future__ import annotations

import sysconfig
from pathlib import Path

from tests.textcalls.declared import calls_of, scan, text_of

SUFFIXES = frozenset(
    (
        *(
            ".md",
            ".rst",
            ".txt",
            ".html",
            ".xml",
            ".svg",
            ".css",
            ".json",
            ".toml",
            ".yaml",
            ".yml",
            ".cfg",
            ".ini",
        ),
        *(".py", ".pyi", ".pyx", ".pxd", ".js", ".mjs", ".ts", ".jsx", ".tsx", ".sh", ".proto"),
        *(".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".go", ".java"),
    )
)
MOST = 16_000
"""Characters taken from one file: all of a small one, beginning and end of a big one."""


ENOUGH = 2000
"""So many files are read, evenly taken from all packages, and from the standard library where there are fewer."""


def files() -> list[Path]:
    found: list[Path] = []
    for root in dict.fromkeys(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib")):
        if len(found) < ENOUGH:
            found += [path for path in sorted(root.rglob("*")) if path.suffix.lower() in SUFFIXES and path.is_file()]
    return found[:: max(1, len(found) // ENOUGH)]


def test_no_file_of_the_installed_packages_has_a_call_in_it_or_is_changed() -> None:
    paths = files()
    assert len(paths) >= ENOUGH
    for number, path in enumerate(paths):
        text = path.read_text("utf-8", "replace")
        if len(text) > MOST:
            text = text[: MOST // 2] + text[-MOST // 2 :]
        out = scan(text, size=(0, 1000, 61)[number % 3])
        assert calls_of(out) == [], path
        assert text_of(out) == text, path
