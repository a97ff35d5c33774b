"""Credentials never reach the disk: what looks like one is masked by as many stars.

Works on text. A secret that a server cuts across deltas cannot be found; the README says so.
"""

from __future__ import annotations

import re

_SECRETS = re.compile(
    r"""
    \b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}                # OpenAI, Anthropic, OpenRouter, Stripe and their kin
    | \b(?:gh[pousr]_|github_pat_|glpat-)[A-Za-z0-9_]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_-]{30,}
    | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
    | \b(?:gsk|hf|nvapi|xai|fw|tgp|r8|npm|pypi)[_-][A-Za-z0-9_-]{20,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}   # JSON web tokens
    | \b[0-9a-f]{32}\.[A-Za-z0-9]{16}\b                               # Z.AI and BigModel keys
    | (?<=-----BEGIN)[^-]{0,40}PRIVATE\ KEY-----[A-Za-z0-9+/=\s\\]{16,}
    """,
    re.VERBOSE,
)

_NAMED = re.compile(
    r"""
    (?P<name>\\?["']?\b[A-Za-z0-9_-]{0,32}(?:api[_-]?key|apikey|access[_-]?token|refresh[_-]?token|auth[_-]?token
        |secret|password|passwd|authorization|cookie|session[_-]?id|credential)s?\\?["']?\s{0,4}[:=]\s{0,4}\\?["']?
        (?:bearer\s|basic\s|token\s)?)
    (?P<value>[^\s"'\\,;&}{)(<>\[\]\x80-\U0010ffff]{6,})
    | (?P<scheme>\b(?:bearer|basic)\s)(?P<credential>[A-Za-z0-9._~+/=-]{16,})
    """,
    re.VERBOSE | re.IGNORECASE,
)


def redact(text: str) -> str:
    """The text with what looks like a credential masked, each by stars of the same length in bytes."""
    text = _SECRETS.sub(lambda match: "*" * len(match[0]), text)
    return _NAMED.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    if match["value"] is not None:
        return str(match["name"]) + "*" * len(match["value"])
    return str(match["scheme"]) + "*" * len(match["credential"])


def redact_bytes(data: bytes) -> bytes:
    """The same on bytes; what is no UTF-8 stays as it is."""
    return redact(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
