"""What the durable store of access tokens does when one of those that it needs is away, or somebody is faster.

What every store of tokens does is in `tests/contract/test_token_store.py`.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.grants import REFERENCE, FailingSeal, Issuer, PatientClock, Places, invocation
from fakes.seal import FakeSeal
from real.stores import locked, opened, sqlite_settings
from sqlalchemy import select

from adapters.base import AdapterError, ErrorKind, Fault, Happened
from gateway.credentials import tokens as module
from gateway.credentials.token_rows import LEASE_SECONDS
from gateway.credentials.tokens import DEAD_SECONDS, StoreTokens
from gateway.errors import Reason
from gateway.invocation import REASON_OF
from gateway.registry.health import ConnectionHealth
from gateway.settings.store import StoreSettings
from gateway.store import rows, tokens
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.rows import NewRow, RowKind
from gateway.store.schema import access_tokens

ENV = "env:DRIVE"


class Kit:
    """Replicas over one database and one place of credentials, and a vendor who rotates."""

    def __init__(self, settings: StoreSettings, database: Database) -> None:
        self.settings = settings
        self.database = database
        self.clock = PatientClock()
        self.issuer = Issuer(self.clock, rotates=True)
        self.places = Places()
        self.seal = FailingSeal(FakeSeal())
        self.reference = REFERENCE
        self.is_gone = False
        self.events: list[tuple[str, dict[str, str]]] = []
        self.made: list[StoreTokens] = []
        self.tokens = self.replica()

    def replica(self, database: Database | None = None) -> StoreTokens:
        """One more."""
        where = lambda account: None if self.is_gone else (account.partition("/")[0], self.reference)  # noqa: E731
        one = StoreTokens(
            database or self.database,
            self.seal,
            lambda: self.places,
            where,
            clock=self.clock,
            on_event=lambda name, fields: self.events.append((name, dict(fields))),
        )
        self.made.append(one)
        return one

    async def ask(self, tokens: StoreTokens | None = None, *, refused: str = "", **more: object) -> str:
        """An access token, as a call gets it."""
        call = invocation(self.clock, **more)  # type: ignore[arg-type]
        return (await (tokens or self.tokens).access_token(call, self.issuer.exchange, refused=refused)).reveal()

    async def failure(self, tokens: StoreTokens | None = None, **more: object) -> AdapterError:
        """What asking ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(tokens, **more)  # type: ignore[arg-type]
        assert caught.value.happened is Happened.NO
        assert "credential-" not in repr(caught.value)
        assert "access-" not in repr(caught.value)
        return caught.value

    async def row(self) -> dict[str, object]:
        """What is in the store."""
        async with self.database.tenant("acme", is_read=True) as session:
            return dict((await session.execute(select(access_tokens))).one()._mapping)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return when it holds."""
        async with asyncio.timeout(5):
            while not holds():
                await asyncio.sleep(0.001)


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    """A fresh one."""
    settings = await sqlite_settings(tmp_path, timeout_ms=2_000)
    async with opened(settings) as database:
        made = Kit(settings, database)
        yield made
        for tokens_ in made.made:
            await tokens_.stop()


class TestRotation:
    """What a vendor gives in a credential's place is safe before its access token is used."""

    async def test_it_is_written_where_the_reference_leads(self, kit: Kit) -> None:
        """By the time that the caller has its token, and nothing is owed."""
        assert await kit.ask() == "access-1"
        assert kit.places.written == ["credential-1"]
        row = await kit.row()
        assert row["is_owed"] is False
        assert row["holder"] is None
        assert kit.events == [("credential_rotated", {"tenant": "acme", "connection": "drive"})]

    async def test_it_is_in_the_store_before_it_is_written_there(self, kit: Kit) -> None:
        """Sealed: a gateway that dies in between has lost nothing."""
        seen: list[object] = []

        async def look() -> None:
            seen.append((await kit.row())["sealed"])

        writes = kit.places.replace

        async def replace(*arguments: object) -> bool:
            await look()
            return await writes(*arguments)  # type: ignore[arg-type]

        kit.places.replace = replace  # type: ignore[method-assign, assignment]
        await kit.ask()
        (sealed,) = seen
        assert isinstance(sealed, bytes)
        assert b"credential-1" not in sealed
        assert b"credential-1" in await FakeSeal().open("acme", "access_tokens/drive", sealed)

    async def test_nothing_readable_is_in_the_row(self, kit: Kit) -> None:
        """Neither token nor credential, nor what tells them apart."""
        await kit.ask()
        text = repr(await kit.row())
        assert not [part for part in ("access-1", "credential", "first") if part in text.replace("access_tokens", "")]

    async def test_calls_that_are_lent_the_old_one_have_the_same_token(self, kit: Kit) -> None:
        """What was read a while ago is in caches for a while."""
        await kit.ask()
        other = kit.replica()
        for replica in (kit.tokens, other, kit.replica()):
            assert await kit.ask(replica, lent="first-credential") == "access-1"
            assert await kit.ask(replica, lent="credential-1") == "access-1"
        assert kit.issuer.asked == ["first-credential"]

    async def test_the_next_is_asked_with_what_is_there_now(self, kit: Kit) -> None:
        """Another replica, whose call was lent a credential that is good no more."""
        await kit.ask()
        other = kit.replica()
        assert await kit.ask(other, refused="access-1", lent="first-credential") == "access-2"
        assert kit.issuer.asked == ["first-credential", "credential-1"]
        assert kit.places.values[REFERENCE] == "credential-2"

    async def test_a_server_that_lags_behind_does_not_bring_an_old_one_back(self, kit: Kit) -> None:
        """A standby of a vault may still give what was replaced a moment ago."""
        await kit.ask()
        kit.places.values[REFERENCE] = "first-credential"
        assert await kit.ask(refused="access-1") == "access-2"
        assert kit.issuer.asked == ["first-credential", "credential-1"]

    @pytest.mark.parametrize("reference", [ENV, "file:/run/drive"])
    async def test_where_nobody_can_write_the_store_keeps_it(self, kit: Kit, reference: str) -> None:
        """As long as the reference gives what it replaced; also for a replica that starts later."""
        kit.reference = reference
        kit.places.values[reference] = "first-credential"
        await kit.ask()
        assert (await kit.row())["is_owed"] is False
        assert await kit.ask(kit.replica(), refused="access-1") == "access-2"
        assert await kit.ask(kit.replica(), refused="access-2") == "access-3"
        assert kit.issuer.asked == ["first-credential", "credential-1", "credential-2"]
        assert not kit.places.written

    @pytest.mark.parametrize("reference", [ENV, REFERENCE])
    async def test_a_new_authorisation_has_the_last_word(self, kit: Kit, reference: str) -> None:
        """Whatever was kept of the one before is used no more, and is written nowhere."""
        kit.reference = reference
        kit.places.values[reference] = "first-credential"
        await kit.ask()
        kit.issuer.good = kit.places.values[reference] = "second-credential"
        assert await kit.ask(lent="second-credential") == "access-2"
        assert kit.issuer.asked == ["first-credential", "second-credential"]
        assert "second-credential" not in kit.places.written

    async def test_a_credential_that_is_made_for_each_call_is_shown_as_it_was_lent(self, kit: Kit) -> None:
        """There is nothing to read again."""
        kit.reference = "vault-dynamic:engine/role"
        assert await kit.ask() == "access-1"
        assert kit.issuer.asked == ["first-credential"]

    async def test_a_vendor_that_does_not_rotate_has_nothing_written(self, kit: Kit) -> None:
        """The credential is read and left alone."""
        kit.issuer.rotates = False
        tokens_ = [await kit.ask()]
        tokens_.append(await kit.ask(refused=tokens_[-1]))
        assert tokens_ == ["access-1", "access-2"]
        assert kit.issuer.asked == ["first-credential"] * 2
        assert not kit.places.written
        assert not kit.events


