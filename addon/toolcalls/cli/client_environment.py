"""The environment that works for every agent, as measured: proxy variables, CA files, no loopback in NO_PROXY.

Pure functions on mappings. Other modules run the command (`run`) or print `export` lines (`env`).
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from ..proxy.hosts import LLM_HOSTS
from .trust import BUNDLE_VARIABLES, NODE_VARIABLE, Trust

PROXY_VARIABLES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
ALL_PROXY = ("ALL_PROXY", "all_proxy")
NO_PROXY = ("NO_PROXY", "no_proxy")
BASE_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE", "ANTHROPIC_BASE_URL", "TOOLFIX_URL")
BEFORE = "TOOLFIX_ENV_BEFORE"
"""The variable with the values before `toolfix env`, as JSON, so that they can be restored, and so that ours are not
mistaken for the user's."""

VARIABLES = (*PROXY_VARIABLES, *ALL_PROXY, *NO_PROXY, NODE_VARIABLE, *BUNDLE_VARIABLES, "NODE_USE_ENV_PROXY")

Changes = dict[str, str | None]
"""The new value of each variable; None if it is to be unset."""


@dataclass(slots=True, frozen=True)
class UpstreamProxy:
    """The proxy that the user's environment already named."""

    url: str
    """Without credentials."""
    credentials: str = ""


class BadProxy(ValueError):
    """The proxy that the environment names cannot be used; the message says why."""


def original(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment as it was before `eval "$(toolfix env)"`."""
    before = _saved(environ)
    known = {name: value for name, value in environ.items() if name != BEFORE}
    for name, value in before.items():
        known.pop(name, None)
        if value is not None:
            known[name] = value
    return known


def _saved(environ: Mapping[str, str]) -> Changes:
    try:
        saved = json.loads(environ.get(BEFORE, "{}"))
    except ValueError:
        return {}
    return saved if isinstance(saved, dict) else {}


def for_proxy(environ: Mapping[str, str], proxy_url: str, trust: Trust) -> Changes:
    """Everything that a client needs to find the proxy and to trust it."""
    changes: Changes = dict.fromkeys(PROXY_VARIABLES, proxy_url)
    changes.update(dict.fromkeys(ALL_PROXY))
    changes.update({name: without_loopback(environ.get(name, "")) or None for name in NO_PROXY})
    changes[NODE_VARIABLE] = str(trust.node)
    changes.update(dict.fromkeys(BUNDLE_VARIABLES, str(trust.bundle)))
    changes["NODE_USE_ENV_PROXY"] = "1"
    return changes


def for_reverse(environ: Mapping[str, str], proxy_url: str, path: str) -> Changes:
    """Base URLs that lead to the proxy, as the SDKs spell them: OpenAI's ends in /v1, Anthropic's does not."""
    openai = proxy_url + (path or "/v1")
    anthropic = proxy_url + path.removesuffix("/v1")
    changes: Changes = dict(zip(BASE_URLS, (openai, openai, anthropic, proxy_url), strict=True))
    for name in NO_PROXY:
        changes[name] = ",".join(filter(None, (environ.get(name, ""), "127.0.0.1")))
    return changes


def applied(environ: Mapping[str, str], changes: Changes) -> dict[str, str]:
    merged = {**environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def entries_of(no_proxy: str) -> list[str]:
    """The entries of a value of NO_PROXY."""
    return [entry.strip() for entry in no_proxy.split(",") if entry.strip()]


def without_loopback(no_proxy: str) -> str:
    """The list without the entries that make clients bypass the proxy for a server on this machine."""
    return ",".join(entry for entry in entries_of(no_proxy) if not is_loopback(entry))


def covers_a_model(entry: str, hosts: Iterable[str] = ()) -> bool:
    """Whether this entry of NO_PROXY makes clients bypass the proxy for one of these hosts or a known LLM host."""
    name = entry.lower().lstrip("*.").partition(":")[0]
    known = (host.lower().lstrip("+*.") for host in (*LLM_HOSTS, *hosts))
    return bool(name) and any(host == name or host.endswith(f".{name}") for host in known)


def base_url_hosts(environ: Mapping[str, str]) -> list[str]:
    """The hosts in the SDKs' variables for base URLs."""
    parts = (split_url(environ.get(name, "")) for name in BASE_URLS)
    return [part.hostname for part in parts if part.hostname]


def split_url(text: str) -> SplitResult:
    """The parts of a URL; all are empty if the text is not a URL."""
    try:
        parts = urlsplit(text)
        _ = parts.port
    except ValueError:
        return urlsplit("")
    return parts


def is_loopback(entry: str) -> bool:
    """Whether this entry of NO_PROXY, or this host, is this machine. `*` includes this machine."""
    name = entry.lower().strip().lstrip("*.") if entry.strip() != "*" else "localhost"
    if name.startswith("["):
        name = name[1:].partition("]")[0]
    elif name.count(":") == 1:
        name = name.partition(":")[0]
    if name == "localhost" or name.endswith(".localhost") or name in {"localhost.localdomain", "127", "0.0.0.0"}:
        return True
    if name.startswith("127.") and name.endswith("*"):
        return True
    try:
        return ipaddress.ip_network(name, strict=False).is_loopback
    except ValueError:
        return False


def upstream_proxy(environ: Mapping[str, str]) -> UpstreamProxy | None:
    """The proxy that the environment names for HTTPS, if any. Raises `BadProxy` if it cannot be used."""
    name = next((name for name in ("HTTPS_PROXY", "https_proxy", *ALL_PROXY) if environ.get(name)), "")
    if not name:
        return None
    text = environ[name]
    parts = split_url(text if "://" in text else f"http://{text}")
    if not parts.hostname:
        raise BadProxy(f"{name} is not the URL of a proxy, such as http://proxy.example.com:3128.")
    if parts.scheme not in {"http", "https"}:
        shown = f"{parts.scheme}://{parts.hostname}"
        raise BadProxy(
            f"{name} names the proxy {shown}, which toolfix cannot use: only http:// and https:// proxies work."
        )
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    return UpstreamProxy(f"{parts.scheme}://{host}:{port}", credentials)
