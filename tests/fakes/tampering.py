"""Tampering with an audit at random, and whether verification says where.

An audit is a mapping of file names to contents. Whoever tampers may write every file, knows the format, and can
recompute any hash; what he cannot do is sign a checkpoint.
"""

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import orjson

from fakes.files import Disk
from gateway.audit.anchors import Anchors
from gateway.audit.chain import GENESIS, Chains, Head, Sealing, file_name, unseal
from gateway.audit.checkpoints import stands_of
from gateway.audit.lines import Standing
from gateway.audit.verify import Verdict, verify_files

Lines = dict[str, list[bytes]]
Place = tuple[str, int]


@dataclass
class Tampered:
    """An audit that was tampered with: how, and where verification may say so. No place: it cannot tell where."""

    kind: str
    lines: Lines
    places: set[Place]


@dataclass
class Report:
    """What came of many tamperings."""

    cases: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    """Those that were not found, or not where they are; a sentence each."""


def tamperings(
    audit: Mapping[str, bytes],
    anchors: Anchors,
    *,
    cases: int,
    chance: random.Random,
    check: Callable[[Lines, Anchors], Verdict] | None = None,
) -> Report:
    """Tamper so many times with a good audit whose last line a checkpoint was made of, afresh each time.

    `check` takes the place of the verification, for a mutant.
    """
    whole = {name: content.splitlines(keepends=True) for name, content in audit.items()}
    report = Report()
    while report.cases < cases:
        kind = KINDS[report.cases % len(KINDS)]
        tampered = kind({name: list(lines) for name, lines in whole.items()}, anchors, chance)
        if tampered is None or tampered.lines == whole:
            continue
        report.cases += 1
        report.kinds[tampered.kind] += 1
        if wrong := _wrong(tampered, (check or verified)(tampered.lines, anchors)):
            report.violations.append(wrong)
    return report


def verified(lines: Lines, anchors: Anchors) -> Verdict:
    """What verification says of these lines."""
    files = Disk().directory("audit")
    files.adopt({name: b"".join(content) for name, content in lines.items()})
    return verify_files(files, anchors)


