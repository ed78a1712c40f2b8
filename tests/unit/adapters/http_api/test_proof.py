"""A credential is sent as the connection says, or not at all."""

import base64
from typing import Any

import pytest

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Invocation, Secret, Target
from adapters.http_api.accounts import account_of
from adapters.http_api.proof import Proof, query_of, told_again


class Asking:
    """A call, and what was learned in it."""

    def __init__(self, credential: str | None, *, audience: str = "", **options: Any) -> None:
        self.learned: list[str] = []
        self.invocation = Invocation(
            arguments={},
            target=Target(name="c", options=options, audience=audience),
            credential=None if credential is None else Secret(credential),
            deadline=0.0,
            effect_id="e",
            learn=lambda secret: self.learned.append(secret.reveal()),
            assertion=self._assertion,
        )

    async def _assertion(self) -> Secret:
        return Secret("header.claims.signature")

    async def headers(self) -> dict[str, str]:
        """What the proof is."""
        return dict(await Proof().headers(self.invocation))

    async def refused(self) -> AdapterError:
        """Why there is none."""
        with pytest.raises(AdapterError) as caught:
            await self.headers()
        assert (caught.value.kind, caught.value.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
        return caught.value


async def test_each_way() -> None:
    """A bearer token, a header of its own, and nothing in a header when it goes into the query."""
    assert await Asking("t-1", auth={"kind": "bearer"}).headers() == {"Authorization": "Bearer t-1"}
    header = {"kind": "header", "name": "X-Api-Key", "form": "Key {}"}
    assert await Asking("a{}b", auth=header).headers() == {"X-Api-Key": "Key a{}b"}
    query = Asking("t-1", auth={"kind": "query", "name": "api_key"})
    assert await query.headers() == {}
    assert query_of(query.invocation, account_of(query.invocation.target)) == {"api_key": "t-1"}
    assert await Asking(None).headers() == {}


async def test_basic_authentication() -> None:
    """A password may hold colons, blanks and any letter; it is secret without its name too."""
    asking = Asking("bot:pa ss:wörd", auth={"kind": "basic"})
    assert await asking.headers() == {"Authorization": f"Basic {base64.b64encode('bot:pa ss:wörd'.encode()).decode()}"}
    assert asking.learned == ["pa ss:wörd"]


@pytest.mark.parametrize("credential", ["bot", ":x", "bot:", "bot:a\nb", "bot:\0"])
async def test_what_is_no_pair_is_not_sent(credential: str) -> None:
    """Nor half of it."""
    await Asking(credential, auth={"kind": "basic"}).refused()


async def test_a_credential_without_a_way_is_not_sent() -> None:
    """Nor is anything asked in its place; it says what is to be done."""
    assert "`auth`" in (await Asking("t-1").refused()).message
    assert "has no credential" in (await Asking(None, auth={"kind": "bearer"}).refused()).message


async def test_who_calls_is_told_to_whom_it_is_meant_for() -> None:
    """And to nobody else."""
    expected = {"Authorization": "Bearer t-1", "Tollhouse-Assertion": "header.claims.signature"}
    assert await Asking("t-1", audience="crm", auth={"kind": "bearer"}).headers() == expected
    assert await Asking(None, audience="crm").headers() == {"Tollhouse-Assertion": "header.claims.signature"}


async def test_what_an_assertion_fails_with_is_passed_on() -> None:
    """Nothing was sent."""
    invocation = Invocation(
        arguments={}, target=Target(name="c", audience="crm"), credential=None, deadline=0.0, effect_id="e"
    )
    with pytest.raises(AdapterError) as caught:
        await Proof().headers(invocation)
    assert caught.value.happened is Happened.NO


async def test_there_is_no_other_proof() -> None:
    """A service that refuses it needs a person."""
    assert await Proof().renewed(Asking("t-1").invocation, {}) is None


def test_an_error_told_again_has_nothing_behind_it() -> None:
    """What a library raised may hold the URL with the credential."""
    error = AdapterError(
        ErrorKind.UNAVAILABLE,
        "Later.",
        happened=Happened.UNKNOWN,
        fault=Fault.RESET,
        retry_after_seconds=3.0,
        attempts=2,
    )
    error.__cause__ = ValueError("https://a.example/?api_key=t-1")
    again = told_again(error)
    assert again.__dict__ == error.__dict__
    assert again.__cause__ is None
    assert again.__context__ is None
