"""Whoever closes a call that was left open writes its line, and nobody else does."""

import itertools
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fakes.aftermaths import claim_of, intent_of, process
from fakes.audit import written
from fakes.clock import FakeClock
from fakes.files import Disk
from fakes.lines import begin
from real.stores import postgres_settings, sqlite_settings
from sqlalchemy.ext.asyncio import AsyncConnection

from gateway.audit.aftermath import LAPSED_SECONDS
from gateway.call import Standing, Whose
from gateway.idempotency.store import LEASE_SECONDS
from gateway.settings.store import StoreSettings
from gateway.store.failures import StoreDown
from gateway.store.writers import closed_by

Commit = Callable[[AsyncConnection], Awaitable[None]]
GONE = LEASE_SECONDS + LAPSED_SECONDS + 1


@pytest.fixture(params=["sqlite", "postgresql"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """A database that gateways share."""
    if request.param == "sqlite":
        return await sqlite_settings(tmp_path)
    return await postgres_settings(request.getfixturevalue("server"), timeout_ms=5000)


@pytest.fixture
def clock() -> FakeClock:
    """The time of all of them."""
    return FakeClock()


def _told(disk: Disk) -> list[tuple[str, str, str, str]]:
    return [(one["kind"], one["call_id"], one["outcome"], one.get("happened", "")) for one in written(disk)]


async def _standing(settings: StoreSettings, clock: FakeClock, key: str) -> Standing | None:
    async with process(Disk(), settings, clock, writer="w9") as other:
        known = await other.keys.look(key)
        return None if known is None else known.standing


async def test_g15_a_call_that_a_kill_cut_off_gets_its_line_at_the_next_start(
    settings: StoreSettings, clock: FakeClock
) -> None:
    """One that had claimed is `unknown` and so is its key; one that had not tells of no effect."""
    disk = Disk()
    async with process(disk, settings, clock) as first:
        first.audit.journal.begin(begin("read"))
        first.audit.journal.begin(begin("sent"))
        await first.keys.claim(claim_of("sent"), intent_of("sent"))
    disk = disk.after_kill()
    async with process(disk, settings, clock, boot="2") as second:
        assert await second.recover() == 2
    disk = disk.after_kill()
    async with process(disk, settings, clock, boot="3") as third:
        assert await third.recover() == 0
    assert sorted(_told(disk)) == [("call", "read", "unknown", ""), ("call", "sent", "unknown", "unknown")]
    assert {one["call_id"]: one.get("side_effect") for one in written(disk)}["sent"] == "send"
    assert await _standing(settings, clock, "key-sent") is Standing.UNKNOWN


async def test_a_call_that_was_settled_and_has_no_line_is_told_as_done(
    settings: StoreSettings, clock: FakeClock
) -> None:
    """The store knows what became of it, though nobody was answered."""
    disk = Disk()
    async with process(disk, settings, clock) as first:
        first.audit.journal.begin(begin("sent"))
        await first.keys.claim(claim_of("sent"), intent_of("sent"))
        await first.keys.settle(claim_of("sent"), None)
    disk = disk.after_kill()
    async with process(disk, settings, clock, boot="2") as second:
        assert await second.recover() == 1
    assert _told(disk) == [("call", "sent", "unknown", "yes")]
    assert await _standing(settings, clock, "key-sent") is Standing.DONE


async def test_a_call_of_which_the_journal_lost_the_beginning_is_told_by_its_intent(
    settings: StoreSettings, clock: FakeClock
) -> None:
    """A crash of the machine: the store had its transaction on the disk, and the journal its begin in memory."""
    async with process(Disk(), settings, clock) as first:
        await first.keys.claim(claim_of("sent"), intent_of("sent"))
    empty = Disk()
    async with process(empty, settings, clock, boot="2") as second:
        assert await second.recover() == 1
    assert _told(empty) == [("call", "sent", "unknown", "unknown")]


@pytest.mark.parametrize(
    ("happened", "standing"), [("yes", Standing.DONE), ("no", None), ("unknown", Standing.UNKNOWN)]
)
async def test_a_line_tells_the_store_what_it_never_heard(
    settings: StoreSettings, clock: FakeClock, happened: str, standing: Standing | None
) -> None:
    """The call has its line, and gets no other."""
    disk = Disk()
    async with process(disk, settings, clock) as first:
        first.audit.journal.begin(begin("sent"))
        await first.keys.claim(claim_of("sent"), intent_of("sent"))
        silent = first.keys.whose

        async def untold(_claim: object) -> Whose:
            return Whose.OURS

        first.keys.whose = untold  # type: ignore[method-assign] - the store is not told
        await first.end(claim_of("sent"), happened)
        first.keys.whose = silent  # type: ignore[method-assign]
    assert len(written(disk)) == 1
    disk = disk.after_kill()
    async with process(disk, settings, clock, boot="2") as second:
        assert await second.recover() == 0
    assert len(written(disk)) == 1
    assert await _standing(settings, clock, "key-sent") is standing


async def test_another_gateway_closes_what_one_that_is_gone_left_and_that_one_tells_nothing(
    settings: StoreSettings, clock: FakeClock
) -> None:
    """Not before its lease is over and then some. Whoever comes back learns that it has its line."""
    gone, here = Disk(), Disk()
    async with process(gone, settings, clock) as first:
        first.audit.journal.begin(begin("sent"))
        await first.keys.claim(claim_of("sent"), intent_of("sent"))
    async with process(here, settings, clock, writer="w2") as other:
        clock.advance(GONE - 2)
        assert await other.aftermath.of_others("acme") == 0
        clock.advance(2)
        assert await other.aftermath.of_others("acme") == 1
        assert await other.aftermath.of_others("acme") == 0
    assert _told(here) == [("call", "sent", "unknown", "unknown")]
    gone = gone.after_kill()
    async with process(gone, settings, clock, boot="2") as back:
        assert await back.recover() == 0
    assert written(gone) == []
    async with process(gone.after_kill(), settings, clock, boot="3") as again:
        assert again.audit.cut_off == ()


async def test_of_two_that_close_one_call_one_writes_the_line(settings: StoreSettings, clock: FakeClock) -> None:
    """The other has looked before, and finds it done."""
    first_disk, second_disk = Disk(), Disk()
    async with process(Disk(), settings, clock) as gone:
        await gone.keys.claim(claim_of("sent"), intent_of("sent"))
    clock.advance(GONE)
    async with (
        process(first_disk, settings, clock, writer="w2") as first,
        process(second_disk, settings, clock, writer="w3") as second,
    ):
        closed = [await first.aftermath.of_others("acme"), await second.aftermath.of_others("acme")]
    assert sorted(closed) == [0, 1]
    assert len(written(first_disk)) + len(written(second_disk)) == 1


@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_closer_that_is_killed_tells_only_of_what_it_closed(
    settings: StoreSettings, clock: FakeClock, is_closed: bool
) -> None:
    """It had adopted the call. Killed before the closing it forgets it, and after it it writes the line."""
    disk = Disk()
    async with process(Disk(), settings, clock) as gone:
        await gone.keys.claim(claim_of("sent"), intent_of("sent"))
    clock.advance(GONE)
    async with process(disk, settings, clock, writer="w2") as closer:
        if is_closed:
            disk.directory("audit").create = _broken  # type: ignore[method-assign] - the line cannot be written
            with pytest.raises(Exception, match="audit_unavailable"):
                await closer.aftermath.of_others("acme")
        else:
            closer.audit.journal.begin(begin("sent"), is_adopted=True)
    disk = disk.after_kill()
    async with process(disk, settings, clock, writer="w2", boot="2") as back:
        assert await back.recover() == is_closed
        assert await back.aftermath.of_others("acme") == (not is_closed)
    assert _told(disk) == [("call", "sent", "unknown", "unknown")]


def _broken(_name: str) -> object:
    raise OSError(5, "broken")


async def test_who_was_taken_for_gone_tells_what_came_of_it_after_all(
    settings: StoreSettings, clock: FakeClock
) -> None:
    """Frozen for longer than its lease, it has sent: the effect is known from then on, and the call has one line."""
    here, there = Disk(), Disk()
    async with (
        process(here, settings, clock) as frozen,
        process(there, settings, clock, writer="w2") as other,
    ):
        frozen.audit.journal.begin(begin("sent"))
        await frozen.keys.claim(claim_of("sent"), intent_of("sent"))
        clock.advance(GONE)
        assert await other.aftermath.of_others("acme") == 1
        assert not frozen.keys.is_held
        await frozen.end(claim_of("sent"), "yes")
    assert _told(there) == [("call", "sent", "unknown", "unknown")]
    assert _told(here) == [("resolution", "sent", "ok", "yes")]
    assert await _standing(settings, clock, "key-sent") is Standing.DONE
    async with process(here.after_kill(), settings, clock, boot="2") as again:
        assert again.audit.cut_off == ()


async def test_a_closing_of_which_nobody_heard_is_asked_for_again(
    settings: StoreSettings, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was done, or it was not: the line is written in either case, and once. No start is needed for it."""
    async with process(Disk(), settings, clock) as gone:
        for call_id in ("done", "lost"):
            await gone.keys.claim(claim_of(call_id), intent_of(call_id))
    clock.advance(GONE)
    disk = Disk()
    async with process(disk, settings, clock, writer="w2") as other:
        await other.database.admit("acme")
        commit = AsyncConnection.commit

        async def silent(connection: AsyncConnection) -> None:
            monkeypatch.undo()  # the next one is heard of
            await commit(connection)
            raise ConnectionResetError

        monkeypatch.setattr(AsyncConnection, "commit", _first(commit, silent))
        with pytest.raises(StoreDown):
            await other.aftermath.of_others("acme")
        assert written(disk) == []
        assert await other.aftermath.of_others("acme") == 2
        assert await other.aftermath.of_others("acme") == 0
    assert sorted(_told(disk)) == [("call", name, "unknown", "unknown") for name in ("done", "lost")]
    async with process(disk.after_kill(), settings, clock, writer="w2", boot="2") as again:
        assert again.audit.cut_off == ()


def _first(heard: Commit, silent: Commit) -> Commit:
    """Reading is heard of; the first that writes is not."""
    count = itertools.count()

    async def commit(connection: AsyncConnection) -> None:
        await (heard if next(count) == 0 else silent)(connection)

    return commit


async def test_a_process_that_stood_still_closes_no_call_of_its_own(settings: StoreSettings, clock: FakeClock) -> None:
    """It ends by itself. A journal that forgot it would have nothing to tell after a kill."""
    disk = Disk()
    async with process(disk, settings, clock) as frozen:
        frozen.audit.journal.begin(begin("sent"))
        await frozen.keys.claim(claim_of("sent"), intent_of("sent"))
        clock.advance(GONE)
        assert await frozen.aftermath.of_others("acme") == 0
        await frozen.end(claim_of("sent"), "yes")
    assert _told(disk) == [("call", "sent", "ok", "yes")]


async def test_what_another_gateway_carried_out_is_told_by_it_alone(settings: StoreSettings, clock: FakeClock) -> None:
    """A run of an approved call that was cut off before its claim: what another's came to is no effect of ours."""
    disk = Disk()
    async with process(disk, settings, clock) as first:
        first.audit.journal.begin(begin("sent"))
    async with process(Disk(), settings, clock, writer="w2") as other:
        await other.keys.claim(claim_of("sent"), intent_of("sent"))
        await other.keys.settle(claim_of("sent"), None)
    disk = disk.after_kill()
    async with process(disk, settings, clock, boot="2") as second:
        assert await second.recover() == 1
    assert _told(disk) == [("call", "sent", "unknown", "")]


async def test_old_closings_are_forgotten(settings: StoreSettings, clock: FakeClock) -> None:
    """After a month."""
    async with process(Disk(), settings, clock) as gone:
        await gone.keys.claim(claim_of("sent"), intent_of("sent"))
    clock.advance(GONE)
    disk = Disk()
    async with process(disk, settings, clock, writer="w2") as other:
        await other.aftermath.of_others("acme")
        clock.advance(31 * 24 * 3600)
        await other.aftermath.forget("acme")
        async with other.database.tenant("acme", is_read=True) as session:
            assert await closed_by(session, [("call", "sent")]) == {}
