"""What would change is told before anybody is asked, or nobody is asked."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Invocation, Secret, Target
from gateway.errors import Reason, Refusal
from gateway.previewing import PREVIEW_BYTES, preview

INVOCATION = Invocation(arguments={}, target=Target(name="t"), credential=None, deadline=0.0, effect_id="e")


class Vendor:
    """Shows this, or raises it."""

    def __init__(self, shown: Any) -> None:
        self._shown = shown

    async def __call__(self, _invocation: Invocation) -> Any:
        """Show it."""
        if isinstance(self._shown, BaseException):
            raise self._shown
        return self._shown


async def test_what_is_and_what_will_be_is_json() -> None:
    """In the one form that is hashed."""
    assert await preview(Vendor({"will_be": "b", "was": "a"}), INVOCATION) == b'{"was":"a","will_be":"b"}'


async def test_a_credential_that_the_vendor_repeats_is_taken_out() -> None:
    """Of what was lent all of it, in keys and in encodings as well."""
    used, beside = Secret("tok-0123456789"), Secret("pass/word+1")
    shown = {"tok-0123456789": 1, "was": "pass%2Fword%2B1", "will_be": ["x tok-0123456789 y"]}
    raw = await preview(Vendor(shown), replace(INVOCATION, credential=used), secrets=lambda: (used, beside))
    assert raw == b'{"[redacted]":1,"was":"[redacted]","will_be":["x [redacted] y"]}'


@pytest.mark.parametrize(
    ("shown", "reason", "fault"),
    [
        (
            AdapterError(ErrorKind.UNAVAILABLE, "It is away.", happened=Happened.NO, fault=Fault.REFUSED),
            Reason.VENDOR_UNAVAILABLE,
            Fault.REFUSED,
        ),
        (RuntimeError("x"), Reason.APPROVALS_UNAVAILABLE, Fault.MALFORMED),
        (object(), Reason.APPROVALS_UNAVAILABLE, Fault.MALFORMED),
        ("x" * (PREVIEW_BYTES + 1), Reason.APPROVALS_UNAVAILABLE, Fault.MALFORMED),
    ],
)
async def test_nobody_is_asked_about_what_cannot_be_shown(shown: Any, reason: Reason, fault: Fault) -> None:
    """A vendor that is away, that breaks, that shows no JSON or too much of it."""
    with pytest.raises(Refusal) as caught:
        await preview(Vendor(shown), INVOCATION)
    assert (caught.value.reason, caught.value.fault) == (reason, fault)


async def test_a_vendor_that_does_not_answer_is_given_up() -> None:
    """In time."""

    async def stuck(_invocation: Invocation) -> Any:
        await asyncio.Event().wait()

    with pytest.raises(Refusal) as caught:
        await preview(stuck, INVOCATION, seconds=0.01)
    assert caught.value.fault is Fault.TIMEOUT
