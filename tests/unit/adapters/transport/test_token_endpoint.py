"""What a vendor's token endpoint is asked, once, and what its answers mean."""

from collections.abc import Mapping
from typing import Any

import pytest
from fakes.apis import bench
from fakes.vendor import Said, VendorServer, saying, vendor_server

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Target
from adapters.transport import token_endpoint as module
from adapters.transport.token_endpoint import (
    MOST_SECONDS,
    USUAL_SECONDS,
    TokenEndpoint,
    grant_of,
    is_sendable,
    seconds_of,
    token_url_problems,
)

FORM = {"grant_type": "client_credentials", "assertion": "a.b+c/d=&e"}
OWN = "https://auth.vendor.example/token"


async def post(server: VendorServer, *, seconds: float = 5.0, **more: Any) -> Mapping[str, Any]:
    """What the endpoint answers."""
    async with bench(server) as one:
        endpoint = TokenEndpoint(one.transport, one.clock, f"{server.url}/token")
        return await endpoint.post(one.invocation(seconds=seconds), FORM, **more)


async def failure(*said: Said, **more: Any) -> tuple[AdapterError, VendorServer]:
    """What posting ends with."""
    async with vendor_server(saying(*said)) as server:
        with pytest.raises(AdapterError) as caught:
            await post(server, **more)
    assert caught.value.happened is Happened.NO
    assert "a.b+c" not in f"{caught.value!r}{caught.value.message}"
    return caught.value, server


async def test_a_form_is_posted_and_an_object_comes_back() -> None:
    """With what a token endpoint wants to be told."""
    async with vendor_server(Said({"access_token": "t"})) as server:
        assert await post(server, headers={"Authorization": "Basic x"}) == {"access_token": "t"}
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.form) == ("POST", "/token", FORM)
    wanted = {
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
        "Authorization": "Basic x",
    }
    assert {name: asked.headers[name] for name in wanted} == wanted


async def test_a_connection_may_name_another_endpoint() -> None:
    """As tests and sovereign clouds do."""
    async with vendor_server(Said({})) as server, bench(server) as one:
        endpoint = TokenEndpoint(one.transport, one.clock, OWN)
        await endpoint.post(one.invocation(token_url=f"{server.url}/elsewhere"), FORM)
    assert [asked.path for asked in server.asked] == ["/elsewhere"]


@pytest.mark.parametrize("url", ["https://auth.vendor.example/token", "not a url", "ftp://x", 7, None])
async def test_a_host_that_the_connection_does_not_name_is_not_asked(url: object) -> None:
    """Nor is what is no URL: the form holds the credential."""
    async with vendor_server(Said({})) as server, bench(server) as one:
        endpoint = TokenEndpoint(one.transport, one.clock, f"{server.url}/token")
        with pytest.raises(AdapterError) as caught:
            await endpoint.post(one.invocation(token_url=url), FORM)
    assert caught.value.kind in (ErrorKind.ADDRESS_REFUSED, ErrorKind.FORBIDDEN)
    assert not server.asked


@pytest.mark.parametrize("code", ["invalid_grant", "invalid_client", "unauthorized_client", "bad_refresh_token"])
@pytest.mark.parametrize("status", [200, 400, 401, 403])
async def test_a_credential_that_is_good_no_more_needs_a_person(code: str, status: int) -> None:
    """Some vendors say so in a 200; their own words do not come through."""
    said = Said({"error": code, "error_description": "Token has been expired or revoked: a.b+c"}, status=status)
    error, server = await failure(said)
    assert error.kind is ErrorKind.NEEDS_AUTHORISATION
    assert "revoked" not in error.message
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (Said({"error": "invalid_scope"}, status=400), ErrorKind.FORBIDDEN),
        (Said({"error": "invalid_request"}, status=400), ErrorKind.FORBIDDEN),
        (Said({"ok": False, "error": "no_such_thing"}), ErrorKind.FORBIDDEN),
        (Said({"error": "temporarily_unavailable"}, status=400), ErrorKind.UNAVAILABLE),
        (Said({"error": "server_error"}), ErrorKind.UNAVAILABLE),
        (Said({"error": "slow_down"}, status=400), ErrorKind.RATE_LIMITED),
        (Said({}, status=401), ErrorKind.NEEDS_AUTHORISATION),
        (Said(body=b"<html>", status=401), ErrorKind.NEEDS_AUTHORISATION),
        (Said({}, status=403), ErrorKind.FORBIDDEN),
        (Said({}, status=404), ErrorKind.FORBIDDEN),
        (Said({}, status=408), ErrorKind.UNAVAILABLE),
        (Said({}, status=429), ErrorKind.RATE_LIMITED),
        (Said({}, status=500), ErrorKind.UNAVAILABLE),
        (Said(body=b"<html>", status=503), ErrorKind.UNAVAILABLE),
        (Said({"error": {"code": 7, "message": "an object"}}, status=500), ErrorKind.UNAVAILABLE),
        (Said({"error": {"code": 7}}), ErrorKind.MALFORMED),
        (Said({"ok": False}), ErrorKind.MALFORMED),
        (Said({}, status=302, headers={"Location": "https://evil.example/"}), ErrorKind.MALFORMED),
        (Said(body=b""), ErrorKind.MALFORMED),
        (Said(body=b"access_token=t&expires_in=9"), ErrorKind.MALFORMED),
        (Said(body=b'{"access_token": "\\ud800"}'), ErrorKind.MALFORMED),
        (Said([{"access_token": "t"}]), ErrorKind.MALFORMED),
        (Said(None), ErrorKind.MALFORMED),
        (Said({"access_token": "x" * 100_000}), ErrorKind.MALFORMED),
        (Said(cut=True), ErrorKind.UNAVAILABLE),
    ],
)
async def test_every_other_answer_is_an_error_of_the_closed_set(said: Said, kind: ErrorKind) -> None:
    """Asked once: a repetition may be the one that takes a good credential back."""
    error, server = await failure(said, Said({"access_token": "second"}))
    assert error.kind is kind
    assert error.attempts == 1
    assert len(server.asked) == 1