def anchors_every(audit: Mapping[str, bytes], step: int) -> Anchors:
    """What checkpoints say that were made after every so many lines and after the last one."""
    hashes: dict[tuple[str, str | None, int], tuple[str, int]] = {}
    chains: Chains | None = None
    lines = [raw for name in sorted(audit) for raw in audit[name].splitlines(keepends=True)]
    for number, raw in enumerate(lines, 1):
        if chains is None:
            chains = Chains.at_segment(*unseal(raw))
        else:
            chains.follow(raw)
        if number % step == 0 or number == len(lines):
            stands = stands_of(Standing(*chains.head, dict(chains.tenants)))
            hashes |= {(one.writer, one.tenant, one.seq): (one.hash, number) for one in stands}
    return Anchors(hashes=hashes, checkpoints=len(lines) // step + 1)


def _wrong(tampered: Tampered, verdict: Verdict) -> str:
    bad = verdict.first_bad
    if bad is None:
        return f"{tampered.kind} was not found: it is at {sorted(tampered.places)}"
    if (bad.file, bad.line) not in tampered.places:
        return f"{tampered.kind} at {sorted(tampered.places)} was said to be at {bad}"
    return ""


def _all(lines: Lines) -> Iterator[tuple[str, int]]:
    """Every line's file and index, in order."""
    for name in sorted(lines):
        for index in range(len(lines[name])):
            yield name, index


def _any(lines: Lines, chance: random.Random) -> tuple[str, int]:
    return chance.choice(list(_all(lines)))


def _after(lines: Lines, name: str, index: int) -> Place:
    """Where the line that stands after this place is, or would be at the end of all."""
    if index < len(lines[name]):
        return name, index + 1
    later = [other for other in sorted(lines) if other > name]
    return (later[0], 1) if later else (name, index + 1)


def _flip(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    name, index = _any(lines, chance)
    raw = bytearray(lines[name][index])
    raw[chance.randrange(len(raw) - 1)] ^= 1 << chance.randrange(7)
    lines[name][index] = bytes(raw)
    return Tampered("flipped bit", lines, {(name, index + 1)})


def _delete(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    name, index = _any(lines, chance)
    del lines[name][index]
    if not lines[name]:
        return Tampered("deleted line", lines, {(name, 1)})
    return Tampered("deleted line", lines, {_after(lines, name, index)})


def _delete_last(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    name = max(lines)
    keep = chance.randrange(1, len(lines[name]))
    del lines[name][keep:]
    return Tampered("deleted end", lines, {(name, keep + 1)})


def _duplicate(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    name, index = _any(lines, chance)
    lines[name].insert(index, lines[name][index])
    return Tampered("duplicated line", lines, {(name, index + 2)})


def _swap(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered | None:
    name = chance.choice(sorted(lines))
    if len(lines[name]) < 2:
        return None
    first, second = sorted(chance.sample(range(len(lines[name])), 2))
    lines[name][first], lines[name][second] = lines[name][second], lines[name][first]
    return Tampered("swapped lines", lines, {(name, first + 1)})


def _move(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    """To another file."""
    name, index = _any(lines, chance)
    raw = lines[name].pop(index)
    other = chance.choice(sorted(lines))
    place = chance.randrange(len(lines[other]) + 1)
    lines[other].insert(place, raw)
    return Tampered("moved line", lines, {min(_after(lines, name, index), (other, place + 1))})


def _truncate(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    """A file is cut off somewhere."""
    name, index = _any(lines, chance)
    cut = chance.randrange(1, len(lines[name][index]))
    lines[name] = [*lines[name][:index], lines[name][index][:cut]]
    return Tampered("truncated file", lines, {(name, index + 1)})


def _empty(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    name = chance.choice(sorted(lines))
    lines[name] = []
    return Tampered("emptied file", lines, {(name, 1)})


def _remove_file(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered | None:
    if len(lines) < 2:
        return None
    name = chance.choice(sorted(lines))
    del lines[name]
    later = [other for other in sorted(lines) if other > name]
    last = max(lines)
    return Tampered("removed file", lines, {(later[0], 1) if later else (last, len(lines[last]) + 1)})


def _swap_files(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered | None:
    if len(lines) < 2:
        return None
    first, second = sorted(chance.sample(sorted(lines), 2))
    lines[first], lines[second] = lines[second], lines[first]
    return Tampered("swapped files", lines, {(first, 1)})


def _forge(lines: Lines, anchors: Anchors, chance: random.Random) -> Tampered | None:
    """A line that fits behind the one before it."""
    name, index = _any(lines, chance)
    chains = _chains_before(lines, name, index + 1)
    lines[name].insert(index + 1, Sealing(chains).line(b'{"kind":"call","call_id":"forged","tenant":"acme"', "acme"))
    if name == max(lines) and index + 2 == len(lines[name]):
        return None  # behind the last checkpoint
    is_signed = _is_anchored(lines[name][index + 1], anchors)
    return Tampered("inserted line", lines, {(name, index + 2) if is_signed else _after(lines, name, index + 2)})


def _edit(lines: Lines, anchors: Anchors, chance: random.Random) -> Tampered | None:
    """Another content under a hash that fits it."""
    name, index = _any(lines, chance)
    fields = _edited(lines[name][index])
    if fields is None:
        return None
    tenant = orjson.loads(lines[name][index])["tenant"]
    lines[name][index] = Sealing(_chains_before(lines, name, index)).line(fields, tenant)
    is_signed = _is_anchored(lines[name][index], anchors)
    return Tampered("edited line", lines, {(name, index + 1) if is_signed else _after(lines, name, index + 1)})


def _rewrite(lines: Lines, anchors: Anchors, chance: random.Random) -> Tampered | None:
    """Another content, and everything after it made to fit: the work of somebody who has read the format."""
    name, index = _any(lines, chance)
    fields = _edited(lines[name][index])
    if fields is None:
        return None
    chains = _chains_before(lines, name, index)
    places = [place for place in _all(lines) if place >= (name, index)]
    found: Place | None = None
    for file, line in places:
        before = sum(map(len, lines[max((other for other in lines if other < file), default=file)]))
        is_edited = (file, line) == (name, index)
        lines[file][line] = _resealed(chains, lines[file][line], fields if is_edited else None, before)
        if found is None and _is_anchored(lines[file][line], anchors):
            found = file, line + 1
    assert found is not None, "a checkpoint was made of the last line"
    return Tampered("rewritten end", lines, {found})


def _resealed(chains: Chains, raw: bytes, fields: bytes | None, offset: int) -> bytes:
    """The line once more, behind chains that take it over. `offset` is the length of the file before."""
    value = orjson.loads(raw)
    sealing = Sealing(chains)
    if value["kind"] != "segment":
        made = sealing.line(fields or _fields(value), value["tenant"])
        sealing.done()
        return made
    value["prev"] = chains.head.hash
    if value["continues"] is not None:
        value["continues"] |= {"hash": chains.head.hash, "offset": offset}
    value["tenants"] = {tenant: list(link) for tenant, link in chains.tenants.items()}
    names = ("kind", "continues", "abandoned", "base", "tenants", "writer", "seq", "prev")
    made = _hashed(orjson.dumps({name: value[name] for name in names})[:-1])
    chains.head = unseal(made)[1]
    return made


def _hashed(body: bytes) -> bytes:
    return body + b',"hash":"' + hashlib.sha256(body).hexdigest().encode() + b'"}\n'


def _edited(raw: bytes) -> bytes | None:
    """The fields of a line with another tool in them; None for the record that a file begins with."""
    value = orjson.loads(raw)
    if value["kind"] == "segment":
        return None
    return _fields({**value, "tool": f"not_{value.get('tool', '')}"})


def _fields(value: dict[str, object]) -> bytes:
    own = {"writer", "seq", "prev", "tenant_seq", "tenant_prev", "hash"}
    return orjson.dumps({name: item for name, item in value.items() if name not in own})[:-1]


def _chains_before(lines: Lines, name: str, index: int) -> Chains:
    """Where the chains stand before this line of a good audit."""
    chains: Chains | None = None
    for file, line in _all(lines):
        if (file, line) >= (name, index):
            break
        raw = lines[file][line]
        if chains is None:
            chains = Chains.at_segment(*unseal(raw))
        else:
            chains.follow(raw)
    return chains or Chains(Head("", 0, GENESIS), 0, {})


def _is_anchored(raw: bytes, anchors: Anchors) -> bool:
    value = orjson.loads(raw)
    places = [(value["writer"], None, value["seq"])]
    if "tenant_seq" in value:
        places.append((value["writer"], value["tenant"], value["tenant_seq"]))
    return any(place in anchors.hashes for place in places)


def _rename(lines: Lines, _anchors: Anchors, chance: random.Random) -> Tampered:
    """A file under another number."""
    name = chance.choice(sorted(lines))
    other = file_name(chance.randrange(1, 10**9))
    lines[other] = lines.pop(name)
    places = {(other, 1)}
    later = [file for file in sorted(lines) if file > name and file != other]
    if later and other > later[0]:
        places = {(later[0], 1)}
    return Tampered("renamed file", lines, places)


KINDS: tuple[Callable[[Lines, Anchors, random.Random], Tampered | None], ...] = (
    _flip,
    _delete,
    _delete_last,
    _duplicate,
    _swap,
    _move,
    _truncate,
    _empty,
    _remove_file,
    _swap_files,
    _forge,
    _edit,
    _rewrite,
    _rename,
)
