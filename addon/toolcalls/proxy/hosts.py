"""Which hosts are LLM hosts: the default list, and patterns for mitmproxy's `allow_hosts`.

Only the TLS of these hosts is intercepted; everything else is tunnelled. Data and pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

LOOPBACK = ("localhost", "*.localhost", "127.*", "::1")

_SOURCES = {
    "the vendor's documentation of its API": """
api.openai.com *.openai.azure.com *.services.ai.azure.com api.anthropic.com api.z.ai open.bigmodel.cn api.deepseek.com
dashscope-us.aliyuncs.com coding.dashscope.aliyuncs.com coding-intl.dashscope.aliyuncs.com api.minimax.chat
openrouter.ai api.groq.com api.together.xyz api.together.ai api.fireworks.ai api.mistral.ai codestral.mistral.ai
api.x.ai generativelanguage.googleapis.com aiplatform.googleapis.com *-aiplatform.googleapis.com
api.*.githubcopilot.com api.cerebras.ai api.deepinfra.com api.stepfun.ai ark.cn-beijing.volces.com
api.hunyuan.cloud.tencent.com ai-gateway.vercel.sh api.cohere.ai
""",
    "its own web page": "chat.z.ai",
    "openai/codex: `/backend-api/codex/responses` of a ChatGPT login": "chatgpt.com",
    "QwenLM/qwen-code: a Qwen login": "portal.qwen.ai",
    "google-gemini/gemini-cli: code_assist/server.ts, a Google login": "cloudcode-pa.googleapis.com",
    "anomalyco/models.dev": """
api.moonshot.ai api.moonshot.cn api.kimi.com dashscope.aliyuncs.com dashscope-intl.aliyuncs.com api.minimax.io
api.minimaxi.com api.siliconflow.cn api.siliconflow.com integrate.api.nvidia.com api.githubcopilot.com
models.github.ai api.novita.ai api.stepfun.com api-inference.modelscope.cn router.huggingface.co opencode.ai
ollama.com llm.chutes.ai nano-gpt.com api.cline.bot api.kilo.ai inference.baseten.co api.tokenfactory.nebius.com
api.synthetic.new api.venice.ai zenmux.ai api.xiaomimimo.com apis.iflow.cn api.poe.com
""",
}
LLM_HOSTS = {host: source for source, hosts in _SOURCES.items() for host in hosts.split()}
"""Each host with the source that names it."""

DEFAULT_HOSTS = (*LLM_HOSTS, *LOOPBACK)

_SERVERS = {"llm", "llms", "litellm", "vllm", "sglang", "ollama", "inference", "genai", "bedrock"}
_FRONTS = {"api", "apis", "gateway", "proxy", "router"}
_BESIDE = {"ai", "my", "runtime"}
"""The words of the first label of a host with a model behind it: its server, or a front of it, and others beside."""

_MARK = "(?#toolfix)"
NOTHING = _MARK + r"(?!)"
"""A pattern that matches no host: if it is the only one, everything is tunnelled."""


def chosen_hosts(wanted: Iterable[str]) -> tuple[str, ...]:
    """The hosts that the option names, or the default list if it names none; each `+host` is added to that."""
    wanted = tuple(wanted)
    added = tuple(host[1:] for host in wanted if host.startswith("+"))
    own = tuple(host for host in wanted if not host.startswith("+"))
    return (*(own or DEFAULT_HOSTS), *added)


def patterns(hosts: Iterable[str]) -> list[str]:
    """Regular expressions for `host:port`, as mitmproxy compares it.

    `*` matches any characters of a name; in an address such as 127.* it matches digits and dots only.
    """
    made = []
    for name in (host.strip("[]") for host in hosts):
        body = re.escape(name).replace(r"\*", r"[\d.]*" if re.fullmatch(r"\d[\d.*]*", name) else "[^:]*")
        made.append(_MARK + (rf"^\[?{body}\]?:\d+$" if ":" in name else rf"^{body}:\d+$"))
    return made


def is_ours(expression: str) -> bool:
    """Whether toolfix made this pattern, even if that was before the script was reloaded."""
    return expression.startswith(_MARK)


def matches(host: str, port: int, allowed: Iterable[str]) -> bool:
    return any(re.search(expression, f"{host}:{port}", re.IGNORECASE) for expression in allowed)


def looks_like_a_models(host: str, port: int) -> bool:
    """Whether the API of a model seems to be behind a host: `llm.corp.example`, `my-vllm.example`, `api.vendor.ai`.

    Every word of the first label must be known: `registry.ollama.ai` and `llm-wiki.corp` are for something else.
    """
    first, everywhere = (set(re.findall("[a-z]+", text)) for text in (host.lower().partition(".")[0], host.lower()))
    fronts_one = first & _FRONTS and everywhere & (_SERVERS | {"ai"})
    is_known = first <= _SERVERS | _FRONTS | _BESIDE and (first & _SERVERS or fronts_one)
    return bool(is_known) or matches(host, port, patterns(DEFAULT_HOSTS))


_THIS_MACHINE = patterns(("localhost", "127.*", "::1", "::ffff:127.*"))


def is_loopback(host: str) -> bool:
    """Whether the host is this machine, as an address or as `localhost`."""
    return matches(host, 0, _THIS_MACHINE)
