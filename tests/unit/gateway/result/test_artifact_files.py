"""One artifact on disk."""

from pathlib import Path

import pytest

from gateway.result.artifact_files import CHUNK_BYTES, PART, chunks_of, place_of, read, write
from gateway.store.sealing import SealBroken


def test_a_whole_is_cut_into_chunks() -> None:
    """The last may be shorter; nothing has none."""
    assert [len(chunk) for chunk in chunks_of(b"x" * (CHUNK_BYTES + 1))] == [CHUNK_BYTES, 1]
    assert chunks_of(b"") == []


def test_every_frame_has_a_place_of_its_own() -> None:
    """So that none opens as another."""
    assert len({place_of(one, number) for one in ("a", "b") for number in range(3)}) == 6


def test_some_frames_can_be_read_without_the_rest(tmp_path: Path) -> None:
    """The first always is."""
    path = tmp_path / "acme" / "a.sealed"
    size = write(path, [b"head", b"one", b"two", b"three"], now=1_000_000.0)
    assert size == path.stat().st_size
    assert read(path, range(2, 3)) == [b"head", b"two"]
    assert read(path, range(1, 4)) == [b"head", b"one", b"two", b"three"]
    assert read(path, range(3, 9)) == [b"head", b"three"]
    assert read(path, range(1, 1)) == [b"head"]


def test_only_its_user_can_read_it(tmp_path: Path) -> None:
    """File and folder; it is dated as it is told."""
    path = tmp_path / "acme" / "a.sealed"
    write(path, [b"head"], now=1_000_000.0)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert path.stat().st_mtime == 1_000_000.0


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    """Not even half a file."""

    def frames() -> object:
        yield b"head"
        raise OSError("the disk")

    path = tmp_path / "a.sealed"
    with pytest.raises(OSError, match="the disk"):
        write(path, frames(), now=0.0)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    assert PART == ".part"


@pytest.mark.parametrize("raw", [b"\xff\xff\xff\xff", b"\x00\x00", b"\x00\x08\x00\x01"])
def test_a_file_that_is_no_artifact_is_not_read(tmp_path: Path, raw: bytes) -> None:
    """Whatever length it claims, so much is not asked for."""
    path = tmp_path / "a.sealed"
    path.write_bytes(raw)
    with pytest.raises(SealBroken):
        read(path, range(1, 2))
