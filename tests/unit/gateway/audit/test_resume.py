"""Where the chain goes on after a restart, and when it must not."""

import errno
from collections.abc import Callable

import pytest
from fakes.audit import opened, written
from fakes.files import Disk
from fakes.lines import line

from gateway.audit.chain import GENESIS, Head
from gateway.audit.resume import resume
from gateway.audit.verify import verify_files
from gateway.errors import StartError


async def _disk(*call_ids: str) -> Disk:
    disk = Disk()
    audit = opened(disk)
    for call_id in call_ids:
        await audit.sink.append(line(call_id))
    await audit.close()
    return disk


async def test_a_new_audit_begins_at_the_beginning() -> None:
    """Or after the number that the journal knows of, when the audit was taken away as a whole."""
    files = Disk().directory("audit")
    assert resume(files, "w1", 0).head == Head("w1", 0, GENESIS)
    assert resume(files, "w1", 41).head == Head("w1", 41, GENESIS)


async def test_a_clean_file_is_appended_to() -> None:
    """Behind its last line, after a sync: what a killed process left in the page cache is trusted no sooner."""
    disk = (await _disk("c1", "c2")).after_kill()
    (inode,) = disk.directory("audit").inodes.values()
    inode.synced = 0
    found = resume(disk.directory("audit"), "w1", 3)
    assert found.file is not None
    assert (found.head.seq, found.torn_bytes) == (3, 0)
    assert inode.synced == len(inode.content)


async def test_a_disk_that_cannot_sync_is_not_trusted() -> None:
    """The error leaves as it is."""
    disk = await _disk("c1")
    disk.sync_error = OSError(errno.EIO, "broken")
    with pytest.raises(OSError, match="broken"):
        resume(disk.directory("audit"), "w1", 0)


@pytest.mark.parametrize("tail", [b'{"time":"2026-01', b"\0" * 100, b"{\0\0\n\0"])
async def test_a_torn_tail_is_left_behind(tail: bytes) -> None:
    """The next line begins a new file, which says where the old one ends; nothing is cut off a file."""
    disk = await _disk("c1")
    name = disk.directory("audit").names()[0]
    disk.directory("audit").inodes[name].content += tail
    audit = opened(disk)
    assert audit.torn == 1
    assert verify_files(disk.directory("audit")).ok
    await audit.sink.append(line("c2"))
    await audit.close()
    assert [value["call_id"] for value in written(disk)] == ["c1", "c2"]
    assert disk.directory("audit").content(name).endswith(tail)
    assert verify_files(disk.directory("audit")).ok


async def test_a_file_without_a_line_was_never_begun() -> None:
    """A crash while a file was created leaves nothing that counts."""
    disk = await _disk("c1")
    files = disk.directory("audit")
    files.adopt({**{name: files.content(name) for name in files.names()}, "audit-000000000003.jsonl": b'{"kind'})
    assert resume(files, "w1", 0).head.seq == 2
    assert len(files.names()) == 1


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (lambda raw: raw.replace(b'"c1"', b'"c9"'), "line 2, was changed"),
        (lambda raw: raw.replace(b'"c2"', b'"c9"'), "line 3, was changed"),
        (lambda raw: b"".join(raw.splitlines(keepends=True)[:-1]), "is the last line, but line 3 was written"),
        (lambda raw: raw.replace(b'"kind":"segment"', b'"kind":"xxxxxxx"'), "line 1, was changed"),
        (lambda raw: b"".join(raw.splitlines(keepends=True)[1:]), "line 1, is not the record"),
    ],
)
async def test_a_changed_audit_is_not_continued(damage: Callable[[bytes], bytes], why: str) -> None:
    """To go on behind a changed line would hide it: the gateway does not start."""
    disk = await _disk("c1", "c2")
    (inode,) = disk.directory("audit").inodes.values()
    inode.content = bytearray(damage(bytes(inode.content)))
    with pytest.raises(StartError, match=why):
        resume(disk.directory("audit"), "w1", 3)


async def test_a_file_with_zeros_in_its_first_line_was_never_trusted() -> None:
    """Its first write, of many lines, reached the disk in part: the chain goes on behind the file before."""
    disk = await _disk("c1")
    files = disk.directory("audit")
    (name,) = files.names()
    head = resume(files, "w1", 0).head
    lost = files.content(name)
    files.adopt({name: lost, "audit-000000000003.jsonl": b"\0" * 100 + lost[100:]})
    assert resume(files, "w1", 0).head == head
    assert files.names() == [name]


async def test_another_gateways_audit_is_not_continued() -> None:
    """One state directory, one writer."""
    with pytest.raises(StartError, match="another gateway"):
        resume((await _disk("c1")).directory("audit"), "w2", 0)


async def test_a_renamed_file_is_not_continued() -> None:
    """Its name must be that of its first line."""
    disk = await _disk("c1")
    files = disk.directory("audit")
    files.adopt({"audit-000000000009.jsonl": files.content(files.names()[0])})
    with pytest.raises(StartError, match=r"belongs into audit-000000000001\.jsonl"):
        resume(files, "w1", 0)


async def test_an_emptied_file_of_lines_is_noticed_by_the_journal() -> None:
    """When all files are there but shorter than the journal knows, the gateway does not start."""
    disk = await _disk("c1", "c2", "c3")
    files = disk.directory("audit")
    name = files.names()[0]
    files.adopt({name: b"".join(files.content(name).splitlines(keepends=True)[:2])})
    again = disk.after_kill()
    audit_seq = 4
    with pytest.raises(StartError, match="line 4 was written before"):
        resume(again.directory("audit"), "w1", audit_seq)


async def test_the_tenants_chains_are_found_in_the_last_file_alone() -> None:
    """However many there are before it."""
    disk = Disk()
    audit = opened(disk, segment_bytes=1000)
    for number in range(12):
        await audit.sink.append(line(f"c{number}", tenant="early" if number < 2 else "acme"))
    standing = audit.sink.standing()
    await audit.close()
    files = disk.directory("audit")
    read: list[str] = []
    original = files.read
    files.read = lambda name: (read.append(name), original(name))[1]
    found = resume(files, "w1", 0)
    assert found.chains.tenants == standing.tenants
    assert set(read) == {files.names()[-1]}
    assert len(files.names()) > 3


async def test_a_new_chain_gives_no_number_twice() -> None:
    """The audit was taken away: each tenant's numbers go on behind all that there can have been, and verify."""
    disk = await _disk("c1", "c2", "c3")
    disk.directory("audit").adopt({})
    found = resume(disk.directory("audit"), "w1", 4)
    assert found.chains.of("acme") == (4, GENESIS)
    assert resume(disk.directory("audit"), "w1", 0).chains.of("acme") == (0, GENESIS)
