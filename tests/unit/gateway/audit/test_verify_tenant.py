"""One tenant's lines verify without the rest."""

import asyncio
from pathlib import Path

import pytest
from fakes.audit import opened
from fakes.files import Disk
from fakes.lines import line

from gateway.audit.anchors import Anchors
from gateway.audit.verify_tenant import lines_of_tenant, verify_tenant
from gateway.errors import StartError


async def _written(writer: str) -> Disk:
    disk = Disk()
    audit = opened(disk, segment_bytes=3000, writer=writer)
    for number in range(20):
        await audit.sink.append(line(f"{writer}-{number}", tenant="acme" if number % 3 else "other"))
    await audit.close()
    return disk


def _stored(path: Path, writer: str = "w1") -> Path:
    """An audit of two tenants on a real disk, in several files."""
    disk = asyncio.run(_written(writer))
    path.mkdir()
    for name in disk.directory("audit").names():
        (path / name).write_bytes(disk.directory("audit").content(name))
    return path


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    """The directory."""
    return _stored(tmp_path / "audit")


@pytest.fixture
def handed_over(audit: Path, tmp_path: Path) -> Path:
    """What the tenant gets."""
    path = tmp_path / "acme.jsonl"
    path.write_bytes(b"".join(lines_of_tenant(audit, "acme")))
    return path


def _change(path: Path, number: int, old: bytes, new: bytes) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines[number - 1] = lines[number - 1].replace(old, new)
    path.write_bytes(b"".join(lines))


def test_a_tenants_lines_verify_in_the_audit_and_alone(audit: Path, handed_over: Path) -> None:
    """With the same head; nothing of another tenant's is in what was handed over."""
    inside, alone = verify_tenant(audit, "acme"), verify_tenant(handed_over, "acme")
    assert (inside.ok, alone.ok, alone.lines) == (True, True, 13)
    assert inside.chains == alone.chains
    assert (alone.chains[0].writer, alone.chains[0].head_seq) == ("w1", 13)
    assert b'"other"' not in handed_over.read_bytes()


def test_lines_of_several_writers_are_a_chain_each(audit: Path, handed_over: Path, tmp_path: Path) -> None:
    """What replicas wrote can be put into one file, in any order between them."""
    more = list(lines_of_tenant(_stored(tmp_path / "second", writer="w2"), "acme"))
    first = handed_over.read_bytes().splitlines(keepends=True)
    handed_over.write_bytes(b"".join(raw for pair in zip(first, more, strict=True) for raw in pair))
    verdict = verify_tenant(handed_over, "acme")
    assert (verdict.ok, [chain.writer for chain in verdict.chains]) == (True, ["w1", "w2"])


@pytest.mark.parametrize(
    ("number", "old", "new", "why"),
    [
        (4, b"echo", b"mail", "was changed"),
        (4, b'"tenant_seq":4', b'"tenant_seq":5', "was changed"),
        (1, b"{", b"[", "was changed"),
    ],
)
def test_a_changed_line_is_located(handed_over: Path, number: int, old: bytes, new: bytes, why: str) -> None:
    """By its number in what was handed over."""
    _change(handed_over, number, old, new)
    bad = verify_tenant(handed_over, "acme").first_bad
    assert bad is not None
    assert (bad.line, why in bad.why) == (number, True)


def test_a_removed_line_is_located(handed_over: Path) -> None:
    """At the front, in the middle, and with a checkpoint at the end."""
    whole = handed_over.read_bytes().splitlines(keepends=True)
    head = verify_tenant(handed_over, "acme").chains[0]
    anchors = Anchors(hashes={("w1", "acme", head.head_seq): (head.head_hash, 3)}, checkpoints=1)
    for index, found_at in ((0, 1), (5, 6), (12, 13)):
        handed_over.write_bytes(b"".join(whole[:index] + whole[index + 1 :]))
        bad = verify_tenant(handed_over, "acme", anchors).first_bad
        assert bad is not None
        assert bad.line == found_at
    assert verify_tenant(handed_over, "acme").ok, "without a checkpoint a cut end does not show"


def test_what_the_audit_lost_of_a_tenant_is_located_in_it(audit: Path) -> None:
    """Other tenants' lines may be damaged: this tenant's are good all the same."""
    name = sorted(path.name for path in audit.iterdir())[1]
    lines = (audit / name).read_bytes().splitlines(keepends=True)
    theirs = next(index for index, raw in enumerate(lines) if b'"tenant":"other"' in raw)
    lines[theirs] = lines[theirs].replace(b"echo", b"mail")
    (audit / name).write_bytes(b"".join(lines))
    assert verify_tenant(audit, "acme").ok
    assert verify_tenant(audit, "other").first_bad is not None
    ours = next(index for index, raw in enumerate(lines) if b'"tenant":"acme"' in raw)
    del lines[ours]
    (audit / name).write_bytes(b"".join(lines))
    bad = verify_tenant(audit, "acme").first_bad
    assert bad is not None
    assert (bad.file, "of its tenant where" in bad.why) == (name, True)


def test_another_tenants_line_is_not_taken_for_ones_own(audit: Path, handed_over: Path) -> None:
    """Neither is a file that holds nothing else."""
    with handed_over.open("ab") as file:
        file.write(next(lines_of_tenant(audit, "other")))
    bad = verify_tenant(handed_over, "acme").first_bad
    assert bad is not None
    assert "is another tenant's" in bad.why


def test_a_replica_that_is_missing_from_what_was_handed_over_is_found(audit: Path, handed_over: Path) -> None:
    """The checkpoints list the writers. In one gateway's audit the others are not looked for."""
    anchors = Anchors(hashes={("w9", "acme", 2): ("a" * 64, 1)}, checkpoints=1)
    bad = verify_tenant(handed_over, "acme", anchors).first_bad
    assert bad is not None
    assert "line 2 of w9" in bad.why
    assert verify_tenant(audit, "acme", anchors).ok


def test_what_cannot_be_read_is_an_error(audit: Path, tmp_path: Path) -> None:
    """And a damaged line is not handed over."""
    with pytest.raises(StartError, match="cannot be read"):
        verify_tenant(tmp_path / "nothing.jsonl", "acme")
    name = min(audit.iterdir())
    name.write_bytes(name.read_bytes().replace(b'"w1-1"', b'"w1-9"'))
    with pytest.raises(StartError, match="was changed"):
        list(lines_of_tenant(audit, "acme"))
