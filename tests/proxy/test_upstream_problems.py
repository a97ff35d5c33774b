"""What a user hears where no answer came: the sentence for each status. `test_e2e_run_failures.py` hears some for real."""

from __future__ import annotations

import pytest

from toolcalls.proxy.advice import of_status, of_tunnel


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (400, "llm.example answered 400: it rejected the request; its response says why."),
        (401, "llm.example answered 401: the API key is missing or wrong."),
        (403, "llm.example answered 403: this key is not allowed to use this model or this address."),
        (404, "llm.example answered 404 to /v1/chat/completions: check the base URL and the name of the model."),
        (
            407,
            "llm.example answered 407: the outgoing proxy wants a user name and a password: put them into HTTPS_PROXY.",
        ),
        (418, "llm.example answered 418: it rejected the request; its response says why."),
        (429, "llm.example answered 429: too many requests, or the quota is used up: wait, or check your account."),
        (500, "llm.example answered 500: the server failed. Try again later."),
        (503, "llm.example answered 503: the server failed. Try again later."),
        (529, "llm.example answered 529: the server failed. Try again later."),
    ],
)
def test_a_status_that_is_no_answer_is_named(status: int, sentence: str) -> None:
    assert of_status("llm.example", status, "/v1/chat/completions?key=secret") == sentence


@pytest.mark.parametrize(
    "host",
    [
        *("llm.corp.example", "llm-gateway.corp.example", "my-vllm.example", "litellm.internal", "api.newvendor.ai"),
        *(
            "ai-gateway.corp.example",
            "proxy.llm.corp.example",
            "gateway.ai.vendor.com",
            "bedrock-runtime.eu-west-1.amazonaws.com",
        ),
        *("api.openai.com", "LLM.corp.example", "localhost", "127.0.0.1"),
    ],
)
def test_a_host_that_looks_like_a_models_can_be_added(host: str) -> None:
    said = f"{host} was tunnelled unchanged, because it is not in the list of LLM hosts: add --host {host}"
    assert of_tunnel(host, 443) == said


@pytest.mark.parametrize(
    "host",
    [
        *(
            "registry.npmjs.org",
            "pypi.org",
            "files.pythonhosted.org",
            "index.crates.io",
            "proxy.golang.org",
            "github.com",
        ),
        *(
            "api.github.com",
            "registry.ollama.ai",
            "statsig.anthropic.com",
            "auth.openai.com",
            "models.dev",
            "bank.example",
            "my-llm-registry.corp",
            "ai.google.dev",
        ),
        *("o1.ingest.sentry.io", "mcp-proxy.anthropic.com", "claude.ai", "maintain.example", "allmail.example"),
        *("static.inference.example", "10.0.0.5", "::1.example", ""),
    ],
)
def test_nobody_is_told_to_open_the_tls_of_another_host(host: str) -> None:
    assert of_tunnel(host, 443) == ""
