"""The exchange of a refresh token for an access token."""

import base64
import json
from typing import Any

import pytest
from fakes.apis import bench
from fakes.vendor import Asked, Said, VendorServer, vendor_server

from adapters.base import AdapterError, ErrorKind, Grant, Happened, Secret
from adapters.transport.oauth import OAuth
from adapters.transport.refresh import Refresh, is_oauth_credential, oauth_credential
from adapters.transport.tokens import MemoryTokens

PARTS = {"client_id": "client-1", "client_secret": "s3cr3t/+ :é", "refresh_token": "1//refresh&=0"}
CREDENTIAL = json.dumps(PARTS)
GOOD = {"access_token": "access-1", "token_type": "Bearer", "expires_in": 3599}


async def refreshed(server: VendorServer, learned: list[str], credential: str = CREDENTIAL, **more: Any) -> Grant:
    """What a vendor gives."""
    async with bench(server) as one:
        try:
            return await Refresh(one.transport, one.clock, f"{server.url}/token", **more)(
                one.invocation(), Secret(credential)
            )
        finally:
            learned += one.learned


async def failure(said: Said, credential: str = CREDENTIAL) -> tuple[AdapterError, VendorServer]:
    """What it ends with."""
    async with vendor_server(said) as server:
        with pytest.raises(AdapterError) as caught:
            await refreshed(server, [], credential)
    error = caught.value
    assert error.happened is Happened.NO
    said_of_it = f"{error!r}{error.message}{error.__cause__!r}"
    assert not [part for part in ("s3cr3t", "refresh&", "client-1") if part in said_of_it]
    return error, server


async def test_the_form_is_what_the_standard_says() -> None:
    """RFC 6749 section 6, with the client's proof in the body."""
    learned: list[str] = []
    async with vendor_server(Said(GOOD)) as server:
        grant = await refreshed(server, learned)
    (asked,) = server.asked
    assert asked.form == {"grant_type": "refresh_token", **PARTS}
    assert "Authorization" not in asked.headers
    assert (grant.access_token, grant.credential) == ("access-1", None)
    assert grant.expires_at == 1_767_225_600.0 + 3599
    assert learned == [PARTS["client_secret"], PARTS["refresh_token"]]


async def test_by_basic_authentication_the_proof_is_in_a_header() -> None:
    """Both parts encoded before they are joined, so that no colon in one is the other's beginning."""
    async with vendor_server(Said(GOOD)) as server:
        await refreshed(server, [], by_basic=True)
    (asked,) = server.asked
    assert asked.form == {"grant_type": "refresh_token", "refresh_token": PARTS["refresh_token"]}
    pair = base64.b64decode(asked.headers["Authorization"].removeprefix("Basic ")).decode()
    assert pair == "client-1:s3cr3t%2F%2B+%3A%C3%A9"


async def test_another_refresh_token_is_what_has_to_be_kept() -> None:
    """In the credential's own form; all of it is learned."""
    learned: list[str] = []
    async with vendor_server(Said({**GOOD, "refresh_token": 'new "one"'})) as server:
        grant = await refreshed(server, learned)
    assert grant.credential is not None
    assert json.loads(grant.credential) == {**PARTS, "refresh_token": 'new "one"'}
    assert oauth_credential(Secret(grant.credential)).refresh_token == 'new "one"'
    assert {'new "one"', grant.credential} <= set(learned)
    assert "new" not in repr(grant)


@pytest.mark.parametrize("token", [None, "", 7, ["x"], {"x": 1}, True, PARTS["refresh_token"]])
async def test_the_same_one_or_none_is_no_other(token: object) -> None:
    """Most vendors give none; some say the same again."""
    async with vendor_server(Said({**GOOD, "refresh_token": token})) as server:
        assert (await refreshed(server, [])).credential is None


@pytest.mark.parametrize(
    "credential",
    [
        "",
        "plain-token",
        "null",
        "[]",
        '"text"',
        "{",
        "{}",
        json.dumps({**PARTS, "more": "x"}),
        json.dumps({"client_id": "client-1", "refresh_token": "1//refresh&=0"}),
        json.dumps({**PARTS, "client_secret": ""}),
        json.dumps({**PARTS, "client_secret": None}),
        json.dumps({**PARTS, "refresh_token": 7}),
        json.dumps({**PARTS, "client_id": ["client-1"]}),
        json.dumps([PARTS]),
        '{"client_id": "client-1", "client_secret": "s3cr3t", "refresh_token": "\\ud800"}',
        CREDENTIAL + "x",
        "[" * 5000,
    ],
)
async def test_a_credential_of_another_form_needs_a_person(credential: str) -> None:
    """Nobody is asked with a part of it, and the words say what it should be."""
    error, server = await failure(Said(GOOD), credential)
    assert error.kind is ErrorKind.NEEDS_AUTHORISATION
    assert "refresh_token" in error.message
    assert not server.asked


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_client"])
async def test_a_refresh_token_that_was_taken_back_needs_a_person(code: str) -> None:
    """Whatever the vendor says about it."""
    error, _ = await failure(Said({"error": code, "error_description": CREDENTIAL}, status=400))
    assert error.kind is ErrorKind.NEEDS_AUTHORISATION


@pytest.mark.parametrize("said", [Said(cut=True), Said({}, status=503), Said({}, status=429), Said({"no": "token"})])
async def test_it_is_asked_once_whatever_happens(said: Said) -> None:
    """The first request may have taken the old token back."""
    _, server = await failure(said)
    assert len(server.asked) == 1


async def test_oauth_over_it_sends_the_access_token_alone() -> None:
    """From end to end: the credential goes to the token endpoint, and what it gives to the API."""

    def answer(asked: Asked) -> Said:
        if asked.path == "/token":
            return Said(GOOD)
        return Said({"seen": asked.headers["Authorization"]})

    async with vendor_server(answer) as server, bench(server) as plain:
        refresh = Refresh(plain.transport, plain.clock, f"{server.url}/token")
        async with bench(server, authorises=OAuth(MemoryTokens(plain.clock), refresh)) as one:
            for _ in range(2):
                assert (await one.ask(credential=CREDENTIAL)).value == {"seen": "Bearer access-1"}
            assert [asked.path for asked in server.asked] == ["/token", "/things", "/things"]
            assert "access-1" in one.learned


def test_what_looks_like_one() -> None:
    """So that a vendor may take a plain token as well."""
    assert is_oauth_credential(CREDENTIAL)
    assert is_oauth_credential(" \n{}")
    assert not is_oauth_credential("xoxb-1-2")
    assert not is_oauth_credential("")


def test_nothing_secret_is_printed() -> None:
    """By the parts."""
    text = repr(oauth_credential(Secret(CREDENTIAL)))
    assert "s3cr3t" not in text
    assert "refresh&" not in text
