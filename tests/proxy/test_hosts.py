"""Whose TLS is opened."""

from __future__ import annotations

import pytest

from toolcalls.policy import BadOption, read_options
from toolcalls.proxy import hosts

DEFAULT = hosts.patterns(hosts.chosen_hosts(()))


@pytest.mark.parametrize(
    "host",
    [
        "api.openai.com", "API.OpenAI.com", "api.anthropic.com", "chat.z.ai", "open.bigmodel.cn", "openrouter.ai",
        "me.openai.azure.com", "api.individual.githubcopilot.com", "localhost", "127.0.0.1", "127.1.2.3", "::1",
        "app.localhost",
    ],
)  # fmt: skip
def test_llm_hosts_and_loopback_are_ours(host: str) -> None:
    assert hosts.matches(host, 443, DEFAULT)


@pytest.mark.parametrize(
    "host",
    [
        "example.com", "api.openai.com.evil.example", "evil-api.openai.com", "github.com", "xapi.openai.com",
        "1127.0.0.1", "my.bank", "127.0.0.1.evil.example", "localhost.evil.example",
    ],
)  # fmt: skip
def test_other_hosts_are_not(host: str) -> None:
    assert not hosts.matches(host, 443, DEFAULT)


def test_plus_adds_and_a_plain_list_replaces() -> None:
    added = hosts.patterns(hosts.chosen_hosts(("+llm.corp.example",)))
    assert hosts.matches("llm.corp.example", 8443, added) and hosts.matches("api.openai.com", 443, added)
    own = hosts.patterns(hosts.chosen_hosts(("*.corp.example",)))
    assert hosts.matches("llm.corp.example", 443, own) and not hosts.matches("api.openai.com", 443, own)


def test_nothing_matches_nothing() -> None:
    assert not hosts.matches("localhost", 80, [hosts.NOTHING])


@pytest.mark.parametrize("text", ["https://api.example", "a b", "api.example:443", "(x", "+", "api..example/"])
def test_what_is_no_host_name_is_refused(text: str) -> None:
    with pytest.raises(BadOption, match="is not a host name"):
        read_options({"toolfix_hosts": text})


def test_every_host_of_the_list_has_a_source() -> None:
    assert all(source.strip() for source in hosts.LLM_HOSTS.values())


@pytest.mark.parametrize(
    "host",
    [
        "us-central1-aiplatform.googleapis.com", "aiplatform.googleapis.com", "cloudcode-pa.googleapis.com",
        "generativelanguage.googleapis.com", "models.github.ai", "llm.chutes.ai", "nano-gpt.com", "api.cline.bot",
    ],
)  # fmt: skip
def test_the_hosts_of_the_other_wires_are_ours(host: str) -> None:
    assert hosts.matches(host, 443, DEFAULT)


@pytest.mark.parametrize(
    "host", ["storage.googleapis.com", "oauth2.googleapis.com", "bedrock-runtime.us-east-1.amazonaws.com"]
)
def test_other_services_of_their_owners_are_not(host: str) -> None:
    assert not hosts.matches(host, 443, DEFAULT)