class TestVaultDown:
    """The new credential is in the store, so nothing is lost; it is written back when the vault is there again."""

    async def test_the_token_is_used_and_the_rest_follows(self, kit: Kit) -> None:
        """In the background."""
        kit.places.is_write_down = True
        assert await kit.ask() == "access-1"
        assert (await kit.row())["is_owed"] is True
        assert kit.places.values[REFERENCE] == "first-credential"
        why = {"tenant": "acme", "connection": "drive", "why": "credential_unavailable"}
        assert ("credential_not_written", why) in kit.events
        kit.places.is_write_down = False
        await kit.until(lambda: bool(kit.places.written))
        await kit.until(lambda: not kit.tokens._debts)
        assert kit.places.values[REFERENCE] == "credential-1"
        assert (await kit.row())["is_owed"] is False
        assert await kit.ask() == "access-1"
        await asyncio.sleep(0.02)
        assert not kit.tokens._debts
        assert len(kit.issuer.asked) == 1

    async def test_a_replica_that_starts_later_pays_the_debt(self, kit: Kit) -> None:
        """The one that owed it is gone."""
        kit.places.is_write_down = True
        await kit.ask()
        await kit.tokens.stop()
        kit.places.is_write_down = False
        await kit.ask(kit.replica())
        await kit.until(lambda: bool(kit.places.written))
        assert kit.places.values[REFERENCE] == "credential-1"

    async def test_the_next_is_asked_with_the_new_one_all_the_same(self, kit: Kit) -> None:
        """And what comes of that is what is written in the end."""
        kit.places.is_write_down = True
        await kit.ask()
        assert await kit.ask(kit.replica(), refused="access-1") == "access-2"
        assert kit.issuer.asked == ["first-credential", "credential-1"]
        kit.places.is_write_down = False
        await kit.until(lambda: kit.places.values[REFERENCE] == "credential-2")

    async def test_what_is_owed_is_not_written_over_a_new_authorisation(self, kit: Kit) -> None:
        """Somebody was faster; the debt is none any more."""
        kit.places.is_write_down = True
        await kit.ask()
        kit.issuer.good = kit.places.values[REFERENCE] = "second-credential"
        kit.places.is_write_down = False
        await kit.until(lambda: not kit.tokens._debts)
        assert kit.places.values[REFERENCE] == "second-credential"
        assert (await kit.row())["is_owed"] is False
        assert await kit.ask(lent="second-credential") == "access-2"

    async def test_when_the_credential_cannot_be_read_the_vendor_is_not_asked(self, kit: Kit) -> None:
        """What is in a cache may be good no more. The token that is there is used on."""
        await kit.ask()
        kit.places.is_read_down = True
        error = await kit.failure(refused="access-1")
        assert error.kind is ErrorKind.UNAVAILABLE
        assert await kit.ask() == "access-1"
        assert len(kit.issuer.asked) == 1

    async def test_a_credential_that_is_not_there_needs_a_person(self, kit: Kit) -> None:
        """It was taken away."""
        del kit.places.values[REFERENCE]
        assert (await kit.failure()).kind is ErrorKind.NEEDS_AUTHORISATION
        assert not kit.issuer.asked


