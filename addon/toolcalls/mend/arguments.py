"""Placeholder of the arguments engine."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal


class Finish(Enum):
    COMPLETE = "complete"
    CUT = "cut"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, reason: str | None) -> Finish:
        if reason in {"stop", "tool_calls", "tool_use", "end_turn", "function_call", "completed"}:
            return cls.COMPLETE
        if reason in {"length", "max_tokens", "content_filter", "error"}:
            return cls.CUT
        return cls.UNKNOWN


@dataclass(slots=True, frozen=True)
class Mended:
    status: Literal["valid", "repaired", "refused"]
    text: str | None
    value: dict[str, Any] | None
    steps: tuple[str, ...] = ()
    reason: str = ""


def mend_arguments(text: str, finish: Finish = Finish.UNKNOWN, *, complete_truncated: bool = False) -> Mended:
    try:
        value = json.loads(text)
        if isinstance(value, dict):
            return Mended("valid", text, value)
    except ValueError:
        pass
    if not text.strip():
        return Mended("repaired", "{}", {}, ("no arguments",))
    try:
        value = ast.literal_eval(text)
        if isinstance(value, dict):
            return Mended(
                "repaired",
                json.dumps(value, ensure_ascii=False, separators=(",", ":")),
                value,
                ("single quotes",),
            )
    except Exception:
        pass
    return Mended("refused", None, None, (), "not JSON")
