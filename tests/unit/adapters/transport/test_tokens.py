"""Tokens in memory. What every store of them does is in `tests/contract/test_token_store.py`."""

import pytest
from fakes.clock import FakeClock
from fakes.grants import Issuer, invocation

from adapters.base import AdapterError, ErrorKind, Invocation, Target
from adapters.transport.tokens import MemoryTokens


async def test_a_connection_without_an_account_goes_by_its_name() -> None:
    """In tests and tools that have no tenants."""
    clock = FakeClock()
    issuer, tokens = Issuer(clock, good=""), MemoryTokens(clock)
    for name in ("a", "b", "a"):
        call = Invocation(
            arguments={}, target=Target(name=name), credential=None, deadline=clock.monotonic() + 5, effect_id="e"
        )
        await tokens.access_token(call, issuer.exchange)
    assert issuer.asked == ["", ""]


async def test_what_was_rotated_is_kept_through_a_failure() -> None:
    """It is all that is good."""
    clock = FakeClock()
    issuer, tokens = Issuer(clock, rotates=True), MemoryTokens(clock)
    await tokens.access_token(invocation(clock), issuer.exchange)
    issuer.error = AdapterError(ErrorKind.UNAVAILABLE, "Not now.", happened="no")  # type: ignore[arg-type]
    with pytest.raises(AdapterError):
        await tokens.access_token(invocation(clock), issuer.exchange, refused="access-1")
    issuer.error = None
    await tokens.access_token(invocation(clock), issuer.exchange, refused="access-1")
    assert issuer.asked == ["first-credential", "credential-1", "credential-1"]


async def test_nothing_secret_is_printed() -> None:
    """By what holds it."""
    clock = FakeClock()
    tokens = MemoryTokens(clock)
    token = await tokens.access_token(invocation(clock), Issuer(clock).exchange)
    assert "access-1" not in f"{tokens!r}{token!r}{token}"
