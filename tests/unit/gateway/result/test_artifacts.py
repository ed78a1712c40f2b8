"""Whole results, for a while."""

import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.principals import principal
from fakes.seal import FakeSeal

from gateway.errors import Reason, Refusal
from gateway.result.artifact_files import CHUNK_BYTES
from gateway.result.artifacts import BLOCK_BYTES, MOST_READ_BYTES, Artifacts
from gateway.settings.handles import ArtifactSettings

KIB = 1024
WHOLE = bytes(index % 251 for index in range(3 * CHUNK_BYTES + 17))
CALLER = principal()


@asynccontextmanager
async def _kept(folder: Path, *, free: int = 2**40, ids: str = "an-artifact-id", **changes: Any) -> AsyncIterator[Any]:
    """Artifacts in the folder, and the parts that a test changes."""
    clock, seal, names = FakeClock(), FakeSeal(), itertools.count(1)
    disk = {"free": free}
    one: Any = Artifacts(
        folder / "artifacts",
        ArtifactSettings(**changes),
        seal=seal,
        clock=clock,
        new_id=lambda: f"{ids}-{next(names)}",
        free=lambda _: disk["free"],
    )
    one.clock, one.seal, one.disk = clock, seal, disk
    await one.open()
    yield one
    await one.close()


def _files(folder: Path) -> list[Path]:
    return [path for path in (folder / "artifacts").rglob("*") if path.is_file()]


async def _reason(one: Artifacts, artifact_id: str, caller: Any = CALLER) -> Reason:
    with pytest.raises(Refusal) as caught:
        await one.read(caller, artifact_id, 0, 0)
    return caught.value.reason


async def test_what_is_kept_is_read_in_parts(tmp_path: Path) -> None:
    """Any range of it, also across chunks, also while it is being written; beyond its end there is nothing."""
    async with _kept(tmp_path) as one:
        artifact_id = one.keep(CALLER, WHOLE)
        for offset, most in ((0, 0), (1, 10), (CHUNK_BYTES - 5, 10), (CHUNK_BYTES, CHUNK_BYTES), (len(WHOLE) - 3, 99)):
            piece = await one.read(CALLER, artifact_id, offset, most)
            expected = WHOLE[offset : offset + (most or MOST_READ_BYTES)]
            assert (piece.data, piece.total_bytes) == (expected, len(WHOLE)), (offset, most)
        for beyond in (len(WHOLE), len(WHOLE) + 1, 2**62):
            assert (await one.read(CALLER, artifact_id, beyond, 5)).data == b""


async def test_one_read_gives_so_much_at_most(tmp_path: Path) -> None:
    """Whatever is asked for."""
    async with _kept(tmp_path) as one:
        artifact_id = one.keep(CALLER, b"x" * (2 * MOST_READ_BYTES))
        assert len((await one.read(CALLER, artifact_id, 7, 2**31)).data) == MOST_READ_BYTES


async def test_what_is_on_disk_tells_nothing(tmp_path: Path) -> None:
    """Neither content nor id nor tenant; for the gateway's user alone."""
    async with _kept(tmp_path) as one:
        artifact_id = one.keep(CALLER, b"a private word " * 1000)
    (path,) = _files(tmp_path)
    raw = path.read_bytes()
    assert b"private" not in raw
    assert artifact_id not in str(path)
    assert "acme" not in str(path)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_it_is_read_by_its_agent_alone(tmp_path: Path) -> None:
    """To everybody else it is as one that never was, or that is no id at all."""
    async with _kept(tmp_path) as one:
        artifact_id = one.keep(CALLER, WHOLE)
        assert (await one.read(principal(id="helper-2"), artifact_id, 0, 1)).data == WHOLE[:1]
        others = [
            (principal(agent="other"), artifact_id),
            (principal(tenant="elsewhere"), artifact_id),
            (CALLER, "no-such-artifact-id"),
            (CALLER, "../../etc/passwd"),
            (CALLER, ""),
        ]
        messages = set()
        for caller, asked in others:
            with pytest.raises(Refusal) as caught:
                await one.read(caller, asked, 0, 0)
            assert caught.value.reason is Reason.ARTIFACT_NOT_FOUND
            messages.add(caught.value.message)
        assert len(messages) == 1


