"""Nobody brings an older policy back."""

import stat
from pathlib import Path

import pytest

from gateway.policy.base import Floor, PolicyUnusable
from gateway.policy.bundle.floor import FileFloor, NoFloor

OLD, NOW, NEW = (f"2026010{day}T000000Z-0123456789ab" for day in (1, 2, 3))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where it is kept; its folder does not exist yet."""
    return tmp_path / "policy" / "floor"


def test_without_a_floor_every_policy_with_a_time_may_decide(path: Path) -> None:
    """The first one is taken."""
    floor: Floor = FileFloor(path)
    assert floor.why_not(OLD) == ""
    assert not path.exists()


def test_the_floor_only_rises_and_outlives_the_process(path: Path) -> None:
    """The same and newer ones are admitted, older ones never again."""
    FileFloor(path).raise_to(NOW)
    again = FileFloor(path)
    assert [not again.why_not(revision) for revision in (OLD, NOW, NEW)] == [False, True, True]
    with pytest.raises(PolicyUnusable, match="not newer than 20260102T000000Z-0123456789ab"):
        again.raise_to(OLD)
    again.raise_to(NOW)
    again.raise_to(NEW)
    assert path.read_text() == f"{NEW}\n"
    assert FileFloor(path).why_not(NOW)
    assert [each.name for each in path.parent.iterdir()] == ["floor"]
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_of_two_of_the_same_second_the_first_stays(path: Path) -> None:
    """Nobody could say which is newer."""
    floor = FileFloor(path)
    floor.raise_to(NOW)
    assert "build it again" in floor.why_not("20260102T000000Z-ffffffffffff")


@pytest.mark.parametrize("revision", ["", "r1", "sha256:00", "20269901T000000Z-0123456789ab"])
def test_a_revision_without_a_time_is_never_admitted(path: Path, revision: str) -> None:
    """The sentence says what to do."""
    floor = FileFloor(path)
    assert "tollhouse policy bundle build" in floor.why_not(revision)
    with pytest.raises(PolicyUnusable, match="does not say when"):
        floor.raise_to(revision)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"r1\n", b"\xff", NOW.encode()[:-1], f"{NOW}\n{NEW}\n".encode(), b"x" * 10_000]
)
def test_a_floor_that_cannot_be_read_admits_nothing(path: Path, content: bytes) -> None:
    """Nobody knows what was active: fail closed, and say which file."""
    path.parent.mkdir()
    path.write_bytes(content)
    floor = FileFloor(path)
    assert floor.why_not(NEW) == f"{path} cannot be read, so nobody knows which policy is older; mend or remove it"
    with pytest.raises(PolicyUnusable):
        floor.raise_to(NEW)
    assert path.read_bytes() == content


def test_a_floor_that_cannot_be_opened_admits_nothing(path: Path) -> None:
    """A folder in its place is no missing file."""
    path.mkdir(parents=True)
    assert "cannot be read" in FileFloor(path).why_not(NEW)


def test_a_floor_that_cannot_be_written_is_told(path: Path) -> None:
    """What is active then is for the caller to decide."""
    path.parent.mkdir()
    path.with_name("floor.new").mkdir()
    with pytest.raises(PolicyUnusable, match="cannot be written, so an older policy could come back"):
        FileFloor(path).raise_to(NOW)


def test_where_revisions_tell_no_time_every_one_may_decide() -> None:
    """A commit's name, after another one; nothing is kept."""
    floor = NoFloor()
    floor.raise_to("20261130T141436Z-0123456789ab")
    assert [floor.why_not(revision) for revision in ("3f2a9c1", "20250101T000000Z-0123456789ab")] == ["", ""]
