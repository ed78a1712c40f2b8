"""Files of notes."""

import errno
from pathlib import Path

import pytest
from fakes.signing import FakeSigner

from gateway.audit.note_files import NoteFile
from gateway.audit.notes import notes_in
from gateway.errors import StartError

SIGNER = FakeSigner()


def test_notes_are_appended(tmp_path: Path) -> None:
    """In a file of mode 0600; the last one is found again."""
    file = NoteFile(tmp_path / "checkpoints.notes")
    assert file.last() is None
    notes = [SIGNER.note(f"{number}\n") for number in range(3)]
    for note in notes:
        file.append(note)
    assert file.last() == notes[-1]
    assert list(notes_in(file.path.read_text())) == notes
    assert file.path.stat().st_mode & 0o777 == 0o600


def test_what_a_crash_cut_off_spoils_nothing(tmp_path: Path) -> None:
    """Wherever it was cut, the next note stands by itself."""
    first, second = SIGNER.note("one\n"), SIGNER.note("two\n")
    for cut in range(1, len(str(first).encode()) + 1):
        file = NoteFile(tmp_path / f"{cut}.notes")
        file.path.write_bytes(f"{first}\n".encode()[:cut])
        file.append(second)
        assert file.last() == second


def test_in_a_directory_the_file_is_named_after_the_writer(tmp_path: Path) -> None:
    """Several gateways can write into one; a path that is none is the file itself."""
    assert NoteFile.at(tmp_path, "w1").path == tmp_path / "w1.notes"
    assert NoteFile.at(tmp_path / "x.notes", "w1").path == tmp_path / "x.notes"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Whoever can place one could have any file appended to."""
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError) as caught:  # noqa: PT011 - by its number
        NoteFile(tmp_path / "link").append(SIGNER.note("one\n"))
    assert caught.value.errno == errno.ELOOP


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """A directory, for example."""
    with pytest.raises(StartError, match="cannot be read"):
        NoteFile(tmp_path).last()
