"""Keys in files. What every signer does is in tests/contract/test_signer.py."""

from pathlib import Path

import pytest

from gateway.audit.notes import signer_of
from gateway.audit.signing import FileSigner, make_key, parsed_keys, read_key
from gateway.errors import StartError

SEED = bytes(range(32))


async def test_a_key_is_made_once_and_signs(tmp_path: Path) -> None:
    """In a file of mode 0600 in the form that other tools of signed notes use; it is never written over."""
    path = tmp_path / "keys" / "audit.key"
    key = make_key(path, "gw1/audit", SEED)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text().startswith(f"PRIVATE+KEY+gw1/audit+{key.id.hex()}+")
    signer = FileSigner(path)
    await signer.start()
    assert signer.key == key
    (note,) = await signer.sign(["text\n"])
    assert signer_of(note, [key]) == key
    with pytest.raises(StartError, match="name a file that is new"):
        make_key(path, "gw1/audit", SEED)


def test_a_key_of_go_is_read(tmp_path: Path) -> None:
    """The example of its `note` package."""
    path = tmp_path / "audit.key"
    path.write_text("PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz\n")
    path.chmod(0o600)
    assert str(read_key(path)[0]) == "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    """With what mends it."""
    path = tmp_path / "audit.key"
    make_key(path, "k", SEED)
    path.chmod(mode)
    with pytest.raises(StartError, match=r"run: chmod 600"):
        read_key(path)


@pytest.mark.parametrize("content", ["", "secret-words", "PRIVATE+KEY+k+00000000+AAAA", "PRIVATE+KEY+k+ff+!!"])
def test_what_is_no_key_is_told_without_its_content(tmp_path: Path, content: str) -> None:
    """It may be another secret, put there by mistake."""
    path = tmp_path / "audit.key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(StartError, match="there is no key in") as caught:
        read_key(path)
    assert not content or content not in caught.value.message


def test_a_missing_key_says_how_to_make_one(tmp_path: Path) -> None:
    """Not only that it is missing."""
    with pytest.raises(StartError, match="tollhouse audit key"):
        read_key(tmp_path / "nothing")


def test_a_key_needs_a_name_of_one_word(tmp_path: Path) -> None:
    """Nothing is written before that is known."""
    with pytest.raises(StartError, match="one word"):
        make_key(tmp_path / "audit.key", "my key", SEED)
    assert not (tmp_path / "audit.key").exists()


def test_trusted_keys_are_read_or_refused(tmp_path: Path) -> None:
    """All of them: one that is mistyped would let a replica's checkpoints go unheard."""
    key = make_key(tmp_path / "audit.key", "k", SEED)
    assert parsed_keys([str(key), str(key)]) == (key, key)
    with pytest.raises(StartError, match="no verification key"):
        parsed_keys([str(key), "nonsense"])
