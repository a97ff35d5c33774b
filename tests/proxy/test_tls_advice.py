"""Which variable a client needs that rejects our certificate, and the lines of a session's tally."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolcalls.outcome import Outcome
from toolcalls.proxy import advice as clients
from toolcalls.proxy import session_summary as tally

ALERT = "The client does not trust the proxy's certificate for x (tlsv1 alert unknown ca)"
HUNG_UP = (
    "The client disconnected during the handshake. If this happens consistently for x, this may indicate that the "
    "client does not trust the proxy's certificate."
)


@pytest.mark.parametrize(
    ("agent", "variable"),
    [
        ("claude-cli/2.1.325 (external, sdk-cli)", "NODE_EXTRA_CA_CERTS"),
        ("codex_exec/0.166.0 (Debian 12.0.0; x86_64)", "CODEX_CA_CERTIFICATE"),
        ("opencode/1.18.33 ai-sdk/provider-utils/4.0.23 runtime/bun/1.3.14", "NODE_EXTRA_CA_CERTS"),
        ("QwenCode/0.24.4 (linux; x64)", "NODE_EXTRA_CA_CERTS"),
        ("curl/7.88.1", "CURL_CA_BUNDLE"),
        ("git/2.39.5", "GIT_SSL_CAINFO"),
        ("pip/24.0 {}", "PIP_CERT"),
        ("python-requests/2.32", "REQUESTS_CA_BUNDLE"),
        ("python-httpx/0.28", "SSL_CERT_FILE"),
        ("something new", "SSL_CERT_FILE"),
    ],
)
def test_the_advice_names_the_variable_of_the_client(agent: str, variable: str) -> None:
    assert f" it needs {variable}=/ca.pem" in clients.of_distrust(ALERT, agent, "api.example", "/ca.pem")


def test_a_client_that_does_not_introduce_itself_is_known_by_how_it_rejects() -> None:
    """Measured: Node and bun hang up, OpenSSL and rustls send an alert."""
    assert " it needs NODE_EXTRA_CA_CERTS=/ca.pem" in clients.of_distrust(HUNG_UP, "", "api.example", "/ca.pem")
    assert " it needs SSL_CERT_FILE=/ca.pem;" in clients.of_distrust(ALERT, "", "api.example", "/ca.pem")
    assert not clients.of_distrust("connection closed early", "curl/8", "api.example", "/ca.pem")


def test_a_tally_counts_answers_and_calls_and_says_each_warning_once(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    writer = tally.SummaryFile(str(path))
    writer.answer([Outcome("repaired", "a", "{}", "a", "{"), Outcome("valid", "a", "{}", "a", "{}")])
    writer.answer([])
    writer.answer([Outcome("refused", "a", "{}", "a", "{")])
    writer.warning("no")
    writer.warning("no")
    with path.open("ab") as file:
        file.write(b'{"calls": ["rep')  # The proxy was killed here.
    assert tally.read(path) == tally.Summary(answers=3, calls=3, mended=1, refused=1, warnings=["no"])
    assert tally.read(tmp_path / "none") == tally.Summary()
    writer.answer([], observed=True)
    assert "would" not in tally.read(path).sentence(), "other answers were changed"
    observing = tally.SummaryFile(str(tmp_path / "observed"))
    for _ in range(2):
        observing.answer([Outcome("repaired", "a", "{}", "a", "{")], observed=True)
    would = "2 calls, 2 would have been mended, 0 would have been refused"
    assert tally.read(tmp_path / "observed").sentence() == would
    tally.SummaryFile("").answer([])
    tally.SummaryFile(str(tmp_path / "no" / "where")).answer([])