async def test_it_is_kept_for_so_long(tmp_path: Path) -> None:
    """Then it is gone, before it is swept and after."""
    async with _kept(tmp_path, keep_seconds=60) as one:
        artifact_id = one.keep(CALLER, WHOLE)
        await one.read(CALLER, artifact_id, 0, 1)
        one.clock.advance(59)
        await one.tick()
        await one.read(CALLER, artifact_id, 0, 1)
        one.clock.advance(1)
        assert await _reason(one, artifact_id) is Reason.ARTIFACT_NOT_FOUND
        assert one.used_bytes
        one.clock.advance(60)
        await one.tick()
        assert (one.used_bytes, _files(tmp_path)) == (0, [])


@pytest.mark.parametrize(
    "bounds",
    [
        {"max_bytes": 9 * KIB, "tenant_bytes": 100 * KIB},
        {"max_bytes": 10 * KIB, "tenant_bytes": 15 * KIB},
        {"max_bytes": 10 * KIB, "tenant_bytes": 15 * KIB, "total_bytes": 15 * KIB},
    ],
)
async def test_what_does_not_fit_is_not_kept(tmp_path: Path, bounds: dict[str, int]) -> None:
    """Over what one, a tenant, or all may take; and it is counted."""
    async with _kept(tmp_path, **bounds) as one:
        kept = [one.keep(CALLER, b"x" * 10 * KIB) for _ in range(2)]
        assert kept[1] == ""
        assert one.dropped == kept.count("")


async def test_a_tenant_does_not_take_the_room_of_another(tmp_path: Path) -> None:
    """Each has a bound of its own, and a small one takes a block."""
    async with _kept(tmp_path, max_bytes=BLOCK_BYTES, tenant_bytes=BLOCK_BYTES) as one:
        assert one.keep(CALLER, b"x")
        assert not one.keep(CALLER, b"x")
        assert one.keep(principal(tenant="elsewhere"), b"x")


async def test_so_much_of_the_disk_stays_free(tmp_path: Path) -> None:
    """What waits to be written counts as written, and what cannot be looked at takes nothing."""
    async with _kept(tmp_path, free=100 * KIB, min_free_bytes=90 * KIB) as one:
        assert one.keep(CALLER, b"x" * 8 * KIB)
        assert not one.keep(CALLER, b"x" * 8 * KIB)
        one.disk["free"] = 200 * KIB
        await one.tick()
        assert one.keep(CALLER, b"x" * 8 * KIB)
        one._free_on = _broken
        await one.tick()
        assert not one.keep(CALLER, b"x")


def _broken(_: Path) -> int:
    raise OSError("the disk")


async def test_what_cannot_be_written_or_sealed_is_not_there(tmp_path: Path) -> None:
    """Nobody waits for it, its room is free again, and it is counted."""
    async with _kept(tmp_path) as one:
        one.seal.is_broken = True
        artifact_id = one.keep(CALLER, WHOLE)
        assert await _reason(one, artifact_id) is Reason.ARTIFACT_NOT_FOUND
        one.seal.is_broken = False
        folder = one._path("acme", "x").parent
        folder.parent.mkdir(exist_ok=True)
        folder.write_bytes(b"in the way")
        artifact_id = one.keep(CALLER, WHOLE)
        assert await _reason(one, artifact_id) is Reason.ARTIFACT_NOT_FOUND
        assert (one.dropped, one.used_bytes) == (2, 0)


async def test_a_frame_that_was_changed_or_swapped_is_not_read(tmp_path: Path) -> None:
    """Not even its good parts."""
    async with _kept(tmp_path) as one:
        first, second = one.keep(CALLER, WHOLE), one.keep(CALLER, WHOLE)
        await one.read(CALLER, second, 0, 1)
        one._path("acme", first).write_bytes(one._path("acme", second).read_bytes())
        assert await _reason(one, first) is Reason.ARTIFACT_NOT_FOUND


async def test_a_restart_finds_what_is_there(tmp_path: Path) -> None:
    """And what it takes; what was half written is gone."""
    async with _kept(tmp_path) as one:
        artifact_id = one.keep(CALLER, WHOLE)
    (path,) = _files(tmp_path)
    path.with_suffix(".part").write_bytes(b"half")
    async with _kept(tmp_path, ids="another-one") as again:
        assert (await again.read(CALLER, artifact_id, 0, 3)).data == WHOLE[:3]
        assert again.used_bytes == path.stat().st_size
    assert _files(tmp_path) == [path]
