"""The call that a MALFORMED_FUNCTION_CALL quotes: `Malformed function call: print(default_api.ls(dir='.'))`.

The server could not parse what the model wrote and sends its text instead of a call. The text becomes a call again if
it is one complete call of a declared tool whose arguments are named literals that fit the schema, and if the text
before it does not quote, refuse or doubt the call (the reader checks that). Everything else stays unchanged, and
clients ask again.
"""

from __future__ import annotations

import re
from typing import Final

from ...mend.names import mend_name
from ...mend.reading.strict import write
from ...policy import Policy
from ...request.request import Request
from ...textcalls.cursor import NotACall
from ...textcalls.python import read_calls
from ...tools.schema.check import Check, Exhausted
from ...work import TooMuchWork, Work

REASON: Final = "MALFORMED_FUNCTION_CALL"
STEP: Final = "read from the message of a malformed call"

_MESSAGE: Final = re.compile(r"\s*Malformed function call:\s*((?:print\(\s*)?default_api\.\w[\s\S]*)\Z")


def quoted_call(message: object, request: Request, policy: Policy) -> tuple[str, str] | None:
    """The name and the arguments of the call in a finish message; None if it quotes no call that may run."""
    if not isinstance(message, str) or not request.calls_wanted or not policy.text_calls:
        return None
    quoted = _MESSAGE.match(message)
    try:
        calls = read_calls(quoted[1], Work()) if quoted is not None else []
    except (NotACall, RecursionError, TooMuchWork):
        return None
    if len(calls) != 1:
        return None
    written, unnamed, arguments = calls[0]
    tool = mend_name(written, request.tools).tool
    if unnamed or tool is None or tool.kind != "function" or not policy.touches(tool.name):
        return None
    if request.allowed is not None and tool.name not in request.allowed:
        return None
    if quoted is None or request.read_by_model.contains_call(written, quoted[1]):
        return None
    view = tool.view
    if tool.prepared is None or view is None or not set(arguments) <= set(view.properties):
        return None
    try:
        fits = Check().violations(tool.prepared, arguments) == 0
    except Exhausted:
        return None
    return (tool.name, write(arguments)) if fits else None
