"""The last net under our log: whatever got into a line of it, no line end, escape or megabyte comes out."""

from __future__ import annotations

import logging

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


def guard() -> None:
    """Let nothing else through our loggers, however often it is asked: a filter does not hold for a logger below."""
    for name in ("toolfix", "toolfix.engine"):
        logging.getLogger(name).addFilter(_visible)
