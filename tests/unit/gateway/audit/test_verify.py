"""Verification: every way to tamper is located."""

import asyncio
import random
from pathlib import Path

import pytest
from fakes.audit import opened
from fakes.files import Disk
from fakes.lines import line

from gateway.audit.chain import GENESIS, Chains, Sealing
from gateway.audit.files import Directory
from gateway.audit.verify import Verdict, verify, verify_files
from gateway.errors import StartError


def _audit(lines: int = 24, segment_bytes: int = 1500, writer: str = "w1") -> dict[str, list[bytes]]:
    """The lines of several files, by the files' names."""

    async def write() -> Disk:
        disk = Disk()
        audit = opened(disk, segment_bytes=segment_bytes, writer=writer)
        for number in range(lines):
            await audit.sink.append(line(f"c{number}"))
        await audit.close()
        return disk

    files = asyncio.run(write()).directory("audit")
    return {name: files.content(name).splitlines(keepends=True) for name in files.names()}


def _verdict(files: dict[str, list[bytes]]) -> Verdict:
    disk = Disk()
    disk.directory("audit").adopt({name: b"".join(lines) for name, lines in files.items()})
    return verify_files(disk.directory("audit"))


def _bad(files: dict[str, list[bytes]]) -> tuple[str, int]:
    bad = _verdict(files).first_bad
    assert bad is not None
    assert bad.why
    return bad.file, bad.line


def _next(files: dict[str, list[bytes]], last: str, fields: bytes) -> bytes:
    """A line that follows all chains behind this file."""
    chains = Chains.begun("w1", 0)
    for name in sorted(files):
        for raw in files[name] if name <= last else ():
            chains.follow(raw)
    return Sealing(chains).line(fields, "acme")


@pytest.fixture(scope="module")
def whole() -> dict[str, list[bytes]]:
    """An audit of several files, good as it is."""
    files = _audit()
    assert _verdict(files).ok
    assert len(files) > 3
    return files


@pytest.fixture
def files(whole: dict[str, list[bytes]]) -> dict[str, list[bytes]]:
    """The same, to tamper with."""
    return {name: list(lines) for name, lines in whole.items()}


def test_an_untouched_audit_is_good(files: dict[str, list[bytes]]) -> None:
    """With the number of its lines and its head."""
    verdict = _verdict(files)
    last = files[max(files)][-1]
    assert (verdict.ok, verdict.lines, verdict.first_seq, verdict.ignored_bytes) == (True, 24, 1, 0)
    assert verdict.head_hash.encode() in last
    assert f'"seq":{verdict.head_seq},'.encode() in last


def test_an_empty_audit_is_good() -> None:
    """There is nothing that could be wrong."""
    verdict = _verdict({})
    assert (verdict.ok, verdict.lines, verdict.head_seq, verdict.head_hash) == (True, 0, 0, GENESIS)


@pytest.mark.parametrize("seed", range(40))
def test_any_changed_byte_is_located(files: dict[str, list[bytes]], seed: int) -> None:
    """A bit flipped anywhere: the verdict names the very line."""
    chance = random.Random(seed)
    name = chance.choice(sorted(files))
    number = chance.randrange(len(files[name]))
    raw = bytearray(files[name][number])
    raw[chance.randrange(len(raw) - 1)] ^= 1 << chance.randrange(7)
    files[name][number] = bytes(raw)
    assert _bad(files) == (name, number + 1)


@pytest.mark.parametrize("seed", range(15))
def test_a_removed_line_is_located(files: dict[str, list[bytes]], seed: int) -> None:
    """By the line that now stands in its place."""
    chance = random.Random(seed)
    name = chance.choice(sorted(files)[:-1])
    number = chance.randrange(len(files[name]) - 1)
    del files[name][number]
    assert _bad(files) == (name, number + 1)


def test_a_removed_last_line_of_a_full_file_is_located_at_the_next(files: dict[str, list[bytes]]) -> None:
    """The next file continues a line that is not there."""
    first, second, *_rest = sorted(files)
    del files[first][-1]
    assert _bad(files) == (second, 1)


@pytest.mark.parametrize("seed", range(15))
def test_an_inserted_line_is_located(files: dict[str, list[bytes]], seed: int) -> None:
    """A copy of a good line anywhere else is bad."""
    chance = random.Random(seed)
    name = chance.choice(sorted(files))
    number = chance.randrange(1, len(files[name]) + 1)
    copied = chance.choice([line for line in range(len(files[name])) if line != number])
    files[name].insert(number, files[name][copied])
    assert _bad(files) == (name, number + 1)


