"""Which hosts are LLM hosts: the list that ships, and patterns for mitmproxy's `allow_hosts`.

Only their TLS is opened; everything else is tunnelled. Data and pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import IPv6Address, ip_address

LOOPBACK = ("localhost", "*.localhost", "127.*", "::1")

LLM_HOSTS = (
    "api.openai.com",
    "*.openai.azure.com",
    "*.services.ai.azure.com",
    "chatgpt.com",
    "api.anthropic.com",
    "api.z.ai",
    "chat.z.ai",
    "open.bigmodel.cn",
    "api.deepseek.com",
    "api.moonshot.ai",
    "api.moonshot.cn",
    "api.kimi.com",
    "dashscope.aliyuncs.com",
    "dashscope-intl.aliyuncs.com",
    "dashscope-us.aliyuncs.com",
    "coding.dashscope.aliyuncs.com",
    "coding-intl.dashscope.aliyuncs.com",
    "portal.qwen.ai",
    "api.minimax.io",
    "api.minimaxi.com",
    "api.minimax.chat",
    "openrouter.ai",
    "api.siliconflow.cn",
    "api.siliconflow.com",
    "api.groq.com",
    "api.together.xyz",
    "api.together.ai",
    "api.fireworks.ai",
    "api.mistral.ai",
    "codestral.mistral.ai",
    "api.x.ai",
    "integrate.api.nvidia.com",
    "generativelanguage.googleapis.com",
    "api.githubcopilot.com",
    "api.*.githubcopilot.com",
    "api.cerebras.ai",
    "api.deepinfra.com",
    "api.novita.ai",
    "api.stepfun.com",
    "api.stepfun.ai",
    "ark.cn-beijing.volces.com",
    "api.hunyuan.cloud.tencent.com",
    "api-inference.modelscope.cn",
    "router.huggingface.co",
    "ai-gateway.vercel.sh",
    "opencode.ai",
    "ollama.com",
)

DEFAULT_HOSTS = (*LLM_HOSTS, *LOOPBACK)

_MARK = "(?#toolfix)"
NOTHING = _MARK + r"(?!)"
"""A pattern that no host matches: with it everything is tunnelled."""


def chosen_hosts(wanted: Iterable[str]) -> tuple[str, ...]:
    """The hosts that the option means: a list of its own, or the default with `+host` added."""
    wanted = tuple(wanted)
    added = tuple(host[1:] for host in wanted if host.startswith("+"))
    own = tuple(host for host in wanted if not host.startswith("+"))
    return (*(own or DEFAULT_HOSTS), *added)


def pattern(host: str) -> str:
    """A regular expression for `host:port`, as mitmproxy compares it.

    `*` stands for any characters of a name; in an address, such as 127.*, for digits and dots alone.
    """
    name = host.strip("[]")
    body = re.escape(name).replace(r"\*", r"[\d.]*" if re.fullmatch(r"\d[\d.*]*", name) else "[^:]*")
    return _MARK + (rf"^\[?{body}\]?:\d+$" if ":" in name else rf"^{body}:\d+$")


def is_ours(expression: str) -> bool:
    """Did we write this pattern, in this or an earlier load of the script?"""
    return expression.startswith(_MARK)


def patterns(hosts: Iterable[str]) -> list[str]:
    return [pattern(host) for host in hosts]


def matches(host: str, port: int, allowed: Iterable[str]) -> bool:
    return any(re.search(expression, f"{host}:{port}", re.IGNORECASE) for expression in allowed)


def is_loopback(host: str) -> bool:
    """Is it this very machine, as an address or as `localhost`?"""
    if host == "localhost":
        return True
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
