"""What every `TokenStore` does: the one in memory, and the durable one over SQLite and PostgreSQL, as one process and
as two replicas that share a store.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from fakes.grants import Issuer, PatientClock, Places, invocation
from fakes.seal import FakeSeal
from real.postgres import Postgres
from real.stores import opened, postgres_settings, sqlite_settings

from adapters.base import AdapterError, ErrorKind, Happened, TokenStore
from adapters.transport.tokens import MemoryTokens
from gateway.credentials.tokens import StoreTokens
from gateway.settings.store import StoreSettings
from gateway.store.database import Database

REFERENCE = "env:DRIVE"
_tenants = itertools.count()
_made: dict[Postgres, StoreSettings] = {}
"""One database for all: each test has a tenant of its own."""


@dataclass
class Kit:
    """A store of tokens, another one over the same state if it can be shared, and a vendor."""

    tokens: TokenStore
    other: TokenStore
    clock: PatientClock
    issuer: Issuer
    places: Places = field(default_factory=Places)
    tenant: str = field(default_factory=lambda: f"tenant-{next(_tenants)}")

    async def ask(self, *, refused: str = "", other: bool = False, issuer: Issuer | None = None, **more: object) -> str:
        """An access token, as a call gets it."""
        store, vendor = self.other if other else self.tokens, issuer or self.issuer
        call = invocation(self.clock, **{"account": f"{self.tenant}/drive", **more})  # type: ignore[arg-type]
        return (await store.access_token(call, vendor.exchange, refused=refused)).reveal()

    async def failure(self, **more: object) -> AdapterError:
        """What asking ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(**more)  # type: ignore[arg-type]
        assert caught.value.happened is Happened.NO
        return caught.value

    def authorise(self, credential: str) -> None:
        """A person has put another credential in its place."""
        self.issuer.good = self.places.values[REFERENCE] = credential


def stored(database: Database, places: Places, clock: PatientClock) -> StoreTokens:
    """The durable one. The credential is where nobody can write it."""
    return StoreTokens(
        database, FakeSeal(), lambda: places, lambda account: (account.partition("/")[0], REFERENCE), clock=clock
    )


async def in_postgres(server: Postgres) -> StoreSettings:
    """The database that all tests share."""
    if server not in _made:
        _made[server] = await postgres_settings(server, timeout_ms=10_000)
    return _made[server]


@pytest.fixture(params=["memory", "sqlite", "postgresql", "two on sqlite", "two on postgresql"])
async def kit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kit]:
    """Each implementation in turn."""
    clock = PatientClock()
    issuer = Issuer(clock)
    if request.param == "memory":
        memory = MemoryTokens(clock)
        yield Kit(memory, memory, clock, issuer)
        return
    settings: StoreSettings = (
        await sqlite_settings(tmp_path)
        if "sqlite" in request.param
        else await in_postgres(request.getfixturevalue("server"))
    )
    places = Places({REFERENCE: "first-credential"})
    async with opened(settings) as first, opened(settings) as second:
        one = stored(first, places, clock)
        other = stored(second, places, clock) if "two" in request.param else one
        yield Kit(one, other, clock, issuer, places)
        await one.stop()
        await other.stop()


async def test_a_token_is_asked_for_once_and_kept(kit: Kit) -> None:
    """By whoever asks, in whichever replica; the credential is what the vendor is shown."""
    assert [await kit.ask(), await kit.ask(), await kit.ask(other=True)] == ["access-1"] * 3
    assert kit.issuer.asked == ["first-credential"]


async def test_fifty_who_ask_at_once_have_the_vendor_asked_once(kit: Kit) -> None:
    """Half of them in each replica."""
    asked = (kit.ask(other=bool(number % 2)) for number in range(50))
    assert set(await asyncio.gather(*asked)) == {"access-1"}
    assert len(kit.issuer.asked) == 1