def test_a_well_made_line_after_a_full_file_is_located(files: dict[str, list[bytes]]) -> None:
    """Even one that follows the chain: the next file does not continue it."""
    first, second, *_rest = sorted(files)
    files[first].append(_next(files, first, b'{"kind":"call","call_id":"forged","tenant":"acme"'))
    assert _bad(files) == (second, 1)


def test_reordered_lines_are_located(files: dict[str, list[bytes]]) -> None:
    """The first of the two that changed places."""
    name = sorted(files)[1]
    files[name][1], files[name][2] = files[name][2], files[name][1]
    assert _bad(files) == (name, 2)


def test_a_removed_file_is_located_at_the_next(files: dict[str, list[bytes]]) -> None:
    """A file in the middle, and the first one."""
    for index in (0, 1):
        names = sorted(files)
        left = {name: lines for name, lines in files.items() if name != names[index]}
        assert _bad(left) == (names[index + 1], 1)


def test_swapped_files_are_located(files: dict[str, list[bytes]]) -> None:
    """The content of one under the name of another."""
    _first, second, third, *_rest = sorted(files)
    files[second], files[third] = files[third], files[second]
    assert _bad(files) == (second, 1)


def test_a_file_of_another_gateway_is_located(files: dict[str, list[bytes]]) -> None:
    """Written by another writer at the same place."""
    name = sorted(files)[1]
    files[name] = _audit(writer="w2")[name]
    assert _bad(files) == (name, 1)


def test_a_file_cut_in_the_middle_of_a_line_is_located(files: dict[str, list[bytes]]) -> None:
    """A torn line in a file in the middle."""
    name = sorted(files)[1]
    files[name][-1] = files[name][-1][:50]
    assert _bad(files) == (name, len(files[name]))


def test_a_torn_tail_is_located(files: dict[str, list[bytes]]) -> None:
    """Half a line at the very end."""
    name = max(files)
    files[name].append(b'{"time":"2026')
    bad = _verdict(files).first_bad
    assert bad is not None
    assert (bad.file, bad.line, bad.why) == (name, len(files[name]), "ends in the middle of a line")


@pytest.mark.parametrize(
    "raw", [b"", b"\n", b"null\n", b"[]\n", b"\xff\xfe\x00\n", b"{" * 9000 + b"\n", b"x" * 2_000_000 + b"\n"]
)
def test_garbage_is_a_finding_and_not_a_crash(files: dict[str, list[bytes]], raw: bytes) -> None:
    """Whatever stands in place of a line."""
    name = sorted(files)[1]
    files[name][1] = raw
    assert _bad(files) == (name, 2)


def test_an_empty_file_is_located(files: dict[str, list[bytes]]) -> None:
    """Emptied, wherever it is."""
    for name in sorted(files):
        assert _bad({**files, name: []}) == (name, 1)


def test_forged_ends_do_not_hide_lines(files: dict[str, list[bytes]]) -> None:
    """A forged record of an abandoned file breaks the chain where it stands."""
    first, second, *_rest = sorted(files)
    files[second][0] = files[second][0].replace(b'"abandoned":false', b'"abandoned":true')
    assert _bad(files) == (second, 1)
    files[first].pop()
    assert _bad(files) in {(first, len(files[first]) + 1), (second, 1)}


def test_what_follows_a_failed_write_is_not_looked_at() -> None:
    """Bytes after the end that an abandoned file was given are counted, not judged."""
    disk = Disk()

    async def write() -> None:
        audit = opened(disk)
        await audit.sink.append(line("c1"))
        await audit.close()
        name = disk.directory("audit").names()[0]
        disk.directory("audit").inodes[name].content += b'{"time":"20'
        again = opened(disk)
        await again.sink.append(line("c2"))
        await again.close()

    asyncio.run(write())
    verdict = verify_files(disk.directory("audit"))
    assert (verdict.ok, verdict.lines, verdict.files, verdict.ignored_bytes) == (True, 2, 2, 11)


def test_a_directory_is_verified_by_its_path(tmp_path: Path, files: dict[str, list[bytes]]) -> None:
    """And one that is not there is an error that says so."""
    directory = Directory.made(tmp_path / "audit")
    for name, lines in files.items():
        file = directory.create(name)
        file.append(b"".join(lines))
        file.close()
    assert verify(tmp_path / "audit").lines == 24
    with pytest.raises(StartError, match="no audit to read"):
        verify(tmp_path / "nowhere")