class TestConflict:
    """Somebody authorises the account anew while the vendor is asked."""

    async def test_the_new_authorisation_is_read_and_used(self, kit: Kit) -> None:
        """What came of the old one is dropped, token and all."""

        def authorise() -> None:
            kit.places.before_write = None
            kit.issuer.good = kit.places.values[REFERENCE] = "second-credential"

        kit.places.before_write = authorise
        assert await kit.ask() == "access-2"
        assert kit.issuer.asked == ["first-credential", "second-credential"]
        assert kit.places.values[REFERENCE] == "credential-2"
        assert await kit.ask(kit.replica(), lent="second-credential") == "access-2"

    async def test_somebody_who_never_stops_is_not_raced_for_ever(self, kit: Kit) -> None:
        """It ends as unavailable."""
        count = iter(range(100))

        def authorise() -> None:
            kit.issuer.good = kit.places.values[REFERENCE] = f"person-{next(count)}"

        kit.places.before_write = authorise
        assert (await kit.failure()).kind is ErrorKind.UNAVAILABLE
        assert len(kit.issuer.asked) == 3


class TestStoreDown:
    """Nothing is asked of a vendor that could not be kept."""

    async def test_nobody_asks_a_vendor(self, kit: Kit) -> None:
        """The call is told that it may try again."""
        with locked(kit.settings.path):
            error = await kit.failure()
        assert (error.kind, error.fault) == (ErrorKind.UNAVAILABLE, Fault.TIMEOUT)
        assert not kit.issuer.asked
        assert await kit.ask() == "access-1"

    async def test_a_token_in_memory_is_used_on(self, kit: Kit) -> None:
        """Until it is over."""
        await kit.ask()
        with locked(kit.settings.path):
            assert await kit.ask() == "access-1"

    async def test_a_seal_that_is_away_is_as_good_as_no_store(self, kit: Kit) -> None:
        """In the open nothing is kept, so nothing is asked."""
        kit.seal.is_down = True
        assert (await kit.failure()).kind is ErrorKind.UNAVAILABLE
        assert not kit.issuer.asked
        kit.seal.is_down = False
        assert await kit.ask() == "access-1"
        assert (await kit.row())["holder"] is None

    async def test_a_store_that_goes_away_meanwhile_leaves_the_vault(self, kit: Kit) -> None:
        """The credential is where the reference leads, so that its token may be used."""

        async def break_seal() -> None:
            kit.seal.is_down = True

        kit.issuer.before_answer = break_seal
        assert await kit.ask() == "access-1"
        assert kit.places.values[REFERENCE] == "credential-1"
        kit.seal.is_down, kit.issuer.before_answer = False, None
        assert await kit.ask(kit.replica(), refused="access-1") == "access-2"
        assert kit.issuer.asked == ["first-credential", "credential-1"]

    async def test_when_neither_takes_it_the_token_is_not_used(self, kit: Kit) -> None:
        """But nothing is lost while this process lives: it is kept as soon as it can be, and nobody is asked again."""

        async def break_all() -> None:
            kit.seal.is_down = kit.places.is_write_down = True

        kit.issuer.before_answer = break_all
        assert (await kit.failure()).kind is ErrorKind.UNAVAILABLE
        kit.seal.is_down, kit.issuer.before_answer = False, None
        assert await kit.ask() == "access-1"
        assert (await kit.row())["is_owed"] is True
        kit.places.is_write_down = False
        await kit.until(lambda: kit.places.values[REFERENCE] == "credential-1")
        assert kit.issuer.asked == ["first-credential"]

    async def test_what_could_not_be_kept_is_not_kept_over_a_new_authorisation(self, kit: Kit) -> None:
        """It is of nobody then."""

        async def break_all() -> None:
            kit.seal.is_down = kit.places.is_write_down = True

        kit.issuer.before_answer = break_all
        await kit.failure()
        kit.seal.is_down = kit.places.is_write_down = False
        kit.issuer.before_answer = None
        kit.issuer.good = kit.places.values[REFERENCE] = "second-credential"
        assert await kit.ask(lent="second-credential") == "access-2"
        assert kit.places.written == ["credential-2"]

    async def test_a_row_that_no_key_opens_is_as_good_as_none(self, kit: Kit) -> None:
        """The key was lost: the reference still knows."""
        await kit.ask()
        async with kit.database.tenant("acme") as session:
            content = tokens.Content(sealed=b"?", expires_at=moment_of(kit.clock.now() + 3600), is_owed=False)
            found = await tokens.find(session, "drive")
            assert found is not None
            assert await tokens.keep(session, "drive", content, after=found.version)
        assert await kit.ask(kit.replica()) == "access-2"
        assert kit.issuer.asked == ["first-credential", "credential-1"]


