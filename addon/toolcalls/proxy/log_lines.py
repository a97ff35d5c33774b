"""The last safeguard of our log: line breaks and escape sequences are made visible, and long lines are cut."""

from __future__ import annotations

import logging

from mitmproxy import log

from ..shown import LINE, shown, shown_lines

_MOST_OF_A_TRACEBACK = 16 * 1024
_formatter = logging.Formatter()


class VisibleLines(logging.Filter):
    """Escapes and cuts the message and the traceback of each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = shown(record.getMessage(), LINE), ()
        if record.exc_info:
            record.exc_text = shown_lines(_formatter.formatException(record.exc_info), _MOST_OF_A_TRACEBACK)
        return True


_visible = VisibleLines()


_OF_SCRIPTS = getattr(log, "LegacyLogEvents", ())
"""mitmproxy's old log hook for scripts, which gets every line; a later version may not have it."""


def is_read(level: int) -> bool:
    """Whether any handler shows or keeps lines of this level."""
    handlers = (handler for handler in logging.root.handlers if not isinstance(handler, _OF_SCRIPTS))
    return logging.root.level <= level and any(handler.level <= level for handler in handlers)


def guard() -> None:
    """Add the filter to our loggers: to each, because child loggers do not inherit it. Repeating this is harmless."""
    for name in ("toolfix", "toolfix.engine"):
        logging.getLogger(name).addFilter(_visible)
