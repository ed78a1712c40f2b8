"""What checkpoints hold against an audit: lines cut off its end, lines replaced up to its end, a fork."""

import asyncio
import random
from pathlib import Path

import pytest
from fakes.audit import opened
from fakes.files import Disk
from fakes.lines import line
from fakes.signing import FakeSigner
from fakes.tampering import Lines, anchors_every, tamperings, verified

from gateway.audit.anchors import FILE_NAME, Anchors, anchors_of
from gateway.audit.chain import Chains, Sealing, file_name
from gateway.audit.checkpoints import Checkpoint, Stand, stands_of, text_of
from gateway.audit.lines import Standing
from gateway.errors import StartError

SIGNER = FakeSigner()
KEYS = (SIGNER.key,)


@pytest.fixture(scope="module")
def audit() -> dict[str, bytes]:
    """Three tenants in several files."""
    return _audit()


def _audit(**changes: str) -> dict[str, bytes]:
    async def write() -> Disk:
        disk = Disk()
        made = opened(disk, segment_bytes=4000, **changes)
        for number in range(40):
            await made.sink.append(line(f"c{number}", tenant=f"t{number % 3}"))
        await made.close()
        return disk

    files = asyncio.run(write()).directory("audit")
    return {name: files.content(name) for name in files.names()}


def _split(audit: dict[str, bytes]) -> Lines:
    return {name: content.splitlines(keepends=True) for name, content in audit.items()}


def _standing(lines: Lines) -> Standing:
    chains = Chains.begun("w1", 0)
    for name in sorted(lines):
        for raw in lines[name]:
            chains.follow(raw)
    return Standing(*chains.head, dict(chains.tenants))


def _note(stands: tuple[Stand, ...], number: int = 1, signer: FakeSigner = SIGNER) -> str:
    made = Checkpoint(origin=signer.key.name, number=number, time="2026-01-01T00:00:00.000000Z", stands=stands)
    return f"{signer.note(text_of(made))}\n"


def _anchors(path: Path, *notes: str) -> Anchors:
    (path / FILE_NAME).write_text("".join(notes))
    return anchors_of([path], KEYS)


def test_an_untouched_audit_agrees_with_its_checkpoints(audit: dict[str, bytes], tmp_path: Path) -> None:
    """The verdict says how many there were and how far they reach."""
    lines = _split(audit)
    verdict = verified(lines, _anchors(tmp_path, _note(stands_of(_standing(lines)))))
    assert (verdict.ok, verdict.checkpoints, verdict.covered_seq) == (True, 1, verdict.head_seq)


def test_lines_cut_off_the_end_are_found_as_far_as_a_checkpoint_reaches(
    audit: dict[str, bytes], tmp_path: Path
) -> None:
    """Without one nothing shows; beyond the last one neither."""
    lines = _split(audit)
    anchors = _anchors(tmp_path, _note(stands_of(_standing(lines))))
    name = max(lines)
    del lines[name][-1]
    assert verified(lines, Anchors()).ok
    bad = verified(lines, anchors).first_bad
    assert bad is not None
    assert (bad.file, bad.line) == (name, len(lines[name]) + 1)
    assert "was cut off here: checkpoint 1 was made of line" in bad.why
    assert verified(_split(audit), _anchors(tmp_path, _note(stands_of(_standing(lines)), 2))).ok


def test_an_audit_that_is_gone_as_a_whole_is_found(tmp_path: Path, audit: dict[str, bytes]) -> None:
    """As is one that begins later than a checkpoint says, which is a new chain in place of the old one."""
    anchors = _anchors(tmp_path, _note(stands_of(_standing(_split(audit)))))
    assert not verified({}, anchors).ok
    bad = verified(_split(_later()), anchors).first_bad
    assert bad is not None
    assert "is not where the audit began" in bad.why


def _later() -> dict[str, bytes]:
    sealing = Sealing(Chains.begun("w1", 500))
    raw = sealing.segment(None, is_abandoned=False) + sealing.line(b'{"kind":"call","tenant":"t0"', "t0")
    return {file_name(501): raw}


@pytest.mark.parametrize("place", ["tenant", "writer"])
def test_each_level_is_held_to_its_checkpoints(audit: dict[str, bytes], tmp_path: Path, place: str) -> None:
    """A tenant's own checkpoint, as the store keeps it, finds a cut on its own; and so does the writer's."""
    lines = _split(audit)
    own, *tenants = stands_of(_standing(lines))
    stands = (own,) if place == "writer" else tuple(tenants)
    del lines[max(lines)][-1]
    assert not verified(lines, _anchors(tmp_path, _note(stands))).ok


def test_checkpoints_that_were_changed_or_taken_away_are_found(audit: dict[str, bytes], tmp_path: Path) -> None:
    """Whoever can shorten the audit can do that, too. A stranger's note is nothing, and says nothing."""
    lines = _split(audit)
    note = _note(stands_of(_standing(lines)))
    bad = verified(lines, _anchors(tmp_path, note.replace("number 1", "number 2"))).first_bad
    assert bad is not None
    assert (bad.file, "was changed" in bad.why) == (FILE_NAME, True)
    stranger = _note(stands_of(_standing(lines)), signer=FakeSigner(2))
    for notes in ((), (stranger,)):
        bad = verified(lines, _anchors(tmp_path, *notes)).first_bad
        assert bad is not None
        assert "no checkpoint that a key you named has signed" in bad.why
    assert verified(lines, _anchors(tmp_path, stranger, note)).checkpoints == 1


def test_a_writer_that_forked_its_own_chain_is_found(audit: dict[str, bytes], tmp_path: Path) -> None:
    """Two checkpoints of one line, both signed, with two hashes."""
    own = stands_of(_standing(_split(audit)))[0]
    bad = _anchors(tmp_path, _note((own,)), _note((own._replace(hash="f" * 64),), 2)).bad
    assert bad is not None
    assert "checkpoints 1 and 2 say different things of line" in bad.why


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """Not an audit without checkpoints."""
    with pytest.raises(StartError, match=r"nothing\.notes"):
        anchors_of([tmp_path / "nothing.notes"], KEYS)


def test_random_tamperings_are_each_located(audit: dict[str, bytes]) -> None:
    """By file and line, of every kind that there is."""
    report = tamperings(audit, anchors_every(audit, 7), cases=140, chance=random.Random(5))
    assert report.violations == []
    assert (report.cases, len(report.kinds)) == (140, 14)


def test_without_checkpoints_a_rewritten_end_is_not_found(audit: dict[str, bytes]) -> None:
    """The count of what was found is no accident: a verification that ignores them misses these."""
    report = tamperings(
        audit,
        anchors_every(audit, 7),
        cases=56,
        chance=random.Random(5),
        check=lambda lines, _anchors: verified(lines, Anchors()),
    )
    assert any("rewritten end" in one for one in report.violations)
    assert any("deleted end" in one for one in report.violations)
