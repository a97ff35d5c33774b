"""Parameter names that mean the same in the tools of coding agents. Data only, kept small.

A row lists names that models confuse because different agents use them. Names that differ in unit, kind or scope
(`timeout` and `timeout_ms`, `pattern` and `regex`) are not in one row. The case style does not matter: names are
compared after folding.
"""

from __future__ import annotations

from typing import Final

ROWS: Final[tuple[tuple[str, ...], ...]] = (
    ("path", "file", "filename", "file_name", "file_path", "target_file", "absolute_path"),
    ("path", "dir", "directory", "folder", "dir_path", "directory_path", "folder_path"),
    ("cmd", "command", "shell_command", "bash_command", "command_line"),
    ("old_str", "old_text", "old_string", "old_content", "old"),
    ("new_str", "new_text", "new_string", "new_content", "new"),
    ("content", "contents", "file_content", "file_contents", "file_text"),
    ("query", "q", "search_query", "search_term"),
    ("url", "uri"),
    ("cwd", "workdir", "working_dir", "working_directory"),
    ("start_line", "line_start"),
    ("end_line", "line_end"),
    ("todos", "todo_list"),
)

WRAPPERS: Final[frozenset[str]] = frozenset(
    {"arguments", "input", "parameters", "args", "raw_arguments", "params", "result"}
)
"""Keys under which models nest the whole arguments object."""
