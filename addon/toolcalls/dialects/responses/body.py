"""A Responses answer that came as one JSON document: what its stream would have given."""

from __future__ import annotations

from ...mend.call import Mender
from ...policy import Policy
from ...request.request import Request
from ...turn import payload
from ...turn.item_answer import ItemAnswer
from ...turn.items import Items
from .call_items import CallItems
from .events import EventWriter
from .finalizer import Finalizer
from .item_search import ItemSearch
from .output import CALL, fresh_ids
from .text_items import TextItems

_TERMINAL = {"completed": "response.completed", "incomplete": "response.incomplete", "failed": "response.failed"}
_UNFINISHED = frozenset({"in_progress", "queued"})


def mend_body(body: bytes, request: Request, policy: Policy, mender: Mender) -> bytes:
    """Mend the output; the same bytes when nothing changes.

    The document is read as the terminal event of a stream in which nothing else was said.
    """
    response = payload.read_strict(body)
    if not isinstance(response, dict) or not isinstance(response.get("output"), list):
        return body
    status = str(response.get("status") or "")
    if status in _UNFINISHED:
        return body
    kind = "response.failed" if response.get("error") else _TERMINAL.get(status, "response.done")
    writer = EventWriter()
    items = Items(fresh_ids(mender.ids.unique))
    answer = ItemAnswer(request, policy, mender, items, CALL, streamed=False)
    search = ItemSearch(request, policy, answer.turn, writer)
    calls = CallItems(answer, writer, search)
    speech = TextItems(items, writer, policy.max_held_bytes, search)
    ending = Finalizer(answer, calls, speech, writer, search, request.model)
    output = ending.mended_output(kind, response)
    if output == response["output"]:
        return body
    return payload.write({**response, "output": output}).encode("utf-8", "backslashreplace")
