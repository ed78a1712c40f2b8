"""The real disk: modes, links, short writes."""

import errno
import os
from pathlib import Path

import pytest

from gateway.audit.files import Directory, MappedDirectory, MappedFile, with_prefix
from gateway.errors import StartError


def test_files_and_their_directory_are_their_owners_alone(tmp_path: Path) -> None:
    """0700 for the directory, 0600 for a file, whatever the umask."""
    old = os.umask(0)
    try:
        Directory.made(tmp_path / "a" / "log").create("x").close()
    finally:
        os.umask(old)
    assert (tmp_path / "a" / "log").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "a" / "log" / "x").stat().st_mode & 0o777 == 0o600


def test_a_directory_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    """The message says which command mends it."""
    (tmp_path / "log").mkdir(mode=0o755)
    (tmp_path / "log").chmod(0o755)
    with pytest.raises(StartError, match="chmod 700"):
        Directory.made(tmp_path / "log")


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Neither for the directory nor for a file in it."""
    directory = Directory.made(tmp_path / "log")
    (tmp_path / "log" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_bytes(b"")
    with pytest.raises(OSError, match="symbolic links"):
        directory.open("link")
    with pytest.raises(OSError, match="symbolic links"):
        directory.read("link")
    (tmp_path / "dirlink").symlink_to(tmp_path / "log")
    with pytest.raises(OSError, match="Not a directory"):
        Directory(tmp_path / "dirlink")


def test_an_existing_file_is_not_created_again(tmp_path: Path) -> None:
    """`create` never opens what is there."""
    directory = Directory.made(tmp_path / "log")
    directory.create("x").close()
    with pytest.raises(FileExistsError):
        directory.create("x")


def test_a_file_goes_on_where_it_ended(tmp_path: Path) -> None:
    """What is appended, synced and appended again is all there, and its size is known."""
    directory = Directory.made(tmp_path / "log")
    file = directory.create("x")
    file.append(b"one ")
    file.sync()
    file.close()
    file = directory.open("x")
    file.append(b"two")
    assert file.size == 7
    file.close()
    file.close()
    with directory.read("x") as stream:
        assert stream.read() == b"one two"
    directory.sync_directory()
    directory.remove("x")
    assert directory.names() == []
    directory.close()
    directory.close()


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write that takes three bytes at a time still leaves all of them, once."""
    file = Directory.made(tmp_path / "log").create("x")
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    file.append(b"0123456789")
    monkeypatch.undo()
    assert (tmp_path / "log" / "x").read_bytes() == b"0123456789"


def test_only_files_of_the_log_are_named(tmp_path: Path) -> None:
    """An editor's leftovers are nobody's segment."""
    directory = Directory.made(tmp_path / "log")
    for name in ("j-2.log", "j-10.log", "j-1.log", "j-1.log~", "j-x.log", "other"):
        directory.create(name).close()
    assert list(with_prefix(directory, "j-", ".log")) == ["j-1.log", "j-10.log", "j-2.log"]


def test_a_mapped_file_holds_what_was_appended_at_once(tmp_path: Path) -> None:
    """Without a sync or a close: another reader sees it, and zeros behind it."""
    file = MappedDirectory.made(tmp_path / "log").create("x")
    file.append(b"one ")
    file.append(b"two")
    assert (tmp_path / "log" / "x").read_bytes().rstrip(b"\0") == b"one two"
    assert file.size == 7
    file.sync()
    file.close()
    file.close()
    assert (tmp_path / "log" / "x").read_bytes() == b"one two"


def test_a_mapped_file_goes_on_across_its_windows(tmp_path: Path) -> None:
    """Pieces that end before, at and behind a window's end, and one that spans several."""
    file = MappedDirectory.made(tmp_path / "log").create("x")
    window = MappedFile.WINDOW
    pieces = [b"a" * (window - 3), b"bbb", b"c" * 10, b"d" * (3 * window), b"", b"e"]
    for piece in pieces:
        file.append(piece)
    file.close()
    assert (tmp_path / "log" / "x").read_bytes() == b"".join(pieces)


def test_a_full_disk_is_an_error_of_append_and_the_size_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No room can be reserved: nothing counts as appended."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    file = MappedDirectory.made(tmp_path / "log").create("x")
    file.append(b"one")
    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        file.append(b"x" * MappedFile.WINDOW)
    assert file.size == 3
    file.close()
    assert (tmp_path / "log" / "x").read_bytes() == b"one"
