"""The connection says where the service is and how it wants to know who asks; its credential is for a person to add."""

from typing import Any

import pytest
from fakes.descriptions import URL, answered, document, proposed

from gateway.errors import StartError

DOCUMENT = document({"/a": {"get": answered()}})


def row(whole: Any = None, **changes: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The connection of a document with these changes, and what is to be looked at."""
    connection = proposed({**(whole or DOCUMENT), **changes}).connection
    return connection.row, dict(connection.reviews)


def secured(scheme: Any, **changes: Any) -> tuple[Any, str]:
    """How the credential is sent for one scheme, and what is said of it."""
    made, reviews = row(document({"/a": {"get": answered()}}, securitySchemes={"main": scheme}), **changes)
    return made["options"].get("auth"), reviews["options"]


def test_a_connection_without_a_way_to_authenticate() -> None:
    """Is proposed, and a person is told to look."""
    made, reviews = row()
    assert made == {
        "name": "notes",
        "tenant": "acme",
        "vendor": "http_api",
        "hosts": ["notes.example.com"],
        "credential": "",
        "options": {"base_url": URL},
    }
    assert "no way to authenticate" in reviews["options"]
    assert "auth" in reviews["credential"]


@pytest.mark.parametrize(
    ("scheme", "auth"),
    [
        ({"type": "http", "scheme": "Bearer"}, {"kind": "bearer"}),
        ({"type": "http", "scheme": "basic"}, {"kind": "basic"}),
        ({"type": "apiKey", "in": "header", "name": "X-Api-Key"}, {"kind": "header", "name": "X-Api-Key"}),
        ({"type": "apiKey", "in": "query", "name": "key"}, {"kind": "query", "name": "key"}),
        ({"type": "oauth2", "flows": {}}, {"kind": "bearer"}),
        ({"type": "openIdConnect"}, {"kind": "bearer"}),
        ({"type": "http", "scheme": "digest"}, None),
        ({"type": "apiKey", "in": "cookie", "name": "session"}, None),
        ({"type": "mutualTLS"}, None),
        ({"$ref": "https://evil.example/scheme.json"}, None),
    ],
)
def test_schemes_become_ways_to_send_a_credential(scheme: Any, auth: Any) -> None:
    """What none of them is, is said."""
    found, said = secured(scheme)
    assert found == auth
    assert "main" in said
    if scheme.get("type") == "oauth2":
        assert "access token" in said


def test_what_is_asked_for_counts_and_not_what_there_is() -> None:
    """Of the whole document first, then of most operations; of several at once none can be chosen."""
    schemes = {"key": {"type": "apiKey", "in": "query", "name": "k"}, "token": {"type": "http", "scheme": "bearer"}}
    whole = document({"/a": {"get": {**answered(), "security": [{"token": []}]}}}, securitySchemes=schemes)
    assert row(whole)[0]["options"]["auth"] == {"kind": "bearer"}
    assert row(whole, security=[{}, {"key": []}])[0]["options"]["auth"] == {"kind": "query", "name": "k"}
    made, reviews = row(whole, security=[{"key": [], "token": []}])
    assert "auth" not in made["options"]
    assert "key and token" in reviews["options"]


@pytest.mark.parametrize(
    ("server", "url", "host"),
    [
        ({"url": "https://{region}.example.com:8443/v1/", "variables": {"region": {"default": "eu"}}},
         "https://eu.example.com:8443/v1", "eu.example.com:8443"),
        ({"url": "https://[2001:db8::1]/"}, "https://[2001:db8::1]", "2001:db8::1"),
    ],
)  # fmt: skip
def test_servers_may_have_variables(server: Any, url: str, host: str) -> None:
    """Their defaults are taken."""
    made, _ = row(servers=[server])
    assert made["options"]["base_url"] == url
    assert made["hosts"] == [host]


@pytest.mark.parametrize(
    "servers", [[], [{"url": "/api"}], [{"url": "https://{x}/"}], [{"url": 5}], [{"url": "https://:x"}], "x"]
)
def test_a_service_that_is_nowhere_needs_a_base_url(servers: Any) -> None:
    """The sentence says so; the one that is given takes the place of the document's."""
    with pytest.raises(StartError, match="--base-url"):
        row(servers=servers)
    whole = {**DOCUMENT, "servers": servers}
    given = proposed(whole, base_url="http://127.0.0.1:8080/x/").connection.row
    assert given["options"]["base_url"] == "http://127.0.0.1:8080/x"
    assert given["hosts"] == ["127.0.0.1:8080"]
