"""Bundles as archives: gzipped tar, read without trust and written the same for the same files.

An archive is read before anybody has said that it may be trusted. Everything is bounded, and headers are read
one by one: the standard library's reader follows extended headers, whose parsing takes time without bound.
"""

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator, Mapping

from gateway.policy.bundle.problem import unusable

MANIFEST = ".manifest"
SIGNATURES = ".signatures.json"

MAX_ARCHIVE_BYTES = 16 * 1024 * 1024
MAX_UNPACKED_BYTES = 64 * 1024 * 1024
MAX_MEMBERS = 4096

_BLOCK = tarfile.BLOCKSIZE
_FILE_TYPES = frozenset({tarfile.REGTYPE, tarfile.AREGTYPE})
_SEGMENT = re.compile(r"(?!\.)[ -.0-\[\]-~]+")
"""Printable ASCII without slash and backslash, no dot in front."""
_MAX_NAME = 255


def read_archive(raw: bytes) -> dict[str, bytes]:
    """Every file by its name from the bundle's root. Raises `PolicyUnusable`."""
    files: dict[str, bytes] = {}
    for name, content in _members(_unzipped(raw)):
        if name in files:
            raise unusable("duplicate", "stands in the archive twice", file=name)
        files[name] = content
    return files


def write_archive(files: Mapping[str, bytes]) -> bytes:
    """The archive of these files: the same bytes for the same files. Raises `PolicyUnusable` for a name that no
    bundle may hold.
    """
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in sorted(files):
            member = tarfile.TarInfo(plain_name(name))
            member.size = len(files[name])
            member.mode = 0o644
            try:
                archive.addfile(member, io.BytesIO(files[name]))
            except ValueError as error:
                raise unusable("name", "the name is too long for an archive", file=name) from error
    return gzip.compress(target.getvalue(), mtime=0)


def plain_name(name: str) -> str:
    """The name from the bundle's root, which archives may write as `/` or `./`. Raises `PolicyUnusable` for one
    that leaves the root, that would be hidden, or that is not plain ASCII.
    """
    plain = name.removeprefix(".").removeprefix("/") if name.startswith("./") else name.removeprefix("/")
    is_plain = all(map(_SEGMENT.fullmatch, plain.split("/")))
    if plain not in (MANIFEST, SIGNATURES) and not (is_plain and len(plain) <= _MAX_NAME):
        message = "no name for a file in a bundle; use plain ASCII, no leading dot, and no way out of its root"
        raise unusable("name", message, file=ascii(name[:_MAX_NAME]))
    return plain


def _unzipped(raw: bytes) -> bytes:
    if len(raw) > MAX_ARCHIVE_BYTES:
        raise unusable("size", f"the archive is larger than {MAX_ARCHIVE_BYTES} bytes")
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
            data = stream.read(MAX_UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise unusable("archive", "is not a whole gzipped tar archive") from error
    if len(data) > MAX_UNPACKED_BYTES:
        raise unusable("size", f"the files are larger than {MAX_UNPACKED_BYTES} bytes together")
    if not data:
        raise unusable("archive", "is empty")
    return data


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    at = members = 0
    while (block := data[at : at + _BLOCK]).strip(b"\0"):
        members += 1
        if members > MAX_MEMBERS:
            raise unusable("size", f"the archive holds more than {MAX_MEMBERS} members")
        header = _header(block)
        start, end = at + _BLOCK, at + _BLOCK + header.size
        if end > len(data):
            raise unusable("archive", "ends within a file", file=ascii(header.name))
        if header.type in _FILE_TYPES:
            yield plain_name(header.name), data[start:end]
        at = start + -(-header.size // _BLOCK) * _BLOCK


def _header(block: bytes) -> tarfile.TarInfo:
    """A file's header, or that of a folder, which has no content."""
    try:
        header = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
    except (tarfile.HeaderError, ValueError) as error:
        raise unusable("archive", "is not a tar archive") from error
    is_folder = header.type == tarfile.DIRTYPE and header.size == 0
    if header.size < 0 or not (is_folder or header.type in _FILE_TYPES):
        message = "is neither a file nor a folder; links, devices and extended headers are not taken"
        raise unusable("archive", message, file=ascii(header.name))
    return header
