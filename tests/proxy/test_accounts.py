"""Which account a request belongs to: the reasoning of one account never goes into the requests of another."""

from __future__ import annotations

import pytest

from toolcalls.proxy.http_flows import account_of


@pytest.mark.parametrize(
    "name",
    ["Authorization", "Proxy-Authorization", "Cookie", "x-api-key", "api-key", "X-Goog-Api-Key", "x-portkey-api-key"],
)
def test_credentials_tell_accounts_apart(name: str) -> None:
    assert account_of({name: "mine"}, "/") != account_of({name: "yours"}, "/")
    assert account_of({name: "mine", "x-request-id": "1"}, "/") == account_of(
        {name: "mine", "x-request-id": "2"}, "/"
    )


@pytest.mark.parametrize("path", ["/v1?key={}", "/v1?alt=sse&key={}", "/v1?api_key={}", "/v1?api-key={}&a=b"])
def test_keys_in_the_path_tell_accounts_apart(path: str) -> None:
    assert account_of({}, path.format("mine")) != account_of({}, path.format("yours"))
    assert account_of({}, "/v1?monkey=1") == account_of({}, "/v1?monkey=2")
