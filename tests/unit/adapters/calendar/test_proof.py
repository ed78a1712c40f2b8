"""Who asks Google."""

import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fakes.cases.calendar import event
from fakes.vendor import NOW, Asked, Desk, Said, VendorServer, desk, vendor_server

from adapters.base import AdapterError, ErrorKind, Happened, Target
from adapters.calendar.proof import SCOPES, TOKEN_URL, is_service_account, option_problems

GET = {"event_id": "e1"}
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
PEM = KEY.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
).decode()
PUBLIC = (
    KEY.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
)
UNKNOWN = (  # well formed, of a kind that nobody knows
    "-----BEGIN PRIVATE KEY-----\nMCACAQAwDQYJKoZIhvcNAQFjBQAEDAAAAAAAAAAAAAAAAA==\n-----END PRIVATE KEY-----\n"
)
ACCOUNT = {
    "type": "service_account",
    "client_email": "bot@project.iam.gserviceaccount.com",
    "private_key_id": "k1",
    "private_key": PEM,
    "token_uri": "http://127.0.0.1:1/elsewhere",
}
REFRESH = {"client_id": "id", "client_secret": "c1ient-s3cret", "refresh_token": "1//r3fresh"}


def google(asked: Asked) -> Said:
    """Its token endpoint, and an event."""
    if asked.path == "/token":
        return Said({"access_token": "ya29.t0ken", "expires_in": 3599, "token_type": "Bearer"})
    return Said(event(id="e1"))


def with_credential(server: VendorServer, credential: Any, **options: Any) -> Any:
    """A desk whose connection has this credential and asks for tokens at the same server."""
    told = credential if isinstance(credential, str) else json.dumps(credential)
    return desk(server, credential=told, options={"token_url": f"{server.url}/token", **options})


def claims_of(asked: Asked) -> dict[str, Any]:
    """What was signed, when the signature is right."""
    assert asked.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    options = {"verify_exp": False, "verify_iat": False, "verify_aud": False}
    return dict(jwt.decode(asked.form["assertion"], KEY.public_key(), algorithms=["RS256"], options=options))


async def test_a_plain_token_is_sent_as_it_stands() -> None:
    """Nobody is asked for another."""
    async with vendor_server(google) as server, with_credential(server, "ya29.plain") as at:
        await at.ask("calendar", "get_event", GET)
    assert [one.headers["Authorization"] for one in server.asked] == ["Bearer ya29.plain"]


async def test_a_refresh_token_is_exchanged_once() -> None:
    """And what it brought is used for as long as it is good."""
    async with vendor_server(google) as server, with_credential(server, REFRESH) as at:
        await at.ask("calendar", "get_event", GET)
        await at.ask("calendar", "get_event", GET)
        assert {"c1ient-s3cret", "1//r3fresh", "ya29.t0ken"} <= set(at.learned)
    assert [one.path for one in server.asked] == [
        "/token",
        "/calendars/primary/events/e1",
        "/calendars/primary/events/e1",
    ]
    assert server.asked[0].form["grant_type"] == "refresh_token"
    assert server.asked[1].headers["Authorization"] == "Bearer ya29.t0ken"


async def test_a_service_account_signs_for_itself() -> None:
    """With the key's id, at the connection's endpoint and not at the one that the key file names."""
    async with vendor_server(google) as server, with_credential(server, ACCOUNT) as at:
        await at.ask("calendar", "get_event", GET)
        await at.ask("calendar", "get_event", GET)
        learned = set(at.learned)
    assert [one.path for one in server.asked] == [
        "/token",
        "/calendars/primary/events/e1",
        "/calendars/primary/events/e1",
    ]
    assertion = server.asked[0].form["assertion"]
    assert claims_of(server.asked[0]) == {
        "iss": "bot@project.iam.gserviceaccount.com",
        "scope": " ".join(SCOPES),
        "aud": f"{server.url}/token",
        "iat": int(NOW),
        "exp": int(NOW) + 3600,
    }
    assert jwt.get_unverified_header(assertion) == {"alg": "RS256", "typ": "JWT", "kid": "k1"}
    assert {PEM, assertion, "ya29.t0ken"} <= learned


