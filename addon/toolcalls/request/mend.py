"""The next request: a history that broke is mended before the upstream sees it.

Sans-IO, as the rest of the engine: the body in, the body that goes up out, or None when it goes on byte for
byte. What is changed depends on the history and on what was refused (`Refusals`) alone, so that it is changed
in the same way on every turn and prompt caches hold. Ids of ours are given back always; the rest follows
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
from ..request.edits import Path
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

# Ollama's own wire has no ids to pair by, and rejects no pair.
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
"""From a request, and what may be done for it, to what its messages get back, by their numbers."""


def _nothing(request: dict[str, Any], work: HistoryWork) -> dict[int, GivenBack]:
    return {}


known_arguments = KnownGoodArguments()
"""Shared by all requests: a history comes again with every turn."""


@dataclass(slots=True, frozen=True)
class Changed:
    """A request that goes up changed."""

    body: bytes
    steps: dict[str, int]
    """What was changed, and how often."""
    reasons: dict[str, str] = field(default_factory=dict)
    """The refusals that the request concerns, by the ids that the client knows."""
    given_back: dict[int, GivenBack] = field(default_factory=dict)
    """What the host gets back of what it said, by the number of the message."""


def mend_request(
    protocol: str,
    body: bytes,
    request: dict[str, Any] | None,
    policy: Policy,
    refusals: Refusals,
    recall: Recall = _nothing,
) -> Changed | None:
    """The body that goes up instead of this one; None when nothing is to be changed.

    `request` is the decoded body; `recall` tells what its messages get back of what the host said.
    """
    return _mend(protocol, body, request, policy, refusals, (), recall)


def mend_frame(
    text: str,
    policy: Policy,
    refusals: Refusals,
    tell: Callable[[dict[str, int]], None] = lambda _: None,
    message: dict[str, Any] | None = None,
) -> str | None:
    """The frame of a Responses WebSocket that goes up instead of this one; None where nothing is to be changed.

    Only `response.create` carries a request. `tell` hears what was changed. `message` is what the frame says, where
    somebody has read it already.
    """
    message = decode(text) if message is None else message
    if message is None or message.get("type") != _CREATE:
        return None
    inner = message.get("response")
    request, at = (inner, ("response",)) if isinstance(inner, dict) else (message, ())
    body = text.encode("utf-8", "surrogatepass")
    changed = _mend("responses", body, request, policy, refusals, at)
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
    revision = RequestEdit(policy, refusals, known_arguments, Tools.read(request))
    if given:
        revision.steps |= put_back(given, request, revision.edits, at)
        body, request = revision.settle(body, request, at)
    if policy.request and policy.hints:
        add_hints(request, revision, at)
    if work.allows_changes(MENDING):
        mend(request, revision, at)
    mended = bool(revision.edits)
    body, request = revision.settle(body, request, at)
    if policy.request and not (mended and is_sound(request)):
        if protocol in _PAIRS and work.allows_changes(PAIRING):
            _PAIRS[protocol](request, revision, at, body)
            body, request = revision.settle(body, request, at)
        if policy.loops and work.allows_changes(LOOPS):
            mend_loops(protocol, request, revision, at)
    if work.exceeded:
        revision.count(HISTORY_LEFT)
    if policy.request and policy.schemas == "widen":
        body, request = revision.settle(body, request, at)
        widen_tools(request, revision, at)
    if not revision.steps:
        return None
    after = revision.edits.applied_to(body) if revision.edits else body
    return Changed(after, revision.steps, revision.reasons, given)
