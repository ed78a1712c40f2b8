"""Checkpoints: how far the chains had come at a moment, to be signed and kept where the gateway cannot reach.

The text of one: the origin, which is the name of the key; `number` and `time`; then a line for each chain:
`writer WRITER SEQ HASH` for all lines of a writer, `tenant WRITER TENANT SEQ HASH` for one tenant's. A tenant's
name is written as in a URL, so that it is one word.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote

from gateway.audit.lines import Standing
from gateway.audit.notes import BadNote

_NUMBER = re.compile(r"number ([1-9][0-9]{0,17})")
_WRITER = re.compile(r"writer (\S+) (0|[1-9][0-9]{0,17}) ([0-9a-f]{64})")
_TENANT = re.compile(r"tenant (\S+) (\S+) ([1-9][0-9]{0,17}) ([0-9a-f]{64})")


class Stand(NamedTuple):
    """How far one chain had come: a writer's own, or with a tenant that tenant's."""

    writer: str
    tenant: str | None
    seq: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What one note says."""

    origin: str
    number: int
    time: str
    stands: tuple[Stand, ...]


def text_of(checkpoint: Checkpoint) -> str:
    """What is signed."""
    lines = [checkpoint.origin, f"number {checkpoint.number}", f"time {checkpoint.time}"]
    return "".join(f"{line}\n" for line in (*lines, *map(_line, checkpoint.stands)))


def parse(text: str, origin: str) -> Checkpoint:
    """What a note of this origin says. Raises `BadNote`."""
    first, number, time, *rest = [*text.split("\n"), "", "", ""]
    found = _NUMBER.fullmatch(number)
    if first != origin:
        raise BadNote("its origin is not the name of the key that signed it")
    if found is None or not time.startswith("time "):
        raise BadNote("it is no checkpoint of an audit")
    stands = tuple(_stand(line) for line in rest if line)
    return Checkpoint(origin=origin, number=int(found[1]), time=time.removeprefix("time "), stands=stands)


def stands_of(standing: Standing) -> tuple[Stand, ...]:
    """All chains of a writer, its own first."""
    own = Stand(standing.writer, None, standing.seq, standing.hash)
    tenants = sorted(standing.tenants.items())
    return own, *(Stand(standing.writer, tenant, link.seq, link.hash) for tenant, link in tenants)


def merged(known: Iterable[Stand], stand: Stand) -> tuple[Stand, ...]:
    """What is known of a tenant's chains with one of them brought up to date, by writer."""
    others = (one for one in known if one.writer != stand.writer)
    return tuple(sorted((*others, stand)))


def _line(stand: Stand) -> str:
    if stand.tenant is None:
        return f"writer {stand.writer} {stand.seq} {stand.hash}"
    return f"tenant {stand.writer} {quote(stand.tenant, safe='')} {stand.seq} {stand.hash}"


def _stand(line: str) -> Stand:
    if found := _WRITER.fullmatch(line):
        return Stand(found[1], None, int(found[2]), found[3])
    if found := _TENANT.fullmatch(line):
        return Stand(found[1], unquote(found[2]), int(found[3]), found[4])
    raise BadNote("it says what no checkpoint of this version says")
