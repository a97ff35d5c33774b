"""The history of a request to Ollama's `/api/chat`: as in Chat, but arguments are objects.

Ollama answers arguments in a string with status 400.
"""

from __future__ import annotations

from typing import Any

from .chat import mend_messages
from .edits import Path
from .request_edit import RequestEdit


def mend(request: dict[str, Any], edit: RequestEdit, at: Path = ()) -> None:
    mend_messages(request, edit, at, edit.mend_call_object)
