"""A number in a file."""

from pathlib import Path

import pytest

from gateway.audit.outlets.position import PositionFile


def test_a_number_is_kept(tmp_path: Path) -> None:
    """The last one; nothing else is left behind."""
    file = PositionFile(tmp_path / "otlp.position")
    assert file.read() is None
    for number in (7, 123456789):
        file.keep(number)
    assert PositionFile(tmp_path / "otlp.position").read() == 123456789
    assert [path.name for path in tmp_path.iterdir()] == ["otlp.position"]


@pytest.mark.parametrize("content", [b"", b"x", b"-1", b"1" * 40, b"\xff", "\uff11".encode()])
def test_what_is_no_number_is_none(tmp_path: Path, content: bytes) -> None:
    """A disk that was full left half of it, or somebody wrote into it."""
    (tmp_path / "p").write_bytes(content)
    assert PositionFile(tmp_path / "p").read() is None


def test_a_disk_that_fails_is_no_error(tmp_path: Path) -> None:
    """Lines are handed on twice after a restart, no more."""
    PositionFile(tmp_path / "nowhere" / "p").keep(1)
    assert PositionFile(tmp_path / "nowhere" / "p").read() is None
