"""Rotated files: what is noticed, when, and what is no file."""

import itertools
import os
from pathlib import Path

import pytest
from fakes.clock import FakeClock

from gateway.watched import LOOK_SECONDS, MAX_BYTES, FileUnusable, Trouble, WatchedFile


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_bytes(b"one\n")
    return path


@pytest.fixture
def watched(path: Path, clock: FakeClock) -> WatchedFile:
    return WatchedFile(path, clock.monotonic)


def later(clock: FakeClock, watched: WatchedFile) -> bytes:
    clock.advance(LOOK_SECONDS)
    return watched.read()


def test_the_content_is_what_the_file_holds(watched: WatchedFile) -> None:
    """As bytes, and as text without white space around it."""
    assert watched.read() == b"one\n"
    assert watched.text() == "one"


def test_a_changed_file_holds_at_the_next_look(watched: WatchedFile, path: Path, clock: FakeClock) -> None:
    """Not before, since looks are a second apart; never later."""
    assert watched.read() == b"one\n"
    path.write_bytes(b"other")
    assert watched.read() == b"one\n"
    assert later(clock, watched) == b"other"


def test_the_same_content_is_the_same_object(watched: WatchedFile, path: Path, clock: FakeClock) -> None:
    """Whoever derives something from it can tell by identity whether to do so again, also after a touch."""
    first = watched.read()
    assert later(clock, watched) is first
    os.utime(path, ns=(1, 1))
    assert later(clock, watched) is first


def test_two_writes_within_one_tick_of_the_file_system_are_told_apart(
    watched: WatchedFile, path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same inode, size and times: the next look reads once more, and only then trusts the version."""
    monkeypatch.setattr(watched, "_version_of", lambda status: (status.st_dev, status.st_ino, 7, 7, status.st_size))
    assert watched.read() == b"one\n"
    path.write_bytes(b"two\n")
    assert later(clock, watched) == b"two\n"


def test_an_unchanged_file_is_not_read_over_and_over(
    watched: WatchedFile, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two looks read it; from then on a stat will do."""
    reads = []
    opened = watched._opened
    monkeypatch.setattr(watched, "_opened", lambda: reads.append(1) or opened())
    for _ in range(5):
        later(clock, watched)
    assert len(reads) == 2


def test_a_secret_that_kubernetes_swaps_is_followed(tmp_path: Path, clock: FakeClock) -> None:
    """A link leads to ..data/token, and ..data is replaced by a rename."""
    for name in ("one", "two"):
        (tmp_path / f"..{name}").mkdir()
        (tmp_path / f"..{name}" / "token").write_text(name)
    (tmp_path / "..data").symlink_to("..one")
    (tmp_path / "token").symlink_to("..data/token")
    watched = WatchedFile(tmp_path / "token", clock.monotonic)
    assert watched.text() == "one"
    (tmp_path / "..tmp").symlink_to("..two")
    (tmp_path / "..tmp").rename(tmp_path / "..data")
    clock.advance(LOOK_SECONDS)
    assert watched.text() == "two"


def test_a_deleted_file_is_gone_and_comes_back(watched: WatchedFile, path: Path, clock: FakeClock) -> None:
    """What was read before does not outlive the file; a new file holds at the next look."""
    watched.read()
    path.unlink()
    clock.advance(LOOK_SECONDS)
    for _ in range(2):
        with pytest.raises(FileUnusable, match="No such file"):
            watched.read()
    path.write_bytes(b"back")
    assert later(clock, watched) == b"back"


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _circle(path: Path) -> None:
    path.symlink_to(path)


def _below_a_file(path: Path) -> None:
    path.symlink_to("/dev/null/x")


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _too_large(path: Path) -> None:
    path.write_bytes(b"x" * (MAX_BYTES + 1))


@pytest.mark.parametrize("make", [_folder, _pipe, _dangling, _circle, _below_a_file, _device, _too_large])
def test_what_is_no_readable_file_is_refused_at_once(make, path: Path, clock: FakeClock) -> None:
    """A folder, a pipe that nobody writes to, a device without end: a sentence with the path, and no waiting."""
    watched = WatchedFile(path, clock.monotonic)
    watched.read()
    path.unlink()
    make(path)
    clock.advance(LOOK_SECONDS)
    for _ in range(2):
        with pytest.raises(FileUnusable, match=str(path)):
            watched.read()


def test_what_became_a_pipe_after_the_look_is_not_waited_for(
    watched: WatchedFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between stat and open somebody swapped it."""
    before = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr("gateway.watched.os.stat", lambda _path: before)
    with pytest.raises(FileUnusable, match="regular"):
        watched.read()


def test_the_largest_file_is_read_whole(path: Path, watched: WatchedFile) -> None:
    """The bound itself is allowed."""
    path.write_bytes(b"x" * MAX_BYTES)
    assert len(watched.read()) == MAX_BYTES


def test_an_unreadable_file_is_a_sentence(watched: WatchedFile, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user who may not read it."""

    def refuse(*_arguments: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("gateway.watched.os.open", refuse)
    with pytest.raises(FileUnusable, match="Permission denied"):
        watched.read()


def test_a_path_that_no_system_takes_is_a_sentence(clock: FakeClock) -> None:
    """A NUL in it is no reason to fall over."""
    with pytest.raises(FileUnusable, match="no path"):
        WatchedFile(Path("a\0b"), clock.monotonic).read()


@pytest.mark.parametrize("content", [b"", b" \n\t", b"\xff\xfesecret"], ids=["empty", "blank", "not UTF-8"])
def test_a_file_without_text_is_refused_as_text(content: bytes, path: Path, watched: WatchedFile) -> None:
    """And nothing of its content is in the error, nor behind it."""
    path.write_bytes(content)
    assert watched.read() == content
    with pytest.raises(FileUnusable, match="no text") as caught:
        watched.text()
    assert caught.value.__context__ is None
    assert "secret" not in repr(caught.value)


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601])
def test_a_private_file_that_everybody_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    """Also when it was read before; its group may read it."""
    path = tmp_path / "secret"
    path.write_bytes(b"s3cret")
    path.chmod(0o640)
    file = WatchedFile(path, itertools.count().__next__, is_private=True)
    assert file.read() == b"s3cret"
    path.chmod(mode)
    with pytest.raises(FileUnusable) as caught:
        file.read()
    assert caught.value.trouble is Trouble.OPEN_TO_ALL


def test_each_trouble_has_its_name(tmp_path: Path) -> None:
    """For whoever tells them apart."""
    (tmp_path / "large").write_bytes(b"12345")
    found = {}
    for name in ("absent", "large/below", "large", "."):
        with pytest.raises(FileUnusable) as caught:
            WatchedFile(tmp_path / name, itertools.count().__next__, max_bytes=4).read()
        found[name] = caught.value.trouble
    assert found == {
        "absent": Trouble.ABSENT,
        "large/below": Trouble.ABSENT,
        "large": Trouble.TOO_LARGE,
        ".": Trouble.NOT_A_FILE,
    }
