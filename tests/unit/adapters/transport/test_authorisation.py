"""Proof by the credential itself."""

import base64
from dataclasses import replace

import pytest
from fakes.clock import FakeClock
from fakes.grants import invocation

from adapters.base import AdapterError, ErrorKind, Happened, Secret
from adapters.transport.authorisation import Basic, Bearer, WhenGiven, header_text, needs_authorisation

CANNOT_BE_SENT = ["", " ", "a b", "a\r\nX-Evil: 1", "a\nb", "a\tb", "a\x00", "a\x7f", "pässwörd", "\ud800", "a\u2028b"]


async def test_the_credential_is_in_one_header() -> None:
    """In the form that the vendor wants."""
    call = invocation(FakeClock(), lent="s3cr3t")
    assert await Bearer().headers(call) == {"Authorization": "Bearer s3cr3t"}
    assert await Bearer("X-Api-Key", "{}").headers(call) == {"X-Api-Key": "s3cr3t"}


@pytest.mark.parametrize("credential", ["a{0}b", "{}", "%s", "a:b"])
async def test_a_credential_is_no_form(credential: str) -> None:
    """Whatever is in it stands as it is."""
    call = invocation(FakeClock(), lent=credential)
    assert await Bearer().headers(call) == {"Authorization": f"Bearer {credential}"}
    headers = await Basic().headers(call)
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode() == f"{credential}:"


async def test_basic_is_name_and_password() -> None:
    """One of them is the credential."""
    call = invocation(FakeClock(), lent="s3cr3t")
    headers = await Basic("robot:{}".format).headers(call)
    assert headers == {"Authorization": f"Basic {base64.b64encode(b'robot:s3cr3t').decode()}"}


@pytest.mark.parametrize("credential", CANNOT_BE_SENT)
@pytest.mark.parametrize("way", [Bearer(), Basic()], ids=["bearer", "basic"])
async def test_what_cannot_stand_in_a_header_needs_a_person(way: Bearer | Basic, credential: str) -> None:
    """It is sent neither whole nor in part, and is not in the words."""
    with pytest.raises(AdapterError) as caught:
        await way.headers(invocation(FakeClock(), lent=credential))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert len(credential) < 3 or credential not in f"{caught.value!r}{caught.value.message}"


def test_none_needs_a_person_too() -> None:
    """So does one that was dropped."""
    dropped = Secret("s3cr3t")
    dropped.drop()
    for secret in (None, dropped):
        with pytest.raises(AdapterError):
            header_text(secret)


@pytest.mark.parametrize("way", [Bearer(), Basic()], ids=["bearer", "basic"])
async def test_there_is_no_other_when_it_is_refused(way: Bearer | Basic) -> None:
    """The credential is what it is."""
    call = invocation(FakeClock(), lent="s3cr3t")
    assert await way.renewed(call, await way.headers(call)) is None


def test_the_words_say_what_is_to_be_done() -> None:
    """By whom."""
    assert "operator" in needs_authorisation().message
    assert needs_authorisation("Other words.").message == "Other words."


async def test_a_server_may_want_no_proof() -> None:
    """Then nothing is sent; where there is a credential it is, or it needs a person."""
    way = WhenGiven(Bearer())
    call = invocation(FakeClock(), lent="s3cr3t")
    assert await way.headers(call) == {"Authorization": "Bearer s3cr3t"}
    assert await way.renewed(call, {}) is None
    none = replace(call, credential=None)
    assert await way.headers(none) == {}
    assert await way.renewed(none, {}) is None
    with pytest.raises(AdapterError):
        await way.headers(replace(call, credential=Secret("")))
