"""`StoreKeys` where the contract and the integration tests say nothing: what it owes, and what it refuses."""

import asyncio
import functools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fakes.claims import claim
from fakes.clock import FakeClock
from fakes.lines import result
from fakes.seal import FakeSeal
from real.stores import locked, opened, sqlite_settings
from sqlalchemy import Connection

from adapters.base import Fault
from gateway.call import Standing, Whose
from gateway.errors import Reason, Refusal
from gateway.idempotency.base import Claim
from gateway.idempotency.store import LEASE_SECONDS, StoreKeys, TenantKeys
from gateway.store.database import Session
from gateway.store.failures import StoreDown, StoreRefused


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[tuple[StoreKeys, Path]]:
    """Keys, and the file under them."""
    settings = await sqlite_settings(tmp_path)
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
    """Two calls that want one key owe apart; `mend` pays all, and fails while it cannot. A claim that the store was
    not asked to keep owes nothing.
    """
    keys, path = store
    one = keys.of("acme")
    await one.claim(claim(), b"{}")
    in_doubt = [claim(f"d{n}", f"k{n}") for n in range(3)]
    with locked(path):
        await one.leave_unknown(claim())
        await asyncio.gather(*(_refused(one, f"e{n}", f"k{n}") for n in range(3)))
        assert keys.owed == 1
        for each in in_doubt:
            one._owe(each, functools.partial(_undone, one, each))
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


async def test_a_claim_whose_commit_nobody_heard_of_is_owed(
    store: tuple[StoreKeys, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store may have it: the line of its call is nobody's until it is undone."""
    keys, _ = store
    one = keys.of("acme")
    await one.look("k")
    with monkeypatch.context() as broken:
        broken.setattr(Connection, "commit", _lost)
        await _refused(one, "c1", "k")
        assert one.is_owed(claim("c1", "k"))
        assert not one.holds(claim("c1", "k"))
        assert await one.whose(claim("c1", "k")) is Whose.UNTOLD
    assert await one.whose(claim("c1", "k")) is Whose.OURS
    assert not one.is_owed(claim("c1", "k"))
    assert await one.look("k") is None


def _lost(_connection: Connection) -> None:
    raise ConnectionResetError


async def test_a_lease_that_was_over_in_between_covers_no_older_claim(store: tuple[StoreKeys, Path]) -> None:
    """Others have had the time to close it, however good the lease is by now."""
    keys, _ = store
    one, clock = keys.of("acme"), keys._clock
    assert isinstance(clock, FakeClock)
    await one.claim(claim("c1", "k1"), b"{}")
    clock.advance(LEASE_SECONDS - 1)
    await keys.mend()
    assert one.holds(claim("c1", "k1"))
    clock.advance(LEASE_SECONDS)
    await keys.mend()
    assert one.is_held
    assert not one.holds(claim("c1", "k1"))
    await one.claim(claim("c2", "k2"), b"{}")
    assert one.holds(claim("c2", "k2"))
    assert await one.settle(claim("c2", "k2"), None) is Whose.OURS
    assert not one._covered


async def test_one_tenant_that_fails_keeps_no_other_from_its_lease(store: tuple[StoreKeys, Path]) -> None:
    """SQLite takes no second tenant; the first one's lease is renewed all the same."""
    keys, _ = store
    with pytest.raises(StoreRefused):
        await _both(keys)
    assert keys.of("acme").is_held


async def _both(keys: StoreKeys) -> None:
    await keys.of("acme").look("k")
    keys._tenants = {"rival": keys.of("rival"), "acme": keys.of("acme")}
    await keys.mend()


async def _undone(keys: TenantKeys, of: Claim, session: Session) -> None:
    await keys._undo(session, of, b"{}")


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
