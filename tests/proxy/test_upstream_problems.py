"""What a user hears where no answer came: the sentence for each status. `test_e2e_run_failures.py` hears some for real."""

from __future__ import annotations

import pytest

from toolcalls.proxy.upstream_problems import of_status


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
