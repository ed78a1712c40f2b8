"""Archives from anywhere: read within bounds, or refused in one sentence."""

import contextlib
import gzip
import io
import random
import tarfile
import time

import pytest

from gateway.policy.base import PolicyUnusable
from gateway.policy.bundle import archive
from gateway.policy.bundle.archive import plain_name, read_archive, write_archive

FILES = {"policy.rego": b"package a", "lib/b.rego": b"package b", "data.json": b"{}", ".manifest": b"{}"}


def _tar(*members: tuple[tarfile.TarInfo, bytes], form: int = tarfile.USTAR_FORMAT) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as made:
        for member, content in members:
            member.size = len(content)
            made.addfile(member, io.BytesIO(content))
    return gzip.compress(target.getvalue())


def _file(name: str, content: bytes = b"x", kind: bytes = tarfile.REGTYPE) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type = kind
    return member, content


def test_what_is_written_is_read() -> None:
    """The same bytes for the same files, in whatever order they are given."""
    raw = write_archive(FILES)
    assert read_archive(raw) == FILES
    assert write_archive(dict(reversed(FILES.items()))) == raw


@pytest.mark.parametrize("name", ["/policy.rego", "./policy.rego", "policy.rego"])
def test_names_start_at_the_root_of_the_bundle(name: str) -> None:
    """OPA writes a slash, tar a dot; all mean the same. Folders are passed over."""
    folder = tarfile.TarInfo("lib/")
    folder.type = tarfile.DIRTYPE
    assert read_archive(_tar((folder, b""), _file(name))) == {"policy.rego": b"x"}


@pytest.mark.parametrize(
    "name",
    [
        "..",
        "../a",
        "a/../b",
        "/../a",
        "//a",
        "a//b",
        "./../a",
        ".//a",
        "a/",
        "",
        "/",
        "a\\b",
        "ä.rego",
        "a\nb",
        ".hidden",
        "lib/.manifest",
        "lib/.signatures.json",
        "..data/x",
        "a/./b",
        "x" * 256,
    ],
)
def test_a_name_that_is_not_plain_is_refused(name: str) -> None:
    """No way out of the root, nothing hidden, nothing that two systems read differently."""
    with pytest.raises(PolicyUnusable, match="no name for a file in a bundle"):
        plain_name(name)


def test_a_name_in_an_archive_is_looked_at() -> None:
    """In both directions."""
    with pytest.raises(PolicyUnusable, match="no name for a file"):
        read_archive(_tar(_file("../etc/passwd")))
    with pytest.raises(PolicyUnusable, match="no name for a file"):
        write_archive({"../etc/passwd": b""})
    with pytest.raises(PolicyUnusable, match="too long"):
        write_archive({"x" * 200: b""})


@pytest.mark.parametrize(
    "kind",
    [
        tarfile.SYMTYPE,
        tarfile.LNKTYPE,
        tarfile.CHRTYPE,
        tarfile.BLKTYPE,
        tarfile.FIFOTYPE,
        tarfile.CONTTYPE,
        b"Z",
        tarfile.GNUTYPE_SPARSE,
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.GNUTYPE_LONGNAME,
    ],
)
def test_only_files_and_folders_are_taken(kind: bytes) -> None:
    """Links, devices and headers that change other headers are refused."""
    with pytest.raises(PolicyUnusable, match=r"neither a file nor a folder|not a tar"):
        read_archive(_tar(_file("a", b"", kind)))


def test_extended_headers_cost_nothing() -> None:
    """A header of megabytes, on which some readers work for hours, is refused at once."""
    begun = time.perf_counter()
    with pytest.raises(PolicyUnusable, match=r"extended headers"):
        read_archive(_tar(_file("a", b"1" * 4_000_000, tarfile.XHDTYPE)))
    assert time.perf_counter() - begun < 2


def test_a_file_that_stands_twice_is_refused() -> None:
    """Two readers could take another one each; also when it is written in two ways."""
    with pytest.raises(PolicyUnusable, match="stands in the archive twice"):
        read_archive(_tar(_file("a"), _file("/a", b"y")))


def test_everything_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The archive, what it unpacks to, and the number of its members."""
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 1_000_000)
    bomb = write_archive({"a": bytes(2_000_000)})
    assert len(bomb) < 10_000
    with pytest.raises(PolicyUnusable, match="larger than 1000000 bytes together"):
        read_archive(bomb)
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    with pytest.raises(PolicyUnusable, match="more than 3 members"):
        read_archive(write_archive(FILES))
    monkeypatch.setattr(archive, "MAX_ARCHIVE_BYTES", 10)
    with pytest.raises(PolicyUnusable, match="larger than 10 bytes"):
        read_archive(bomb)


def test_a_size_below_zero_is_refused() -> None:
    """It would be read for ever."""
    block = bytearray(tarfile.TarInfo("a").tobuf(tarfile.GNU_FORMAT))
    block[124:136] = b"\xff" * 11 + b"\x00"  # -256 in base 256
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    with pytest.raises(PolicyUnusable):
        read_archive(gzip.compress(bytes(block) + bytes(1024)))


def test_garbage_is_refused_in_a_sentence() -> None:
    """Cut short, mixed up, or never an archive: a problem, and nothing else."""
    chance, whole = random.Random(7), write_archive(FILES)
    plain = gzip.decompress(whole)
    for _ in range(300):
        spoilt = bytearray(plain)
        for _ in range(chance.randint(1, 20)):
            spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
        for raw in (chance.randbytes(100), whole[: chance.randrange(len(whole))], gzip.compress(spoilt)):
            with contextlib.suppress(PolicyUnusable):
                read_archive(raw)


@pytest.mark.parametrize("raw", [b"", b"PK\x03\x04", b"{}", write_archive(FILES)[:-4]])
def test_what_is_no_gzip_is_no_bundle(raw: bytes) -> None:
    """An answer that is something else altogether is named so."""
    with pytest.raises(PolicyUnusable, match=r"not a whole gzipped tar archive|is empty"):
        read_archive(raw)


def test_an_archive_that_ends_within_a_file_is_refused() -> None:
    """What is missing is not filled up."""
    plain = gzip.decompress(write_archive({"a": bytes(5000)}))
    with pytest.raises(PolicyUnusable, match="ends within a file"):
        read_archive(gzip.compress(plain[:2048]))
