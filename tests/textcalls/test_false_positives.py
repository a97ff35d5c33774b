"""Real prose and code: every Markdown and source file of the installed packages, streamed as an answer."""

from __future__ import annotations

import sysconfig
from collections.abc import Iterator
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


def files() -> Iterator[Path]:
    for root in dict.fromkeys(Path(sysconfig.get_path(name)) for name in ("purelib", "platlib", "stdlib")):
        for path in sorted(root.rglob("*")):
            if path.suffix.lower() in SUFFIXES and path.is_file():
                yield path


def test_no_file_of_the_installed_packages_has_a_call_in_it_or_is_changed() -> None:
    count = 0
    standard_library = sysconfig.get_path("stdlib")
    for path in files():
        if path.is_relative_to(standard_library) and count >= 2000:
            break  # enough in the packages themselves
        text = path.read_text("utf-8", "replace")
        if len(text) > MOST:
            text = text[: MOST // 2] + text[-MOST // 2 :]
        out = scan(text, size=(0, 1000, 61)[count % 3])
        assert calls_of(out) == [], path
        assert text_of(out) == text, path
        count += 1
    assert count >= 2000
