"""The hash chains: how a line is bound to the one before it, and to the one before it of its own tenant.

A line on disk is one JSON object: the fields of its record, then `writer`, `seq`, `prev`, `tenant_seq`,
`tenant_prev` and `hash`. `hash` is the SHA-256, in hex, of the line's bytes up to the comma before it. `prev` is
the hash of the line before, `tenant_prev` that of the line before of the same tenant: so all lines of a writer are
one chain, and those of each tenant are another that can be verified without the rest. Every file begins with a
record of kind `segment`, which belongs to no tenant. It says which file it continues, up to which byte that file
counts, and where every tenant's chain stands.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

GENESIS = "0" * 64
PREFIX = "audit-"
SUFFIX = ".jsonl"
MAX_LINE_BYTES = 16 * 1024 * 1024
"""A record that names a hundred thousand tenants fits; no other line comes near."""

_TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n\Z')
_TAIL_BYTES = len(b',"hash":""}\n') + 64


class BadLine(Exception):  # noqa: N818 - a finding, not an error of ours
    """Why a line is not the one that was written there."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Head(NamedTuple):
    """The end of a writer's chain: whose it is, its last sequence number and hash."""

    writer: str
    seq: int
    hash: str


class Link(NamedTuple):
    """The end of one tenant's chain."""

    seq: int
    hash: str


_EndOf = Callable[[str], Link]


class Mark(NamedTuple):
    """A place in a file up to which its bytes count."""

    file: str
    offset: int


class Chains:
    """Where the chains of one writer stand. `base` is the number that all of them begin behind: 0, or more when an
    earlier audit of the same writer was taken away as a whole, so that no number is ever given twice.
    """

    __slots__ = ("base", "head", "tenants")

    def __init__(self, head: Head, base: int, tenants: dict[str, Link]) -> None:
        self.head = head
        self.base = base
        self.tenants = tenants

    @classmethod
    def begun(cls, writer: str, after_seq: int) -> "Chains":
        """Chains without a line."""
        return cls(Head(writer, after_seq, GENESIS), after_seq, {})

    @classmethod
    def at_segment(cls, value: Mapping[str, Any], head: Head) -> "Chains":
        """As a file's first record says. Raises `BadLine`."""
        base, tenants = value.get("base"), value.get("tenants")
        if type(base) is not int or not isinstance(tenants, dict):
            raise BadLine("does not say where the tenants' chains stand")
        return cls(head, base, {tenant: _link(link) for tenant, link in tenants.items()})

    def of(self, tenant: str) -> Link:
        """The end of the tenant's chain."""
        return self.tenants.get(tenant) or Link(self.base, GENESIS)

    def follow(self, raw: bytes) -> dict[str, Any]:
        """The line's fields, once it is the one that comes next in its chains. Raises `BadLine`; they are as before."""
        value, head = follow(raw, self.head)
        if value.get("kind") == "segment":
            stands = Chains.at_segment(value, head)
            if (stands.base, stands.tenants) != (self.base, self.tenants):
                raise BadLine("says something else of the tenants' chains than the lines before it")
        else:
            tenant, link = follow_own(value, head, self.of)
            self.tenants[tenant] = link
        self.head = head
        return value


class Sealing:
    """Lines that are sealed one after the other. The chains stay as they are until they take them over."""

    __slots__ = ("_chains", "_fresh", "head")

    def __init__(self, chains: Chains) -> None:
        self._chains = chains
        self._fresh: dict[str, Link] = {}
        self.head = chains.head

    def segment(self, before: Mark | None, *, is_abandoned: bool) -> bytes:
        """The first record of a file."""
        head, chains = self.head, self._chains
        continues = None
        if before is not None:
            continues = {"file": before.file, "seq": head.seq, "hash": head.hash, "offset": before.offset}
        record = {"kind": "segment", "continues": continues, "abandoned": is_abandoned, "base": chains.base}
        record["tenants"] = {tenant: list(link) for tenant, link in (chains.tenants | self._fresh).items()}
        seq = head.seq + 1
        body = b'%b,"writer":"%b","seq":%d,"prev":"%b"' % (
            orjson.dumps(record)[:-1],
            head.writer.encode(),
            seq,
            head.hash.encode(),
        )
        digest = hashlib.sha256(body).hexdigest()
        self.head = Head(head.writer, seq, digest)
        return b'%b,"hash":"%b"}\n' % (body, digest.encode())

    def line(self, fields: bytes, tenant: str) -> bytes:
        """The line that comes next. `fields` is a JSON object, the tenant in it, without its last brace."""
        writer, seq, before = self.head
        seq += 1
        own = self._fresh.get(tenant) or self._chains.of(tenant)
        body = b'%b,"writer":"%b","seq":%d,"prev":"%b","tenant_seq":%d,"tenant_prev":"%b"' % (
            fields,
            writer.encode(),
            seq,
            before.encode(),
            own.seq + 1,
            own.hash.encode(),
        )
        digest = hashlib.sha256(body).hexdigest()
        self.head = Head(writer, seq, digest)
        self._fresh[tenant] = Link(own.seq + 1, digest)
        return b'%b,"hash":"%b"}\n' % (body, digest.encode())

    def done(self) -> None:
        """The chains stand behind what was sealed."""
        self._chains.head = self.head
        self._chains.tenants.update(self._fresh)


