"""What looks like a credential is masked, by as many stars."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolcalls.recording.redact import redact, redact_bytes

SECRETS = [
    "sk-proj-abcdefghijklmnop1234567890",
    "sk-ant-api03-AbCdEf_1234567890-xyz",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_11ABCDEFG0abcdefghijkl",
    "AKIAIOSFODNN7EXAMPLE",
    "AIzaSyA1234567890abcdefghijklmnopqrstu",
    "xoxb-123456789012-abcdefghijkl",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcDEF123456",
    "0123456789abcdef0123456789abcdef.AbCdEfGhIjKlMnOp",
    "gsk_abcdefghijklmnopqrstuvwxyz",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "frame", ['{{"text": "{}"}}', "curl -H 'x-api-key: {}'", "/v1/models?key={}", "see {} there"]
)
def test_a_key_is_masked_wherever_it_stands(secret: str, frame: str) -> None:
    masked = redact(frame.format(secret))
    assert secret not in masked
    assert "*" * len(secret) in masked
    assert len(masked) == len(frame.format(secret))


@pytest.mark.parametrize(
    "text",
    [
        '{"api_key": "hunter2hunter2"}',
        '{"arguments": "{\\"password\\": \\"hunter2hunter2\\"}"}',
        "Authorization: Bearer hunter2hunter2hunter2",
        "Cookie: hunter2hunter2",
        "?access_token=hunter2hunter2&x=1",
        "export OPENAI_API_KEY=hunter2hunter2",
    ],
)
def test_what_is_named_like_a_credential_is_masked(text: str) -> None:
    assert "hunter2" not in redact(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"command": "ls -la", "timeout": 120000}',
        "the password is checked in auth.py",
        '{"max_tokens": 4096, "usage": {"completion_tokens": 12}}',
        "call_0123456789abcdef01234567",
        "a sha: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert redact(text) == text


@given(st.binary(max_size=300))
def test_bytes_keep_their_length(data: bytes) -> None:
    assert len(redact_bytes(data)) == len(data)
