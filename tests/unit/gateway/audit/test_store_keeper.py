"""Checkpoints in the database: of each tenant, over all replicas."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from fakes.signing import FakeSigner
from real.stores import opened, sqlite_settings

from gateway.audit.chain import Link
from gateway.audit.checkpointing import NotKept
from gateway.audit.checkpoints import Checkpoint, Stand, parse
from gateway.audit.lines import Standing
from gateway.audit.notes import Note, notes_in, signer_of
from gateway.audit.store_keeper import StoreKeeper
from gateway.store.checkpoints import every, keep
from gateway.store.database import Database

SIGNER = FakeSigner()
A, B = "a" * 64, "b" * 64


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """SQLite."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        yield database


def _standing(writer: str, seq: int) -> Standing:
    return Standing(writer, seq + 1, A, {"acme": Link(seq, A)})


async def _kept(database: Database, signer: FakeSigner = SIGNER) -> list[Checkpoint]:
    async with database.tenant("acme", is_read=True) as session:
        kept = await every(session)
    notes = [next(notes_in(one.note.decode())) for one in kept]
    assert all(signer_of(note, [signer.key]) for note in notes)
    return [parse(note.text, signer.key.name) for note in notes]


async def test_every_replica_is_listed(database: Database) -> None:
    """Each brings its own line up to date and carries the others' on; nothing is said of the writer as a whole,
    which would tell a tenant of the others.
    """
    first, second = (StoreKeeper(database, SIGNER, FakeClock()) for _ in range(2))
    await first.keep(_standing("w1", 3))
    await second.keep(_standing("w2", 8))
    await first.keep(_standing("w1", 5))
    kept = await _kept(database)
    assert [one.number for one in kept] == [1, 2, 3]
    assert kept[-1].stands == (Stand("w1", "acme", 5, A), Stand("w2", "acme", 8, A))


async def test_a_tenant_that_nothing_was_written_for_gets_none(database: Database) -> None:
    """The table grows by what happens, and not by time."""
    keeper = StoreKeeper(database, SIGNER, FakeClock())
    await keeper.keep(_standing("w1", 3))
    await keeper.keep(_standing("w1", 3)._replace(seq=99))
    assert len(await _kept(database)) == 1


async def test_a_number_that_another_replica_took_is_replaced(database: Database) -> None:
    """Both have theirs in the end, whoever was first."""

    class Slow(FakeSigner):
        """While it signs for the first time another replica is faster."""

        others = iter(["w2"])

        async def sign(self, texts: Sequence[str]) -> list[Note]:
            for writer in self.others:
                await StoreKeeper(database, SIGNER, FakeClock()).keep(_standing(writer, 1))
            return await super().sign(texts)

    await StoreKeeper(database, Slow(), FakeClock()).keep(_standing("w1", 3))
    kept = await _kept(database)
    assert [one.number for one in kept] == [1, 2]
    assert {stand.writer for stand in kept[-1].stands} == {"w1", "w2"}


async def test_what_a_stranger_wrote_into_the_table_is_not_carried_on(database: Database) -> None:
    """To sign it would be to vouch for it. With the stranger's key among the trusted it is."""
    stranger = FakeSigner(2, "gw2/audit")
    await StoreKeeper(database, stranger, FakeClock()).keep(_standing("w9", 1))
    with pytest.raises(NotKept, match=r"1 tenant without a checkpoint: .* no key that the settings trust"):
        await StoreKeeper(database, SIGNER, FakeClock()).keep(_standing("w1", 3))
    await StoreKeeper(database, SIGNER, FakeClock(), [stranger.key]).keep(_standing("w1", 3))
    async with database.tenant("acme", is_read=True) as session:
        assert b"tenant w9 acme 1 " in (await every(session))[-1].note


async def test_a_store_that_is_out_is_told_of(database: Database) -> None:
    """And so is a note that is none."""
    async with database.tenant("acme") as session:
        await keep(session, 1, b"nonsense", 0.0)
    with pytest.raises(NotKept):
        await StoreKeeper(database, SIGNER, FakeClock()).keep(_standing("w1", 3))