async def test_a_token_is_of_the_subject_and_scopes_that_it_was_asked_for() -> None:
    """A connection that is changed does not use what was kept for another person."""
    async with vendor_server(google) as server, with_credential(server, ACCOUNT) as at:
        for options in ({}, {"subject": "ann@corp.example"}, {"subject": "bo@corp.example", "scopes": ["a", "b"]}):
            at.options = {"token_url": f"{server.url}/token", **options}
            await at.ask("calendar", "get_event", GET)
    tokens = [claims_of(one) for one in server.asked if one.path == "/token"]
    assert [claims.get("sub") for claims in tokens] == [None, "ann@corp.example", "bo@corp.example"]
    assert tokens[2]["scope"] == "a b"


async def test_a_token_that_google_refuses_is_replaced_once() -> None:
    """The second refusal stands."""

    def refusing(asked: Asked) -> Said:
        if asked.path == "/token":
            return Said({"access_token": f"ya29.{len(server.asked)}", "expires_in": 3599})
        return Said({"error": {"errors": [{"reason": "authError"}], "code": 401}}, status=401)

    async with vendor_server(refusing) as server, with_credential(server, ACCOUNT) as at:
        error = await failed(at)
    assert error.kind is ErrorKind.NEEDS_AUTHORISATION
    assert [one.path == "/token" for one in server.asked] == [True, False, True, False]


@pytest.mark.parametrize("credential", [ACCOUNT, REFRESH])
async def test_an_account_that_was_taken_back_needs_a_person(credential: dict[str, str]) -> None:
    """`invalid_grant`, of either kind."""
    refused = Said({"error": "invalid_grant", "error_description": "Token has been expired or revoked."}, status=400)
    async with vendor_server(refused) as server, with_credential(server, credential) as at:
        error = await failed(at)
    assert (error.kind, error.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"private_key": "no key"},
        {"private_key": ""},
        {"private_key": None},
        {"client_email": 5},
        {"client_email": ""},
        {"private_key": PEM.replace("A", "B", 40)},
        {"private_key": PUBLIC},
        {"private_key": UNKNOWN},
    ],
)
async def test_a_key_that_cannot_be_used_needs_a_person(changes: dict[str, Any]) -> None:
    """Nothing is sent, and nothing of it is told."""
    async with vendor_server(google) as server, with_credential(server, {**ACCOUNT, **changes}) as at:
        error = await failed(at)
    assert error.kind is ErrorKind.NEEDS_AUTHORISATION
    assert server.asked == []
    chain = [error, error.__cause__, error.__context__]
    assert all(isinstance(each, AdapterError) for each in chain if each is not None)  # a library's may quote the key
    assert "BEGIN" not in str(chain)


async def failed(at: Desk) -> AdapterError:
    """What it ended with."""
    with pytest.raises(AdapterError) as caught:
        await at.ask("calendar", "get_event", GET)
    return caught.value


@pytest.mark.parametrize("text", ["", "ya29.x", "{", "[]", "5", '{"type": "authorized_user"}', json.dumps(REFRESH)])
def test_only_a_key_file_is_a_service_account(text: str) -> None:
    """By what it says itself."""
    assert not is_service_account(text)
    assert is_service_account(json.dumps(ACCOUNT))


def test_a_connection_says_where_its_credential_goes() -> None:
    """Google's own endpoint when it names none."""
    hosts = ("oauth2.googleapis.com",)
    assert TOKEN_URL.startswith("https://oauth2.googleapis.com/")
    assert option_problems(Target(name="c", hosts=hosts)) == []
    good = {"scopes": ["https://www.googleapis.com/auth/calendar"], "subject": "ann@corp.example"}
    assert option_problems(Target(name="c", hosts=hosts, options=good)) == []
    assert "hosts" in option_problems(Target(name="c"))[0]


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"scopes": "calendar"}, "scopes"),
        ({"scopes": []}, "scopes"),
        ({"scopes": ["a b"]}, "scopes"),
        ({"scopes": [5]}, "scopes"),
        ({"scopes": ["a"] * 21}, "scopes"),
        ({"subject": "ann"}, "subject"),
        ({"subject": 5}, "subject"),
        ({"subject": "ann @corp.example"}, "subject"),
        ({"token_url": "http://oauth2.googleapis.com/token"}, "token_url"),
        ({"token_url": 5}, "token_url"),
        ({"token_url": "https://elsewhere.example/token"}, "hosts"),
    ],
)
def test_a_wrong_option_is_told(options: dict[str, Any], word: str) -> None:
    """In one sentence."""
    (sentence,) = option_problems(Target(name="c", hosts=("oauth2.googleapis.com",), options=options))
    assert word in sentence
