"""`env:` beyond what every source does."""

import pytest

from gateway.credentials.env import EnvSource
from gateway.errors import Reason, Refusal


async def test_an_empty_variable_is_missing() -> None:
    """An empty password would be a surprise at the vendor."""
    with pytest.raises(Refusal) as caught:
        await EnvSource({"TOKEN": ""}).resolve("acme", "TOKEN")
    assert caught.value.reason is Reason.CREDENTIAL_MISSING


async def test_bytes_that_are_no_text_are_unavailable() -> None:
    """The environment keeps them as lone surrogates, which cannot be sent."""
    with pytest.raises(Refusal) as caught:
        await EnvSource({"TOKEN": "abc\udcff"}).resolve("acme", "TOKEN")
    assert caught.value.reason is Reason.CREDENTIAL_UNAVAILABLE


async def test_what_is_worked_out_is_shared_until_the_value_changes() -> None:
    """The encoded forms of a value are made once, and not kept for another."""
    environment = {"TOKEN": "first-value"}
    source = EnvSource(environment)
    first, second = await source.resolve("acme", "TOKEN"), await source.resolve("acme", "TOKEN")
    environment["TOKEN"] = "other-value"
    third = await source.resolve("acme", "TOKEN")
    assert first.derived is second.derived
    assert third.derived is not first.derived
