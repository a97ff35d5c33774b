"""Recognises an error inside a response with HTTP 200, in whatever form the server sends it.

Most servers send `{"error": …}`. vLLM and SGLang sent `{"object": "error", …}`, FastAPI sends `{"detail": …}`,
DashScope, Bedrock and TGI a message and a code, Qianfan `error_code`, MiniMax `base_resp`; Google wraps the object in
a list, llama.cpp writes a line `error: …`, and gateways have their own wording. None of these may be turned into a
successful answer.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .. import payload

Json = dict[str, Any]

ERROR: Final = "error"
ERROR_EVENTS: Final = frozenset({ERROR, "failed", "failure", "exception"})
"""Event types that mean an error, whatever the data is."""

_MESSAGES: Final = (
    "message", "detail", "title", "msg", "error_msg", "error_message", "errorMessage", "Message", "status_msg",
    "description",
)  # fmt: skip
_CODES: Final = ("code", "error_code", "errorCode", "status_code", "http_status_code", "statusCode")
_TYPES: Final = ("type", "error_type", "errorType", "__type")
_SAYS_ERROR: Final = ("detail", "error_msg", "error_message", "errorMessage", "error_code", "errorCode", "errors")
"""Keys that appear only in errors."""
_ANSWERS: Final = (
    "choices", "usage", "delta", "content", "content_block", "response", "item", "part", "output", "data",
    "candidates", "index", "output_index", "item_id",
)  # fmt: skip
"""Keys of events that belong to an answer: the other fields of such an event do not make it an error."""
_BARE: Final = frozenset({"message", "Message", "request_id", "requestId", "RequestId", "id", "timestamp"})
_FAILED: Final = ("error", "failed", "failure")
_FINE: Final = frozenset({"", "0", "200", "ok", "success", "succeeded", "none", "null", "false"})
_WORDS: Final = re.compile(
    r"\b(?:error|exception|fail(?:ed|ure)?|invalid|exceeded|denied|unauthori[sz]ed|forbidden|unavailable|overloaded"
    r"|time[d ]?-?out|bad gateway|too (?:many|long|large))\b",
    re.IGNORECASE,
)
_MOST_WORDS: Final = 2000


def error_in(data: Any, kind: str = "") -> Json | None:
    """The error in the data of an event, as the object of `{"error": …}`; None if there is no error.

    `kind`: the type on the `event:` line.
    """
    if isinstance(data, list):
        return error_in({ERROR: data[0].get(ERROR)}) if data and isinstance(data[0], dict) else None
    if not isinstance(data, dict):
        return None
    error = data.get(ERROR) or data.get("Error")
    if error:
        return error if isinstance(error, dict) else _as_error({**data, "message": payload.text_of(error)})
    named = ERROR in (data.get("object"), data.get("type")) or kind in ERROR_EVENTS
    return _as_error(data) if named or _looks_like_one(data) else None


def error_in_text(text: str, kind: str = "") -> Json | None:
    """The error in data that is not JSON: an error event, or a text that can only be an error."""
    text = " ".join(text[:_MOST_WORDS].split())
    if kind in ERROR_EVENTS or (text[:1] not in ("", "{", ":") and _WORDS.search(text)):
        return _as_error({"message": text})
    return None


def _looks_like_one(data: Json) -> bool:
    """Whether an object without `error` is an error by its other fields."""
    refused = data.get("base_resp")
    if isinstance(refused, dict) and not data.get("choices") and _is_code(refused.get("status_code")):
        return True
    if any(key in data for key in _ANSWERS):
        return False
    if any(data.get(key) for key in _SAYS_ERROR) or data.get("success") is False:
        return True
    message = next((data[key] for key in _MESSAGES if isinstance(data.get(key), str) and data[key].strip()), None)
    if message is None:
        return False
    status = data.get("status")
    if status in _FAILED or (isinstance(status, int) and status >= 400):
        return True
    if any(_is_code(data.get(key)) for key in _CODES) or any(_is_type(data.get(key)) for key in _TYPES):
        return True
    # The wording alone counts only if there is nothing else in the event, as in AWS errors.
    return data.keys() <= _BARE and _WORDS.search(message[:_MOST_WORDS]) is not None


def _is_code(value: Any) -> bool:
    known = isinstance(value, int | str) and not isinstance(value, bool)
    return known and str(value).strip().lower() not in _FINE


def _is_type(value: Any) -> bool:
    return isinstance(value, str) and value.lower().endswith(("error", "exception"))


def _as_error(data: Json) -> Json:
    """The error in OpenAI's format, with everything that the server reported."""
    inner = data.get("base_resp")
    words = {**data, **inner} if isinstance(inner, dict) else data
    message = next((payload.text_of(words[key]) for key in _MESSAGES if words.get(key)), "")
    code = next((words[key] for key in _CODES if isinstance(words.get(key), int | str) and words[key]), None)
    kind = next((words[key] for key in _TYPES if _is_type(words.get(key)) and words[key] != ERROR), "api_error")
    rest = {key: value for key, value in data.items() if key not in (*_MESSAGES, ERROR, "type", "code")}
    message = message or f"The upstream reported an error: {payload.write(data)[:_MOST_WORDS]}"
    return {"message": message, "type": kind, "code": code, **rest}