async def test_each_who_asks_learns_what_is_secret(kit: Kit) -> None:
    """Whether or not the vendor was asked for it."""
    for _ in range(2):
        learned: list[str] = []
        assert await kit.ask(learned=learned) in learned


@pytest.mark.parametrize(("left", "asked"), [(61.0, 1), (60.0, 2), (59.0, 2), (-100.0, 2)])
async def test_a_token_is_used_while_it_is_good_for_a_minute_more(kit: Kit, left: float, asked: int) -> None:
    """Then there is another one."""
    await kit.ask()
    kit.clock.advance(kit.issuer.seconds - left)
    assert await kit.ask() == f"access-{asked}"
    assert await kit.ask(other=True) == f"access-{asked}"
    assert len(kit.issuer.asked) == asked


async def test_a_refused_token_is_replaced_for_all(kit: Kit) -> None:
    """Once, however many were refused, and nobody gets the refused one any more."""
    token = await kit.ask()
    assert await kit.ask(other=True) == token
    asked = (kit.ask(refused=token, other=bool(number % 2)) for number in range(20))
    assert set(await asyncio.gather(*asked)) == {"access-2"}
    assert {await kit.ask(), await kit.ask(refused=token, other=True)} == {"access-2"}
    assert len(kit.issuer.asked) == 2


async def test_one_who_is_refused_does_not_take_an_answer_that_began_before(kit: Kit) -> None:
    """It may be the same token again, so that the vendor is asked once more."""
    kit.issuer.gate.clear()
    first = asyncio.ensure_future(kit.ask())
    await kit.issuer.arrived.wait()
    second = asyncio.ensure_future(kit.ask(refused="access-1"))
    await asyncio.sleep(0)
    kit.issuer.gate.set()
    assert [await first, await second] == ["access-1", "access-2"]


async def test_a_caller_that_leaves_breaks_nothing_off(kit: Kit) -> None:
    """The answer is there for the next."""
    kit.issuer.gate.clear()
    leaver = asyncio.ensure_future(kit.ask())
    await kit.issuer.arrived.wait()
    leaver.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaver
    stays = asyncio.ensure_future(kit.ask())
    kit.issuer.gate.set()
    assert await stays == "access-1"
    assert len(kit.issuer.asked) == 1


async def test_who_waits_has_a_deadline_of_their_own(kit: Kit) -> None:
    """The one for whom the vendor was asked too; the answer is there for those with more time."""
    kit.issuer.gate.clear()
    patient = asyncio.ensure_future(kit.ask(seconds=20.0))
    await kit.issuer.arrived.wait()
    error = await kit.failure(seconds=0.05)
    assert error.kind is ErrorKind.DEADLINE
    kit.issuer.gate.set()
    assert await patient == "access-1"


async def test_time_that_is_up_is_no_time(kit: Kit) -> None:
    """Nobody is asked in vain for long."""
    assert (await kit.failure(seconds=-1.0)).kind is ErrorKind.DEADLINE


async def test_a_rotated_credential_is_what_the_vendor_is_shown_next(kit: Kit) -> None:
    """Though calls are still lent the first one."""
    kit.issuer.rotates = True
    tokens = [await kit.ask()]
    for _ in range(2):
        tokens.append(await kit.ask(refused=tokens[-1]))
    tokens += [await kit.ask(other=True), await kit.ask(refused="access-3", other=True)]
    assert tokens == ["access-1", "access-2", "access-3", "access-3", "access-4"]
    assert kit.issuer.asked == ["first-credential", "credential-1", "credential-2", "credential-3"]


async def test_a_rotation_outlives_the_caller_that_left(kit: Kit) -> None:
    """It was the only credential that was good."""
    kit.issuer.rotates = True
    kit.issuer.gate.clear()
    leaver = asyncio.ensure_future(kit.ask())
    await kit.issuer.arrived.wait()
    leaver.cancel()
    await asyncio.gather(leaver, return_exceptions=True)
    kit.issuer.gate.set()
    assert await kit.ask() == "access-1"
    assert await kit.ask(refused="access-1") == "access-2"
    assert kit.issuer.asked == ["first-credential", "credential-1"]


