"""Reading audit files."""

import asyncio
import errno
from collections.abc import Iterable
from pathlib import Path

import pytest
from fakes.audit import opened
from fakes.files import Disk
from fakes.lines import line

from gateway.audit.chain import unseal
from gateway.audit.files import Directory
from gateway.audit.reading import ReadLine, lines_after, raw_after, tail
from gateway.errors import StartError


async def _append(disk: Disk, *call_ids: str, segment_bytes: int = 1500) -> None:
    audit = opened(disk, segment_bytes=segment_bytes)
    for call_id in call_ids:
        await audit.sink.append(line(call_id))
    await audit.close()


def _store(disk: Disk, path: Path) -> Path:
    """The audit as real files."""
    directory = Directory.made(path)
    for name in disk.directory("audit").names():
        if name in directory.names():
            directory.remove(name)
        file = directory.create(name)
        file.append(disk.directory("audit").content(name))
        file.close()
    return path


def _ids(lines: Iterable[ReadLine]) -> list[str]:
    return [item.value["call_id"] if item.value else f"? {item.why}" for item in lines]


async def test_tail_gives_every_line_over_all_files(tmp_path: Path) -> None:
    """In order, without the records that files begin with."""
    disk = Disk()
    await _append(disk, *(f"c{number}" for number in range(12)))
    assert _ids(tail(_store(disk, tmp_path / "audit"))) == [f"c{number}" for number in range(12)]


async def test_tail_shows_what_cannot_be_read(tmp_path: Path) -> None:
    """A broken line is told of, with its place; the others are given."""
    disk = Disk()
    await _append(disk, "c1", "c2", "c3", segment_bytes=100_000)
    (inode,) = disk.directory("audit").inodes.values()
    inode.content = inode.content.replace(b'"call_id":"c2"', b'"call_id":"xx"')
    lines = list(tail(_store(disk, tmp_path / "audit")))
    assert [item.value["call_id"] if item.value else item.number for item in lines] == ["c1", 3, "c3"]
    assert "was changed" in lines[1].why


async def test_tail_follows_as_lines_are_written(tmp_path: Path) -> None:
    """It asks before it looks again, gives each line once, and ends when it is told to."""
    disk, asked = Disk(), []
    await _append(disk, "c1", segment_bytes=600)
    _store(disk, tmp_path / "audit")

    def follow() -> bool:
        asked.append(1)
        if len(asked) == 1:
            asyncio.run(_append(disk, "c2", "c3", "c4", segment_bytes=600))
            _store(disk, tmp_path / "audit")
        return len(asked) < 3

    lines = await asyncio.to_thread(lambda: _ids(tail(tmp_path / "audit", follow)))
    assert lines == ["c1", "c2", "c3", "c4"]


async def test_tail_gives_a_line_once_that_was_written_twice(tmp_path: Path) -> None:
    """After a failed sync the same line stands in two files; it counts in the second alone."""
    disk = Disk()
    audit = opened(disk)
    await audit.sink.append(line("c1"))
    failed = []
    original = disk.sync

    def fail_once() -> None:
        original()
        if not failed:
            failed.append(1)
            raise OSError(errno.EIO, "broken")

    disk.sync = fail_once
    await audit.sink.append(line("c2"))
    await audit.close()
    assert len(disk.directory("audit").names()) == 2
    assert _ids(tail(_store(disk, tmp_path / "audit"))) == ["c1", "c2"]


async def test_lines_after_a_number_skip_files_before_it() -> None:
    """Only the files that can hold later lines are opened."""
    disk = Disk()
    await _append(disk, *(f"c{number}" for number in range(12)))
    files = disk.directory("audit")
    opened_names: list[str] = []
    read = files.read
    files.read = lambda name: (opened_names.append(name), read(name))[1]
    last = [value["seq"] for value in lines_after(files, 0)][-1]
    opened_names.clear()
    assert [value["seq"] for value in lines_after(files, last - 1)] == [last]
    assert opened_names.count(files.names()[0]) == 0


async def test_raw_lines_after_a_number_end_where_they_are_told() -> None:
    """As they were written, over several files, without the records that files begin with."""
    disk = Disk()
    await _append(disk, *(f"c{number}" for number in range(12)))
    files = disk.directory("audit")
    values = list(lines_after(files, 0))
    raw = list(raw_after(files, values[2]["seq"], values[8]["seq"]))
    assert [unseal(one.raw)[0] for one in raw] == values[3:9]
    assert [one.seq for one in raw] == [value["seq"] for value in values[3:9]]
    assert list(raw_after(files, 0, 0)) == []


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    """That names it."""
    with pytest.raises(StartError, match="nowhere"):
        list(tail(tmp_path / "nowhere"))
