"""The one environment for all agents: what is set, what is kept, what is taken out."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tests.upstream import write_certificate
from toolcalls.cli import environment
from toolcalls.proxy import advice

TRUST = {**dict.fromkeys(advice.CA_VARIABLES, "/bundle.pem"), advice.NODE: "/node.pem"}
PROXY = "http://127.0.0.1:4711"


def test_every_variable_of_the_measured_table_is_set() -> None:
    changes = environment.for_proxy({"ALL_PROXY": "socks5://x"}, PROXY, TRUST)
    after = environment.applied({"ALL_PROXY": "socks5://x", "PATH": "/bin"}, changes)
    assert after == {
        "PATH": "/bin",
        **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), PROXY),
        "NODE_EXTRA_CA_CERTS": "/node.pem",
        **dict.fromkeys(
            [
                "SSL_CERT_FILE",
                "CODEX_CA_CERTIFICATE",
                "REQUESTS_CA_BUNDLE",
                "CURL_CA_BUNDLE",
                "GIT_SSL_CAINFO",
                "PIP_CERT",
                "CARGO_HTTP_CAINFO",
                "AWS_CA_BUNDLE",
                "DENO_CERT",
            ],
            "/bundle.pem",
        ),
        "NODE_USE_ENV_PROXY": "1",
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("localhost", ""),
        ("localhost,127.0.0.1,::1", ""),
        ("*", ""),
        (" .corp , localhost:8080 ,10.0.0.0/8", ".corp,10.0.0.0/8"),
        ("127.0.0.0/8,[::1],0.0.0.0,.localhost,*.localhost,127.*", ""),
        ("localhost.corp,mylocalhost", "localhost.corp,mylocalhost"),
        ("*.corp,api.openai.com", "*.corp,api.openai.com"),
        (",,", ""),
    ],
)
def test_loopback_and_nothing_else_is_taken_out_of_no_proxy(before: str, after: str) -> None:
    assert environment.without_loopback(before) == (after or None)


def test_no_proxy_stays_only_where_an_outgoing_proxy_may_not_reach_what_is_in_it() -> None:
    before = {"NO_PROXY": "localhost,.corp", "no_proxy": "127.0.0.1"}
    assert environment.for_proxy(before, PROXY, TRUST)["NO_PROXY"] is None
    behind = environment.for_proxy({**before, "https_proxy": "http://proxy.corp:3128"}, PROXY, TRUST)
    assert (behind["NO_PROXY"], behind["no_proxy"]) == (".corp", None)


def test_the_base_urls_of_reverse_mode_are_as_the_sdks_spell_them() -> None:
    plain = environment.for_reverse({}, PROXY, "")
    assert (plain["OPENAI_BASE_URL"], plain["ANTHROPIC_BASE_URL"]) == (f"{PROXY}/v1", PROXY)
    version = environment.for_reverse({"NO_PROXY": "x"}, PROXY, "/api/v1")
    assert (version["OPENAI_BASE_URL"], version["ANTHROPIC_BASE_URL"]) == (f"{PROXY}/api/v1", f"{PROXY}/api")
    assert version["NO_PROXY"] == "x,127.0.0.1"


@pytest.mark.parametrize(
    ("environ", "url", "credentials"),
    [
        ({"HTTPS_PROXY": "http://proxy.corp:3128"}, "http://proxy.corp:3128", ""),
        ({"https_proxy": "proxy.corp"}, "http://proxy.corp", ""),
        ({"HTTPS_PROXY": "https://u:p%40w@proxy.corp"}, "https://proxy.corp", "u:p@w"),
        ({"ALL_PROXY": "http://[::1]:3128/"}, "http://[::1]:3128", ""),
        ({"HTTPS_PROXY": "http://proxy:"}, "http://proxy", ""),
    ],
)
def test_a_proxy_that_was_there_is_understood(environ: dict[str, str], url: str, credentials: str) -> None:
    found = environment.upstream_proxy(environ)
    assert found and (found.url, found.login) == (url, credentials)


def test_no_proxy_is_no_proxy_and_a_socks_proxy_is_refused_without_its_password() -> None:
    assert environment.upstream_proxy({"HTTP_PROXY": "http://x:1", "HTTPS_PROXY": ""}) is None
    with pytest.raises(click.UsageError) as bad:
        environment.upstream_proxy({"ALL_PROXY": "socks5://me:secret@x:1"})
    assert "secret" not in str(bad.value)


def test_the_bundle_has_the_roots_the_users_own_cas_and_ours_each_once(tmp_path: Path) -> None:
    ours = write_certificate(tmp_path / "ours.pem", ["ours"])
    company = write_certificate(tmp_path / "company.pem", ["company"])
    environ = {"SSL_CERT_FILE": str(company), "PIP_CERT": str(company), "AWS_CA_BUNDLE": "/no/such/file"}
    written = environment.prepare(tmp_path / "out", ours, {**environ, advice.NODE: str(company)})
    roots = environment.system_roots()
    node, combined = (Path(written[name]) for name in (advice.NODE, "SSL_CERT_FILE"))
    assert {**dict.fromkeys(advice.CA_VARIABLES, str(combined)), advice.NODE: str(node)} == written
    bundle = environment.certificates(combined.read_bytes())
    assert set(bundle) == {
        *roots,
        *environment.certificates(ours.read_bytes()),
        *environment.certificates(company.read_bytes()),
    }
    assert len(bundle) == len(set(bundle)) == len(set(roots)) + 2
    assert len(environment.certificates(node.read_bytes())) == 2
    assert b"PRIVATE KEY" not in combined.read_bytes() + node.read_bytes()
    assert combined.stat().st_mode & 0o077 == 0


def test_many_first_sessions_at_once_make_one_ca(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: environment.prepare(tmp_path, environment.ensure_ca(tmp_path), {}), range(8)))
    assert len({Path(trust[advice.NODE]).read_bytes() for trust in made}) == 1
    key = load_pem_private_key((tmp_path / "mitmproxy-ca.pem").read_bytes(), None)
    certificate = x509.load_pem_x509_certificate((tmp_path / environment.CA_FILE).read_bytes())
    assert key.public_key() == certificate.public_key()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".toolfix-bundle")]