async def test_an_account_that_was_authorised_anew_begins_anew(kit: Kit) -> None:
    """Neither the old token nor what the vendor gave in the old credential's place is used."""
    kit.issuer.rotates = True
    await kit.ask()
    kit.authorise("second-credential")
    assert await kit.ask(lent="second-credential") == "access-2"
    assert await kit.ask(lent="second-credential", other=True) == "access-2"
    assert kit.issuer.asked == ["first-credential", "second-credential"]


@pytest.mark.parametrize("kind", [ErrorKind.UNAVAILABLE, ErrorKind.NEEDS_AUTHORISATION, ErrorKind.RATE_LIMITED])
async def test_what_a_vendor_says_no_with_is_what_all_are_told(kit: Kit, kind: ErrorKind) -> None:
    """Each by an error of its own, in the vendor's adapter's words; the wait with it."""
    kit.issuer.error = AdapterError(kind, "Our own words.", happened=Happened.NO, retry_after_seconds=7.0)
    kit.issuer.gate.clear()
    callers = [asyncio.ensure_future(kit.failure()) for _ in range(5)]
    await kit.issuer.arrived.wait()
    await asyncio.sleep(0.01)
    kit.issuer.gate.set()
    errors = await asyncio.gather(*callers)
    assert {(error.kind, error.message, error.retry_after_seconds) for error in errors} == {(kind, "Our own words.", 7)}
    assert len({id(error) for error in errors}) == 5
    assert len(kit.issuer.asked) == 1


async def test_the_end_of_anothers_time_is_not_the_end_of_ours(kit: Kit) -> None:
    """An exchange may go by the deadline of the call that it was begun for."""
    kit.issuer.error = AdapterError(ErrorKind.DEADLINE, "Its time was up.", happened=Happened.NO)
    kit.issuer.gate.clear()
    hurried = asyncio.ensure_future(kit.failure())
    await kit.issuer.arrived.wait()
    patient = asyncio.ensure_future(kit.ask())
    await asyncio.sleep(0.01)

    kit.issuer.gate.set()
    assert (await hurried).kind is ErrorKind.DEADLINE
    kit.issuer.error = None
    assert await patient == "access-2"


async def test_a_vendor_who_was_away_is_asked_again(kit: Kit) -> None:
    """By the next call."""
    kit.issuer.error = AdapterError(ErrorKind.UNAVAILABLE, "Not now.", happened=Happened.NO)
    await kit.failure()
    kit.issuer.error = None
    assert await kit.ask() == "access-2"


async def test_a_failure_leaves_the_token_that_is_there(kit: Kit) -> None:
    """Whoever was not refused may use it on."""
    await kit.ask()
    kit.issuer.error = AdapterError(ErrorKind.UNAVAILABLE, "Not now.", happened=Happened.NO)
    await kit.failure(refused="access-1")
    assert await kit.ask() == "access-1"


async def test_accounts_have_nothing_in_common(kit: Kit) -> None:
    """Neither the token, nor waiting for it, even when both have the same credential."""
    kit.issuer.gate.clear()
    slow = asyncio.ensure_future(kit.ask())
    await kit.issuer.arrived.wait()
    quick = Issuer(kit.clock)
    assert await kit.ask(account=f"{kit.tenant}/other", issuer=quick) == "access-1"
    assert len(quick.asked) == 1
    kit.issuer.gate.set()
    assert await slow == "access-1"
    assert await kit.ask(account=f"{kit.tenant}/other", issuer=quick, refused="access-1") == "access-2"
    assert await kit.ask() == "access-1"


async def test_no_credential_at_all_is_shown_as_none(kit: Kit) -> None:
    """It is for the exchange to say what that means."""
    kit.authorise("")
    assert await kit.ask(lent="") == "access-1"
    assert kit.issuer.asked == [""]