def file_name(seq: int) -> str:
    """The name of the file whose first line has this sequence number."""
    return f"{PREFIX}{seq:012d}{SUFFIX}"


def first_seq(name: str) -> int:
    """The sequence number in a file's name."""
    return int(name.removeprefix(PREFIX).removesuffix(SUFFIX))


def unseal(raw: bytes) -> tuple[dict[str, Any], Head]:
    """The line's fields, and the head that it makes. Raises `BadLine` when it contradicts itself."""
    if raw[-1:] != b"\n":
        raise BadLine("ends in the middle of a line")
    tail = _TAIL.search(raw, max(0, len(raw) - _TAIL_BYTES))
    if tail is None:
        raise BadLine("has no hash at its end")
    if hashlib.sha256(raw[: tail.start()]).hexdigest().encode() != tail[1]:
        raise BadLine("was changed: its hash does not match its content")
    value = _exactly(raw[:-1])
    writer, seq = value.get("writer"), value.get("seq")
    if not isinstance(writer, str) or type(seq) is not int or not isinstance(value.get("prev"), str):
        raise BadLine("lacks a writer, a sequence number or the previous hash")
    return value, Head(writer, seq, tail[1].decode())


def follow(raw: bytes, head: Head) -> tuple[dict[str, Any], Head]:
    """`unseal`, for the line that must come after `head` in its writer's chain. Raises `BadLine`."""
    value, new = unseal(raw)
    if new.writer != head.writer:
        raise BadLine("was written by another gateway")
    if new.seq != head.seq + 1:
        raise BadLine(f"has sequence number {new.seq} where {head.seq + 1} was due: a line was removed, added or moved")
    if value["prev"] != head.hash:
        raise BadLine("does not follow the line before it: that one was changed or replaced")
    return value, new


def own_of(value: Mapping[str, Any]) -> tuple[str, int, str]:
    """A line's tenant, its number among the tenant's lines, and the hash of the one before. Raises `BadLine`."""
    tenant, seq, before = value.get("tenant"), value.get("tenant_seq"), value.get("tenant_prev")
    if not isinstance(tenant, str) or type(seq) is not int or not isinstance(before, str):
        raise BadLine("lacks a tenant, its number among the tenant's lines or the hash of the one before")
    return tenant, seq, before


def follow_own(value: Mapping[str, Any], head: Head, end_of: _EndOf) -> tuple[str, Link]:
    """The line's tenant and the new end of its chain, once the line comes next there. Raises `BadLine`."""
    tenant, seq, before = own_of(value)
    end = end_of(tenant)
    if seq != end.seq + 1:
        due = end.seq + 1
        raise BadLine(f"is line {seq} of its tenant where {due} was due: a line was removed, added or moved")
    if before != end.hash:
        raise BadLine("does not follow the line before it of its tenant: that one was changed or replaced")
    return tenant, Link(seq, head.hash)


def _link(value: Any) -> Link:
    match value:
        case [int(seq), str(digest)] if seq > 0:
            return Link(seq, digest)
    raise BadLine("does not say where the tenants' chains stand")


def _exactly(body: bytes) -> dict[str, Any]:
    """The object. What does not serialise to the very same bytes (a key twice, spaces) was not written here."""
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadLine("is not JSON") from error
    if not isinstance(value, dict) or orjson.dumps(value) != body:
        raise BadLine("is not written as the gateway writes")
    return value
