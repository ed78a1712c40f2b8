"""What travels beside a request."""

from typing import Any

import pytest

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Secret, Target
from adapters.grpc_upstream import metadata


def invocation(audience: str = "", token: str = "a.b.c") -> Invocation:
    """One that can say who calls."""

    async def assertion() -> Secret:
        return Secret(token)

    target = Target(name="t", audience=audience)
    return Invocation(arguments={}, target=target, credential=None, deadline=0.0, effect_id="e", assertion=assertion)


def kind_of(caught: pytest.ExceptionInfo[AdapterError]) -> tuple[ErrorKind, Happened]:
    """Of an error."""
    return caught.value.kind, caught.value.happened


def test_a_credential_is_shown_as_the_connection_says() -> None:
    """Or there is none to show."""
    assert metadata.proof(("authorization", "Bearer "), Secret("s3")) == (("authorization", "Bearer s3"),)
    assert metadata.proof(("x-api-key", ""), Secret("s3")) == (("x-api-key", "s3"),)
    assert metadata.proof(None, None) == ()


@pytest.mark.parametrize(
    ("auth", "secret"),
    [
        (None, "s3"),
        (("x", ""), None),
        (("x", ""), ""),
        (("x", ""), "a\r\nb"),
        (("x", ""), "a b"),
        (("x", ""), "é"),
    ],
)
def test_a_credential_that_cannot_be_shown_needs_a_person(auth: Any, secret: str | None) -> None:
    """It is not sent in part."""
    with pytest.raises(AdapterError) as caught:
        metadata.proof(auth, None if secret is None else Secret(secret))
    assert kind_of(caught) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


async def test_who_calls_is_said_to_whom_it_is_for() -> None:
    """To nobody else."""
    assert await metadata.assertion(invocation("crm")) == (("tollhouse-assertion", "a.b.c"),)
    assert await metadata.assertion(invocation("")) == ()


async def test_an_assertion_that_cannot_be_sent_is_not() -> None:
    """Nor in part."""
    with pytest.raises(AdapterError) as caught:
        await metadata.assertion(invocation("crm", "a\nb"))
    assert kind_of(caught) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)


def test_a_key_goes_where_the_service_takes_one() -> None:
    """Nowhere else."""
    assert metadata.effect_key("x-idempotency-key", "eff-1") == (("x-idempotency-key", "eff-1"),)
    assert metadata.effect_key("", "eff-1") == ()


@pytest.mark.parametrize("effect_id", ["a\nb", "é", " a"])
def test_a_key_that_cannot_be_sent_is_not(effect_id: str) -> None:
    """The service would see another one."""
    with pytest.raises(AdapterError) as caught:
        metadata.effect_key("x-idempotency-key", effect_id)
    assert kind_of(caught) == (ErrorKind.INVALID, Happened.NO)


def test_names_that_nothing_else_uses() -> None:
    """In lower case."""
    assert metadata.is_free_name("x-api-key")
    assert metadata.is_free_name("authorization")
    taken = ["X", "", "grpc-status", "a-bin", "te", "host", ":path", metadata.ASSERTION, "a" * 65, "a b", 7, "x\n"]
    assert not [name for name in taken if metadata.is_free_name(name)]