@pytest.mark.parametrize(("header", "wait"), [("30", 30), ("-3", 0), ("nan", None), ("1e99", 86_400), ("soon", None)])
async def test_how_long_a_vendor_wants_to_be_left_alone_is_told(header: str, wait: float | None) -> None:
    """In seconds of a day at most."""
    error, _ = await failure(Said({}, status=429, headers={"Retry-After": header}))
    assert error.retry_after_seconds == wait


async def test_a_vendor_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the vendor that is late, and not the call."""
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.05)
    error, server = await failure(Said(hangs=True))
    assert (error.kind, error.fault) == (ErrorKind.UNAVAILABLE, Fault.TIMEOUT)
    assert len(server.asked) == 1


async def test_an_answer_is_waited_for_though_the_call_has_no_time() -> None:
    """It may hold the only credential that is good; who is in a hurry leaves the waiting to others."""
    async with vendor_server(Said({"access_token": "t"})) as server:
        assert await post(server, seconds=0.0) == {"access_token": "t"}
        assert await post(server, seconds=-5.0) == {"access_token": "t"}


@pytest.mark.parametrize("token", [None, "", 7, True, ["t"], {"t": 1}, "a b", "a\r\nX-Evil: 1", "tökén", "x" * 8193])
def test_what_is_no_token_that_can_be_sent_is_malformed(token: object) -> None:
    """It would end in a header."""
    with pytest.raises(AdapterError) as caught:
        grant_of({"access_token": token}, 0.0)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.MALFORMED, Happened.NO)


def test_a_token_has_its_time_from_now_on() -> None:
    """And the credential that came with it."""
    grant = grant_of({"access_token": "t", "expires_in": 60}, 1000.0, credential="new")
    assert (grant.access_token, grant.expires_at, grant.credential) == ("t", 1060.0, "new")
    assert grant_of({"access_token": "t"}, 1000.0).credential is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (60, 60.0),
        (59.5, 59.5),
        ("3599", 3599.0),
        (315_705_599, MOST_SECONDS),
        (1e300, MOST_SECONDS),
        ("9" * 12, MOST_SECONDS),
        ("9" * 13, USUAL_SECONDS),
        (0, USUAL_SECONDS),
        (-5, USUAL_SECONDS),
        ("-5", USUAL_SECONDS),
        ("0", USUAL_SECONDS),
        ("", USUAL_SECONDS),
        ("1e3", USUAL_SECONDS),
        ("٣٦٠٠", USUAL_SECONDS),
        (True, USUAL_SECONDS),
        (None, USUAL_SECONDS),
        ([60], USUAL_SECONDS),
        (float("inf"), USUAL_SECONDS),
        (float("nan"), USUAL_SECONDS),
    ],
)
def test_how_long_a_token_is_good(value: object, seconds: float) -> None:
    """As the vendor says, a day at most; an hour when it says nothing that is a length of time."""
    assert seconds_of(value) == seconds


def test_what_can_stand_in_a_header() -> None:
    """Visible ASCII."""
    assert is_sendable("ya29.a0-_~+/=")
    assert not any(map(is_sendable, ("", " ", "a b", "a\n", "é", "\x7f")))


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("http://auth.vendor.example/token", "https"),
        ("https://evil.example/token", "must name evil.example"),
        ("https://auth.vendor.example/token?x=1", "query"),
        ("https://auth.vendor.example/token#x", "fragment"),
        ("https://user@auth.vendor.example/token", "user name"),
        ("auth.vendor.example/token", "absolute"),
        ("", "absolute"),
        (7, "absolute"),
        (None, "absolute"),
        (["https://auth.vendor.example/token"], "absolute"),
    ],
)
def test_what_is_wrong_with_an_option_is_told_at_start(url: object, word: str) -> None:
    """A sentence of the option."""
    target = Target(name="c", hosts=("auth.vendor.example",), options={"token_url": url})
    (problem,) = token_url_problems(target, OWN)
    assert word in problem
    assert "token_url" in problem or problem.startswith("hosts:")


def test_the_vendors_own_has_to_be_named_too() -> None:
    """The credential goes there."""
    assert token_url_problems(Target(name="c", hosts=("auth.vendor.example",)), OWN) == []
    assert token_url_problems(Target(name="c", hosts=("auth.vendor.example:443",)), OWN) == []
    assert len(token_url_problems(Target(name="c", hosts=("api.vendor.example",)), OWN)) == 1
