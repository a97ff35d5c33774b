"""Mends a broken history in a request before the upstream sees it.

No input or output, like the rest of the engine: the body goes in, and the body to send comes out, or None if it is
sent byte for byte. The changes depend only on the history and on the refused calls (`Refusals`), so they are the same
on every turn and prompt caches hold. Our ids are always turned back into the upstream's; the rest depends on
`toolfix_request`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..policy import Policy
from ..request import (
    chat,
    chat_pairs,
    gemini,
    gemini_pairs,
    messages,
    messages_pairs,
    ollama,
    responses,
    responses_pairs,
)
from ..request.arguments import KnownGoodArguments
from ..request.edits import Path, Uneditable
from ..request.hints import add_hints
from ..request.refusals import Refusals
from ..tools.declared import Tools
from .given_back import GivenBack, put_back
from .history_work import LOOKING, LOOPS, MENDING, PAIRING, HistoryWork
from .loops import mend_loops
from .needs_no_change import needs_no_change
from .request import decode
from .request_edit import HISTORY_LEFT, RequestEdit
from .widen import widen_tools

# Ollama's own protocol has no ids to pair by, and does not reject calls or results without their counterpart.
_PAIRS: dict[str, Callable[[dict[str, Any], RequestEdit, Path, bytes], None]] = {
    "chat": chat_pairs.mend_pairs,
    "messages": messages_pairs.mend_pairs,
    "responses": responses_pairs.mend_pairs,
    "zai": chat_pairs.mend_pairs,
    "gemini": gemini_pairs.mend_pairs,
}
_PROTOCOLS: dict[str, Callable[[dict[str, Any], RequestEdit, Path], None]] = {
    "chat": chat.mend,
    "messages": messages.mend,
    "responses": responses.mend,
    "zai": chat.mend,
    "ollama": ollama.mend,
    "gemini": gemini.mend,
}
_CREATE = "response.create"

Recall = Callable[[dict[str, Any], HistoryWork], dict[int, GivenBack]]
"""A request and its work budget → what its messages get back, by their numbers."""


def _nothing(request: dict[str, Any], work: HistoryWork) -> dict[int, GivenBack]:
    return {}


known_arguments = KnownGoodArguments()
"""Shared by all requests, because every turn sends the history again."""


@dataclass(slots=True, frozen=True)
class Changed:
    """A request that is sent upstream with changes."""

    body: bytes
    steps: dict[str, int]
    """What was changed, and how often."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why calls of this history were refused, by the ids that the client knows."""
    given_back: dict[int, GivenBack] = field(default_factory=dict)
    """What the host gets back of its earlier answers, by the number of the message."""


def mend_request(
    protocol: str,
    body: bytes,
    request: dict[str, Any] | None,
    policy: Policy,
    refusals: Refusals,
    recall: Recall = _nothing,
) -> Changed | None:
    """The body to send instead of this one; None if nothing is changed.

    `request`: the decoded body. `recall`: finds what its messages get back of the host's earlier answers.
    """
    try:
        return _mend(protocol, body, request, policy, refusals, (), recall)
    except Uneditable:
        return None


def mend_frame(
    text: str,
    policy: Policy,
    refusals: Refusals,
    tell: Callable[[dict[str, int]], None] = lambda _: None,
    message: dict[str, Any] | None = None,
) -> str | None:
    """The frame to send instead of this one on a Responses WebSocket; None if nothing is changed.

    Only `response.create` carries a request. `tell` is called with what was changed. `message`: the decoded frame,
    if it was decoded already.
    """
    message = decode(text) if message is None else message
    if message is None or message.get("type") != _CREATE:
        return None
    inner = message.get("response")
    request, at = (inner, ("response",)) if isinstance(inner, dict) else (message, ())
    body = text.encode("utf-8", "surrogatepass")
    try:
        changed = _mend("responses", body, request, policy, refusals, at)
    except Uneditable:
        return None
    if changed is None:
        return None
    tell(changed.steps)
    return changed.body.decode("utf-8", "surrogatepass")


def _mend(
    protocol: str,
    body: bytes,
    request: dict[str, Any] | None,
    policy: Policy,
    refusals: Refusals,
    at: Path,
    recall: Recall = _nothing,
) -> Changed | None:
    """Mend the request at a path of a body: history, pairs, loops, declared tools, as far as the policy says."""
    mend = _PROTOCOLS.get(protocol)
    if mend is None or request is None:
        return None
    wishes = policy.request and (policy.hints or policy.retry_guidance is True or policy.schemas == "widen")
    guides = policy.request and policy.retry_guidance == "auto"
    work = HistoryWork(request, body)
    given = recall(request, work) if policy.request and policy.reasoning == "auto" else {}

    def is_sound(request: dict[str, Any]) -> bool:
        return needs_no_change(protocol, request, known_arguments, refusals, guides=guides, loops=policy.loops)

    changes = wishes or given
    if not changes and work.allows(LOOKING) and is_sound(request):
        return None
    if work.exceeded and not changes:
        return Changed(body, {HISTORY_LEFT: 1})
    edit = RequestEdit(policy, refusals, known_arguments, Tools.read(request))
    if given:
        edit.steps |= put_back(given, request, edit.edits, at)
        body, request = edit.apply_edits(body, request, at)
    if policy.request and policy.hints:
        add_hints(request, edit, at)
    if work.allows_changes(MENDING):
        mend(request, edit, at)
    mended = bool(edit.edits)
    body, request = edit.apply_edits(body, request, at)
    if policy.request and not (mended and is_sound(request)):
        if protocol in _PAIRS and work.allows_changes(PAIRING):
            _PAIRS[protocol](request, edit, at, body)
            body, request = edit.apply_edits(body, request, at)
        if policy.loops and work.allows_changes(LOOPS):
            mend_loops(protocol, request, edit, at)
    if work.exceeded:
        edit.count(HISTORY_LEFT)
    if policy.request and policy.schemas == "widen":
        body, request = edit.apply_edits(body, request, at)
        widen_tools(request, edit, at)
    if not edit.steps:
        return None
    after = edit.edits.applied_to(body) if edit.edits else body
    return Changed(after, edit.steps, edit.reasons, given)
