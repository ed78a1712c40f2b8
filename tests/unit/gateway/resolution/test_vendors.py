"""Asking vendors: whom, with what, and that nothing but a finding is one."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.clock import FakeClock
from fakes.unresolved import ARGUMENTS, TOKEN, Scene, bank, intent, pay_tool, unknown_effect
from real.stores import opened, sqlite_settings

from adapters.base import AdapterError, ErrorKind, Finding, Happened
from gateway.resolution.vendors import Answered
from gateway.rows import Binding
from gateway.settings.resolution import ResolutionSettings
from gateway.store.unknowns import ARGUMENTS_PLACE, Unknown, account_of


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """The store is not asked here."""
    clock = FakeClock()
    async with opened(await sqlite_settings(tmp_path), clock) as database:
        yield Scene(database=database, clock=clock)


async def _unknown(scene: Scene, **changes: Any) -> Unknown:
    sealed = await scene.seal.seal("acme", f"{ARGUMENTS_PLACE}k-c1", ARGUMENTS)
    return unknown_effect(**{"arguments": sealed} | changes)


async def test_the_vendor_is_asked_with_what_it_was_given(scene: Scene) -> None:
    """The effect's id, the prepared arguments, the account and its credential, which is dropped after."""
    scene.vendor.effects["e-c1"] = {}
    assert await scene.vendors().ask("acme", await _unknown(scene)) == Answered(Finding.DONE)
    (asked,) = scene.vendor.asked
    assert asked.effect_id == "e-c1"
    assert asked.arguments == orjson.loads(ARGUMENTS)
    assert asked.target == bank().target
    assert asked.deadline == scene.clock.monotonic() + scene.settings.ask_seconds
    assert scene.vendor.credentials == [TOKEN]
    assert asked.credential is not None
    assert asked.credential.reveal() == ""
    assert asked.since == (await _unknown(scene)).claimed_at.timestamp() - 60.0


async def test_a_connection_without_a_credential_is_asked_without(scene: Scene) -> None:
    """Its adapter needs none."""
    scene.connections = (bank(credential=""),)
    account = account_of(pay_tool().binding, bank(credential=""))
    answered = await scene.vendors().ask("acme", await _unknown(scene, intent=intent(account=account)))
    assert answered == Answered(Finding.NOT_DONE)
    assert scene.vendor.credentials == [""]


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (AdapterError(ErrorKind.UNAVAILABLE, "It is away.", happened=Happened.UNKNOWN), "vendor_unavailable"),
        (AdapterError(ErrorKind.NOT_FOUND, "No such thing.", happened=Happened.NO), "vendor_not_found"),
        (TimeoutError(), "vendor_deadline"),
        (ValueError("tok-5d1c6a6e9b"), "adapter_failed"),
        (asyncio.CancelledError(), "adapter_failed"),
        (BaseException("a panic"), "adapter_failed"),
    ],
)
async def test_a_failure_is_no_finding(scene: Scene, failure: BaseException, why: str) -> None:
    """Also one that says that nothing was done: that is said of the question. The credential is dropped."""
    scene.vendor.failures = [failure]
    assert await scene.vendors().ask("acme", await _unknown(scene)) == Answered(Finding.STILL_UNKNOWN, why)
    (asked,) = scene.vendor.asked
    assert asked.credential is not None
    assert asked.credential.reveal() == ""


@pytest.mark.parametrize("answer", ["done", "not_done", True, 1])
async def test_what_only_looks_like_a_finding_is_none(scene: Scene, answer: object) -> None:
    """The word is not the finding."""
    scene.vendor.answer = answer
    answered = await scene.vendors().ask("acme", await _unknown(scene))
    assert answered == Answered(Finding.STILL_UNKNOWN, "adapter_failed")


async def test_a_vendor_that_hangs_is_given_up(scene: Scene) -> None:
    """Within the time for one question and a little more."""
    scene.settings = ResolutionSettings(ask_seconds=0.01)
    scene.vendor.gate = asyncio.Event()
    answered = await scene.vendors().ask("acme", await _unknown(scene))
    assert answered == Answered(Finding.STILL_UNKNOWN, "vendor_deadline")


async def test_who_is_cancelled_asks_no_more(scene: Scene) -> None:
    """The cancellation is the asker's own."""
    scene.vendor.gate = asyncio.Event()
    asking = asyncio.create_task(scene.vendors().ask("acme", await _unknown(scene)))
    await scene.vendor.started.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


async def test_without_its_credential_nobody_is_asked(scene: Scene) -> None:
    """It is gone, it cannot be told, or the settings do not allow it any more."""
    scene.source.values = {}
    assert (await scene.vendors().ask("acme", await _unknown(scene))).why == "credential_missing"
    scene.source.failure = RuntimeError("tok-5d1c6a6e9b")
    assert (await scene.vendors().ask("acme", await _unknown(scene))).why == "credential_unavailable"
    scene.grants = ()
    assert (await scene.vendors().ask("acme", await _unknown(scene))).why == "credential_not_allowed"
    assert scene.vendor.asked == []


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": ()},
        {"connections": ()},
        {"connections": (bank(credential="env:OTHER"),)},
        {"tools": (pay_tool(binding=Binding(adapter="ledger", operation="post", connection="bank")),)},
    ],
)
async def test_another_than_was_asked_first_is_not_asked(scene: Scene, changes: dict[str, Any]) -> None:
    """The tool or its connection is gone, or another: that one would truly say that nothing was done."""
    scene = replace(scene, **changes)
    unknown = await _unknown(scene)
    assert not scene.vendors().can_ask("acme", unknown)
    assert await scene.vendors().ask("acme", unknown) == Answered(Finding.STILL_UNKNOWN, "nobody_to_ask")
    assert scene.vendor.asked == []


async def test_an_intent_that_names_no_account_is_not_asked(scene: Scene) -> None:
    """Nobody knows whom it was asked of."""
    for told in (intent(account=""), b"garbage"):
        unknown = await _unknown(scene, intent=told)
        assert not scene.vendors().can_ask("acme", unknown)


async def test_an_operation_that_cannot_be_asked_is_not(scene: Scene) -> None:
    """A person has to look."""
    post = pay_tool(name="post", binding=Binding(adapter="ledger", operation="post", connection="bank"))
    scene.tools = (post,)
    told = intent(tool="post", account=account_of(post.binding, bank()))
    assert not scene.vendors().can_ask("acme", await _unknown(scene, intent=told))


async def test_without_its_arguments_nobody_is_asked(scene: Scene) -> None:
    """They were not kept, do not open, or are not those that were used."""
    vendors = scene.vendors()
    assert scene.vendors().can_ask("acme", await _unknown(scene))
    assert not vendors.can_ask("acme", await _unknown(scene, arguments=None))
    assert (await vendors.ask("acme", await _unknown(scene, arguments=None))).why == "nobody_to_ask"
    assert (await vendors.ask("acme", await _unknown(scene, key="k-c2"))).why == "seal_broken"
    assert (await vendors.ask("acme", await _unknown(scene, arguments_digest="sha256:aa"))).why == "arguments_changed"
    assert scene.vendor.asked == []
