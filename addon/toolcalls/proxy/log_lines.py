"""The last net under our log: whatever got into a line of it, no line end, escape or megabyte comes out."""

from __future__ import annotations

import logging

from mitmproxy import log

from ..shown import LINE, shown, shown_lines

_MOST_OF_A_TRACEBACK = 16 * 1024
_formatter = logging.Formatter()


class VisibleLines(logging.Filter):
    """Escapes and cuts the message of each record, and the traceback with it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = shown(record.getMessage(), LINE), ()
        if record.exc_info:
            record.exc_text = shown_lines(_formatter.formatException(record.exc_info), _MOST_OF_A_TRACEBACK)
        return True


_visible = VisibleLines()


_OF_SCRIPTS = getattr(log, "LegacyLogEvents", ())
"""mitmproxy's old hook for scripts, which gets all lines; a later version may have none."""


def is_read(level: int) -> bool:
    """Does anybody show or keep lines of this level?"""
    handlers = (handler for handler in logging.root.handlers if not isinstance(handler, _OF_SCRIPTS))
    return logging.root.level <= level and any(handler.level <= level for handler in handlers)


def guard() -> None:
    """Let nothing else through our loggers, however often it is asked: a filter does not hold for a logger below."""
    for name in ("toolfix", "toolfix.engine"):
        logging.getLogger(name).addFilter(_visible)
