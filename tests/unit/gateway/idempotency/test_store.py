"""`StoreKeys` where the contract and the integration tests say nothing: what it owes, and what it refuses."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.claims import claim
from fakes.clock import FakeClock
from fakes.lines import result
from fakes.seal import FakeSeal
from real.stores import locked, opened, sqlite_settings

from adapters.base import Fault
from gateway.call import Standing
from gateway.errors import Reason, Refusal
from gateway.idempotency.store import StoreKeys
from gateway.store.failures import StoreDown


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[tuple[StoreKeys, Path]]:
    """Keys, and the file under them."""
    settings = await sqlite_settings(tmp_path, timeout_ms=100)
    async with opened(settings) as database:
        yield StoreKeys(database, writer="w1", clock=FakeClock(), seal=FakeSeal()), settings.path


async def test_a_tenant_has_one_object(store: tuple[StoreKeys, Path]) -> None:
    """What it owes is remembered in it."""
    keys, _ = store
    assert keys.of("acme") is keys.of("acme")
    assert keys.owed == 0


async def test_a_refusal_says_how_the_store_failed(store: tuple[StoreKeys, Path]) -> None:
    """To the line, and not to the agent."""
    keys, path = store
    await keys.of("acme").look("k")
    with locked(path), pytest.raises(Refusal) as caught:
        await keys.of("acme").claim(claim(), b"{}")
    assert (caught.value.reason, caught.value.fault) == (Reason.STORE_UNAVAILABLE, Fault.TIMEOUT)
    assert "nothing was sent" in caught.value.message


async def test_what_is_owed_of_one_key_holds_no_other_up(store: tuple[StoreKeys, Path]) -> None:
    """Two calls that want one key owe apart; `mend` pays all, and fails while it cannot."""
    keys, path = store
    one = keys.of("acme")
    await one.claim(claim(), b"{}")
    with locked(path):
        await asyncio.gather(one.leave_unknown(claim()), *(_refused(one, f"d{n}", f"k{n}") for n in range(3)))
        assert keys.owed == 4
        with pytest.raises(StoreDown):
            await keys.mend()
        assert keys.owed == 4
    await keys.mend()
    assert keys.owed == 0
    known = await one.look("k")
    assert known is not None
    assert known.standing is Standing.UNKNOWN
    assert [await one.look(f"k{n}") for n in range(3)] == [None] * 3


async def _refused(keys: object, call_id: str, key: str) -> None:
    with pytest.raises(Refusal):
        await keys.claim(claim(call_id, key), b"{}")  # type: ignore[attr-defined]


async def test_another_tenant_of_sqlite_is_refused(store: tuple[StoreKeys, Path]) -> None:
    """Nothing is sent for it."""
    keys, _ = store
    await keys.of("acme").look("k")
    with pytest.raises(Refusal) as caught:
        await keys.of("rival").claim(claim(), b"{}")
    assert caught.value.reason is Reason.STORE_UNAVAILABLE


class _Stuck(FakeSeal):
    """Never comes to an end."""

    async def seal(self, tenant: str, place: str, plain: bytes) -> bytes:
        """Nothing."""
        await asyncio.Event().wait()
        return b""


async def test_a_caller_that_leaves_while_its_result_is_sealed_has_acted_all_the_same(tmp_path: Path) -> None:
    """The key is done, without the result."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        store = StoreKeys(database, writer="w1", clock=FakeClock(), seal=_Stuck())
        one = store.of("acme")
        await one.claim(claim(), b"{}")
        settling = asyncio.create_task(one.settle(claim(), result()))
        await asyncio.sleep(0)
        settling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await settling
        await store.mend()
        known = await one.look("k")
        assert known is not None
        assert (known.standing, known.result) == (Standing.DONE, None)
