"""The registry in the store is followed: changes are handed over, and what is stopped is known at once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fakes.administration import AGENT, TOOL, Replica, change, operator, replica, whole
from fakes.clock import FakeClock
from fakes.principals import principal
from real.stores import locked, opened, sqlite_settings

from adapters.base import Fault
from gateway.call import Surface
from gateway.clock import SystemClock
from gateway.errors import Reason, Refusal, StartError
from gateway.registry.follower import POLL_SECONDS, RETRY_SECONDS, RegistryFollower
from gateway.registry.stops import Stops
from gateway.settings.store import StoreSettings
from gateway.store import rows
from gateway.store.columns import moment_of
from gateway.store.database import Database, Session
from gateway.store.rows import NewRow, RowKind
from gateway.store.stops import StopScope


@pytest.fixture
async def settings(tmp_path: Path) -> StoreSettings:
    """A database."""
    return await sqlite_settings(tmp_path)


@pytest.fixture
async def database(settings: StoreSettings) -> AsyncIterator[Database]:
    """That database."""
    async with opened(settings) as made:
        yield made


async def until(is_so: Callable[[], bool]) -> None:
    """Return once it is so."""
    async with asyncio.timeout(5):
        while not is_so():
            await asyncio.sleep(0.005)


def title(of: Replica) -> str:
    """That of the tool, as an agent gets it; empty when it has none."""
    try:
        return of.catalogue.find(principal(), "echo", Surface.GRPC).tool.title
    except Refusal:
        return ""


def is_stopped(of: Replica) -> bool:
    """Whether a call of the tool is refused."""
    try:
        of.stops.check("acme", "helper", "echo", "fake")
    except Refusal:
        return True
    return False


async def put_past_the_service(database: Database, document: bytes) -> None:
    """A tool that nobody checked."""
    async with database.tenant("acme") as session:
        await rows.raise_version(session)
        row = NewRow(
            kind=RowKind.TOOL, name="echo", document=document, connection="fake", by="somebody", at=moment_of(0)
        )
        await rows.change(session, row, expected=1)


async def test_what_there_is_at_the_start_is_taken_over(database: Database) -> None:
    """Before the first call: rows, and what is stopped."""
    one, other = (replica(database, SystemClock()) for _ in range(2))
    await one.administration.apply(operator(), whole(title="First"))
    await one.administration.set_stop(operator(), StopScope.TOOL, "echo", "a leak")
    async with other.following():
        assert (title(other), is_stopped(other)) == ("First", True)


async def test_a_change_and_a_stop_are_seen_by_the_other(database: Database) -> None:
    """Within the time of one look."""
    one, other = (replica(database, SystemClock()) for _ in range(2))
    async with one.following(), other.following():
        await one.administration.apply(operator(), whole(title="First"))
        await until(lambda: title(other) == "First")
        await one.administration.set_stop(operator(), StopScope.TENANT, "", "a leak")
        await until(lambda: is_stopped(other))
        await one.administration.clear_stop(operator(), StopScope.TENANT, "", "over")
        await until(lambda: not is_stopped(other))
        changed = change(RowKind.TOOL, TOOL | {"title": "Second"}, expected=1)
        await one.administration.apply(operator(), [changed])
        await until(lambda: title(other) == "Second")


async def test_a_stop_does_not_wait_for_rows_that_take_long(database: Database) -> None:
    """They are taken over beside the following."""
    one, other = (replica(database, SystemClock()) for _ in range(2))
    gate = asyncio.Event()

    async def slowly() -> tuple[str, ...]:
        await gate.wait()
        return await other.take_over()

    async with other.following():
        other.follower.hand_over(slowly, lambda: other.registry.unusable)
        await one.administration.apply(operator(), whole(title="First"))
        await one.administration.set_stop(operator(), StopScope.TOOL, "echo", "a leak")
        other.follower.poke()
        await until(lambda: is_stopped(other))
        assert title(other) == ""
        gate.set()
        await until(lambda: title(other) == "First")


async def test_nothing_is_read_again_that_did_not_change(database: Database) -> None:
    """A look asks for the versions alone; rows that are as before are the same object."""
    clock = FakeClock()
    one = replica(database, clock)
    await one.administration.apply(operator(), whole())
    async with one.following():
        kept = one.follower.rows["acme"]
        await one.administration.set_stop(operator(), StopScope.TOOL, "other", "a leak")
        await until(lambda: one.follower._read["acme"] == 2)
        assert one.follower.rows["acme"] is kept


async def test_without_the_store_nothing_is_written_after_a_while(database: Database, settings: StoreSettings) -> None:
    """Reads go on with what is known; when it is back, so are writes, and both are told once."""
    clock = FakeClock()
    one = replica(database, clock, max_stale_seconds=2.0)
    await one.administration.apply(operator(), whole(title="First"))
    async with one.following():
        one.follower.check("acme")
        moved = settings.path.rename(settings.path.with_suffix(".away"))
        await database.close()
        for _ in range(8):
            await until(lambda: clock.sleepers >= 1)
            clock.advance(POLL_SECONDS)
            await asyncio.sleep(0.01)
        await until(lambda: one.events == ["registry_unreachable"])
        with pytest.raises(Refusal) as caught:
            one.follower.check("acme")
        assert (caught.value.reason, caught.value.fault) == (Reason.REGISTRY_UNAVAILABLE, Fault.REFUSED)
        assert title(one) == "First"
        moved.rename(settings.path)
        one.follower.poke()
        await until(lambda: one.follower.is_fresh("acme"))
        await until(lambda: one.events == ["registry_unreachable", "registry_reached"])
        clock.advance(3.0)
        with pytest.raises(Refusal) as caught:
            one.follower.check("acme")
        assert caught.value.fault is Fault.TIMEOUT, "it was well again, and has not failed since"


async def test_rows_that_do_not_load_stop_the_writes_of_their_tenant(database: Database) -> None:
    """After a while: what was known goes on, but nobody knows whether it should."""
    clock = FakeClock()
    one = replica(database, clock, max_stale_seconds=2.0)
    await one.administration.apply(operator(), whole(title="First"))
    async with one.following():
        await put_past_the_service(database, b'{"name":"echo"}')
        one.follower.poke()
        await until(lambda: one.registry.unusable == {"acme"})
        one.follower.check("acme")
        for _ in range(8):
            clock.advance(POLL_SECONDS)
            one.follower.poke()
            await until(lambda: one.follower._heard_at == clock.monotonic())
        with pytest.raises(Refusal) as caught:
            one.follower.check("acme")
        assert (caught.value.reason, caught.value.fault) == (Reason.REGISTRY_UNAVAILABLE, Fault.NOT_LOADED)
        one.follower.check("rival")
        assert title(one) == "First"
        fixed = change(RowKind.TOOL, TOOL | {"title": "Fixed"}, expected=None)
        await one.administration.apply(operator(), [fixed])
        await until(lambda: title(one) == "Fixed")
        one.follower.check("acme")


async def test_what_was_not_taken_over_is_offered_again(database: Database) -> None:
    """What spoke against it may be gone; an exception counts as something."""
    clock = FakeClock()
    one = replica(database, clock)
    answers: list[tuple[str, ...] | Exception] = [("no",), ValueError(), ()]

    async def reluctantly() -> tuple[str, ...]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer or await one.take_over()

    async with one.following():
        one.follower.hand_over(reluctantly)
        await one.administration.apply(operator(), whole(title="First"))
        one.follower.poke()
        for left in (2, 1, 0):
            await until(lambda left=left: len(answers) == left)  # type: ignore[misc]
            await asyncio.sleep(0.01)
            clock.advance(RETRY_SECONDS)
        await until(lambda: title(one) == "First")


async def test_a_change_is_offered_at_once_though_the_one_before_was_refused(database: Database) -> None:
    """It may be what was missing."""
    one = replica(database, FakeClock())
    refused = asyncio.Event()

    async def picky() -> tuple[str, ...]:
        await one.take_over()
        if title(one) == "First":
            refused.set()
            return ("not this one",)
        return ()

    async with one.following():
        one.follower.hand_over(picky)
        await one.administration.apply(operator(), whole(title="First"))
        await refused.wait()
        await one.administration.apply(operator(), [change(RowKind.TOOL, TOOL | {"title": "Second"}, expected=1)])
        await until(lambda: one.follower._held.get("acme") == 2)


async def test_nothing_is_offered_before_somebody_is_ready(database: Database) -> None:
    """A gateway that is only starting takes the first rows over when it asks for them."""
    one = replica(database, SystemClock())
    await one.administration.apply(operator(), whole(title="First"))
    await one.follower.start()
    try:
        await asyncio.sleep(0.1)
        assert title(one) == ""
        assert await one.follower.take_over() == ()
        assert title(one) == "First"
    finally:
        await one.follower.stop()


async def test_where_the_registry_is_in_files_only_stops_are_followed(database: Database) -> None:
    """No row is read, and none waits to be taken over."""
    one = replica(database, SystemClock())
    await one.administration.apply(operator(), whole())
    stops = Stops()
    follower = RegistryFollower(database, clock=SystemClock(), stops=stops, max_stale_seconds=1.0)
    await follower.start()
    await follower.start()
    try:
        await one.administration.set_stop(operator(), StopScope.TENANT, "", "a leak")
        follower.poke()
        await until(lambda: bool(stops._of))
        assert follower.rows == {}
        assert await follower.take_over() == ()
        follower.check("acme")
    finally:
        await follower.stop()
        await follower.stop()


async def test_it_does_not_start_without_the_store(tmp_path: Path) -> None:
    """Nobody would know what is stopped."""
    async with opened(StoreSettings(url=f"sqlite:{tmp_path / 'nothing'}")) as database:
        follower = RegistryFollower(database, clock=SystemClock(), stops=Stops(), max_stale_seconds=1.0)
        with pytest.raises(StartError) as caught:
            await follower.start()
        assert "start again" in caught.value.message
        with pytest.raises(Refusal):
            follower.check("acme")


async def test_a_writer_that_holds_the_database_does_not_hold_up_a_look(
    database: Database, settings: StoreSettings
) -> None:
    """Reading waits for nobody on SQLite."""
    one = replica(database, SystemClock())
    await one.administration.apply(operator(), whole())
    with locked(settings.path):
        async with one.following():
            assert one.catalogue.agents
    assert AGENT["name"] == "helper"


async def test_a_tenant_that_is_new_is_not_refused_while_it_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first write made it, and its second must not be told that the registry is away."""
    one, reading, gate = replica(database, SystemClock()), asyncio.Event(), asyncio.Event()
    read = RegistryFollower._read_tenant

    async def slowly(follower: RegistryFollower, tenant: str, version: int) -> None:
        reading.set()
        await gate.wait()
        await read(follower, tenant, version)

    async with one.following():
        monkeypatch.setattr(RegistryFollower, "_read_tenant", slowly)
        await database.admit("acme")
        one.follower.poke()
        await reading.wait()
        one.follower.check("acme")
        gate.set()
        await until(lambda: "acme" in one.follower._read)
        one.follower.check("acme")


async def test_a_tenant_that_cannot_be_read_is_no_other_tenants_trouble(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written for it, since nobody knows what is stopped there; the others go on."""
    one = replica(database, SystemClock())
    await one.administration.apply(operator(), whole(title="First"))
    real = rows.versions

    async def with_another(session: Session) -> dict[str, int]:
        return {"rival": 1} | await real(session)

    async with one.following():
        monkeypatch.setattr(rows, "versions", with_another)  # SQLite refuses its rows as it would a second tenant
        await one.administration.apply(operator(), [change(RowKind.TOOL, TOOL | {"title": "Second"}, expected=1)])
        await until(lambda: title(one) == "Second")
        await until(lambda: one.events == ["registry_unreachable"])
        one.follower.check("acme")
        with pytest.raises(Refusal):
            one.follower.check("rival")