class TestLease:
    """One replica at a time."""

    async def test_one_that_was_killed_is_waited_for_no_longer_than_its_lease(self, kit: Kit) -> None:
        """Then another one asks."""
        now = kit.clock.now()
        async with kit.database.tenant("acme") as session:
            until = moment_of(now + LEASE_SECONDS)
            assert await tokens.take(session, "drive", "killed", now=moment_of(now), until=until) is not None
        waiting = asyncio.ensure_future(kit.ask())
        await kit.until(lambda: len(kit.clock.slept) > 2)
        assert not kit.issuer.asked
        kit.clock.advance(LEASE_SECONDS + 0.001)
        assert await waiting == "access-1"

    async def test_one_that_is_never_let_go_of_is_given_up(self, kit: Kit) -> None:
        """By whoever has time to wait; nothing was asked."""
        clock = kit.clock

        async def hold() -> None:
            async with kit.database.tenant("acme") as session:
                later = moment_of(clock.now() + 1e6)
                await tokens.take(session, "drive", "stuck", now=moment_of(0), until=later)

        await hold()
        waiting = asyncio.ensure_future(kit.failure())
        await kit.until(lambda: len(clock.slept) > 2)
        clock.advance(61)
        assert (await waiting).kind is ErrorKind.UNAVAILABLE
        assert not kit.issuer.asked

    async def test_an_answer_that_comes_after_the_lease_is_not_lost(self, kit: Kit) -> None:
        """Another replica has asked meanwhile: the credential that came last is the one that is good."""
        kit.issuer.gate.clear()
        slow = asyncio.ensure_future(kit.ask())
        await kit.issuer.arrived.wait()
        kit.clock.advance(LEASE_SECONDS + 1)
        kit.issuer.gate.set()
        assert await slow == "access-1"
        assert kit.places.values[REFERENCE] == "credential-1"

    async def test_what_another_kept_meanwhile_is_not_what_is_good(self, kit: Kit) -> None:
        """The vendor gave ours last: it is kept over what was kept after the lease had ended, or it is lost."""
        kit.reference = ENV
        kit.places.values[ENV] = "first-credential"
        kit.issuer.gate.clear()
        slow = asyncio.ensure_future(kit.ask())
        await kit.issuer.arrived.wait()
        async with kit.database.tenant("acme") as session:
            content = tokens.Content(sealed=b"?", expires_at=moment_of(0), is_owed=False)
            assert await tokens.keep(session, "drive", content, after=0)
        kit.issuer.gate.set()
        assert await slow == "access-1"
        assert await kit.ask(kit.replica(), refused="access-1") == "access-2"
        assert kit.issuer.asked == ["first-credential", "credential-1"]


