"""The next request: a history that broke is mended before the upstream sees it.

Sans-IO, as the rest of the engine: the body in, the body that goes up out, or None when it goes on byte for
byte. What is changed depends on the history and on what was refused (`Refusals`) alone, so that it is changed
in the same way on every turn and prompt caches hold. Ids of ours are given back always; the rest follows
`toolfix_request`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..policy import Policy
from ..request import chat, gemini, messages, ollama, responses
from ..request.arguments import KnownGoodArguments
from ..request.edits import Path
from ..request.hints import add_hints
from ..request.refusals import Refusals
from ..tools.declared import Tools
from .needs_no_change import needs_no_change
from .request_edit import RequestEdit

_PROTOCOLS: dict[str, Callable[[dict[str, Any], RequestEdit, Path], None]] = {
    "chat": chat.mend,
    "messages": messages.mend,
    "responses": responses.mend,
    "zai": chat.mend,
    "ollama": ollama.mend,
    "gemini": gemini.mend,
}
_CREATE = "response.create"

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

    def __str__(self) -> str:
        return ", ".join(f"{number} × {step}" for step, number in self.steps.items())


def mend_request(
    protocol: str, body: bytes, request: dict[str, Any] | None, policy: Policy, refusals: Refusals
) -> Changed | None:
    """The body that goes up instead of this one; None when nothing is to be changed.

    `request` is the decoded body.
    """
    return _mend(protocol, body, request, policy, refusals, ())


def mend_frame(text: str, policy: Policy, refusals: Refusals) -> str | None:
    """The frame of a Responses WebSocket that goes up instead of this one; None where nothing is to be changed.

    Only `response.create` carries a request.
    """
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("type") != _CREATE:
        return None
    inner = message.get("response")
    request, at = (inner, ("response",)) if isinstance(inner, dict) else (message, ())
    body = text.encode("utf-8", "surrogatepass")
    changed = _mend("responses", body, request, policy, refusals, at)
    return changed.body.decode("utf-8", "surrogatepass") if changed else None


def _mend(
    protocol: str, body: bytes, request: dict[str, Any] | None, policy: Policy, refusals: Refusals, at: Path
) -> Changed | None:
    mend = _PROTOCOLS.get(protocol)
    if mend is None or request is None:
        return None
    wishes = policy.request and (policy.hints or policy.retry_guidance is True)
    guides = policy.request and policy.retry_guidance == "auto"
    if not wishes and needs_no_change(protocol, request, known_arguments, refusals, guides=guides):
        return None
    revision = RequestEdit(policy, refusals, known_arguments, Tools.read(request))
    if policy.request and policy.hints:
        add_hints(request, revision, at)
    mend(request, revision, at)
    if not revision.edits:
        return None
    return Changed(revision.edits.applied_to(body), revision.steps, revision.reasons)