class TestRefusedCredential:
    """The account has to be authorised again by a person."""

    async def test_it_is_told_as_what_it_is_and_connection_health_shows_it(self, kit: Kit) -> None:
        """By the reason that the call ends with."""
        kit.issuer.good = "something else"
        error = await kit.failure()
        reason = REASON_OF[error.kind]
        assert reason is Reason.CONNECTION_NEEDS_AUTHORISATION
        row = NewRow(kind=RowKind.CONNECTION, name="drive", document=b"{}", by="ann", at=moment_of(0))
        async with kit.database.tenant("acme") as session:
            await rows.create(session, row.kind, [row])
        health = ConnectionHealth(kit.database, clock=kit.clock)
        health.seen("acme", "drive", reason)
        await health.flush()
        async with kit.database.tenant("acme", is_read=True) as session:
            found = await rows.get(session, RowKind.CONNECTION, "drive")
        assert found is not None
        assert found.health is not None
        assert found.health.needs_authorisation

    async def test_a_vendor_that_said_no_is_not_asked_by_every_call(self, kit: Kit) -> None:
        """For a few seconds it is known, until somebody has authorised the account anew."""
        kit.issuer.good = "something else"
        for _ in range(5):
            assert (await kit.failure()).kind is ErrorKind.NEEDS_AUTHORISATION
        assert len(kit.issuer.asked) == 1
        kit.clock.advance(DEAD_SECONDS)
        await kit.failure()
        assert len(kit.issuer.asked) == 2
        kit.issuer.good = kit.places.values[REFERENCE] = "second-credential"
        assert await kit.ask(lent="second-credential") == "access-3"


async def test_a_connection_that_is_gone_is_asked_for_nothing(kit: Kit) -> None:
    """Its row was taken away while the call ran."""
    kit.is_gone = True
    assert (await kit.failure()).kind is ErrorKind.FORBIDDEN
    assert not kit.issuer.asked


async def test_an_end_waits_for_what_a_vendor_is_asked(kit: Kit) -> None:
    """The answer may hold the only credential that is good from now on."""
    kit.issuer.gate.clear()
    leaver = asyncio.ensure_future(kit.ask())
    await kit.issuer.arrived.wait()
    leaver.cancel()
    await asyncio.gather(leaver, return_exceptions=True)
    ending = asyncio.ensure_future(kit.tokens.stop())
    await asyncio.sleep(0)
    kit.issuer.gate.set()
    await ending
    assert kit.places.values[REFERENCE] == "credential-1"


async def test_an_end_does_not_wait_for_ever(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever still waits is told, and the lease is let go of."""
    monkeypatch.setattr(module, "STOP_SECONDS", 0.01)
    kit.issuer.gate.clear()
    waiting = asyncio.ensure_future(kit.failure())
    await kit.issuer.arrived.wait()
    await kit.tokens.stop()
    assert (await waiting).kind is ErrorKind.UNAVAILABLE
    assert (await kit.row())["holder"] is None


async def test_a_fault_of_an_exchange_is_nobodys_word(kit: Kit) -> None:
    """It goes to whoever called, and the next call may go well."""

    async def broken() -> None:
        raise TypeError("a mistake")

    kit.issuer.before_answer = broken
    with pytest.raises(TypeError):
        await kit.ask()
    kit.issuer.before_answer, kit.issuer.good = None, "first-credential"
    assert await kit.ask() == "access-2"


async def test_two_tenants_with_connections_of_one_name_have_nothing_in_common() -> None:
    """The account's name says whose it is, also where a name has a slash."""
    clock = FakeClock()
    places = Places()
    seen: list[str] = []

    class Down:
        @contextlib.asynccontextmanager
        async def tenant(self, tenant: str, *, is_read: bool = False) -> AsyncIterator[None]:
            seen.append(tenant)
            raise TypeError("it is seen whose it is")
            yield

    store = StoreTokens(
        Down(),  # type: ignore[arg-type]
        FakeSeal(),
        lambda: places,
        lambda account: (account.rpartition("/")[0], REFERENCE),
        clock=clock,
    )
    for account in ("acme/drive", "acme/eu/drive"):
        with pytest.raises(TypeError):
            await store.access_token(invocation(clock, account=account), Issuer(clock).exchange)
    assert seen == ["acme", "acme/eu"]
