"""Key files are made once, whole, and for their owner alone."""

import os
import secrets
import stat
import threading
from pathlib import Path

import pytest

from gateway.errors import StartError
from gateway.sealing.key_file import KeyFileSeal
from gateway.sealing.key_lines import keys_in
from gateway.sealing.new_keys import add_key, create_key_file


def test_a_key_file_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    """Whole, once, and nothing beside it."""
    path = tmp_path / "seal.key"
    assert create_key_file(path)
    first = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not create_key_file(path)
    assert path.read_bytes() == first
    assert [file.name for file in tmp_path.iterdir()] == ["seal.key"]


async def test_of_many_who_make_it_at_the_same_time_one_succeeds(tmp_path: Path) -> None:
    """And all use that one."""
    path, results = tmp_path / "seal.key", []
    barrier = threading.Barrier(8)

    def make() -> None:
        barrier.wait()
        results.append(create_key_file(path))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [False] * 7 + [True]
    await KeyFileSeal(path, lambda: 0.0).start()
    assert os.listdir(tmp_path) == ["seal.key"]  # noqa: PTH208 - not blocking for long


def test_a_key_file_that_cannot_be_written_is_a_start_error(tmp_path: Path) -> None:
    """And one that appeared meanwhile is somebody else's, and is left alone."""
    with pytest.raises(StartError, match="cannot be written"):
        create_key_file(tmp_path / "nowhere" / "seal.key")

    def chance(count: int) -> bytes:
        (tmp_path / "seal.key").write_text("theirs")
        return secrets.token_bytes(count)

    assert not create_key_file(tmp_path / "seal.key", chance)
    assert (tmp_path / "seal.key").read_text() == "theirs"
    assert [file.name for file in tmp_path.iterdir()] == ["seal.key"]


def test_one_more_key_seals_from_then_on_and_the_others_stay(tmp_path: Path) -> None:
    """In a file that is as private as before."""
    path = tmp_path / "seal.key"
    create_key_file(path)
    path.chmod(0o640)
    (first,) = keys_in(path.read_bytes())
    add_key(path)
    newer, also_first = keys_in(path.read_bytes())
    assert also_first == first
    add_key(path, is_first=False)
    assert keys_in(path.read_bytes())[:2] == [newer, first]
    assert len(keys_in(path.read_bytes())) == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["seal.key"]  # noqa: PTH208 - as above


@pytest.mark.parametrize("content", [b"", b"s3cr3t-passphrase", b"\xff"])
def test_a_file_of_something_else_is_left_alone(tmp_path: Path, content: bytes) -> None:
    """It may be somebody's, and nothing of it is repeated."""
    path = tmp_path / "seal.key"
    path.write_bytes(content)
    with pytest.raises(StartError, match="nothing was changed") as caught:
        add_key(path)
    assert "s3cr3t" not in caught.value.message
    assert path.read_bytes() == content


def test_a_file_that_is_not_there_gets_no_second_key(tmp_path: Path) -> None:
    """Nothing is made by the way."""
    with pytest.raises(StartError, match="cannot be changed"):
        add_key(tmp_path / "seal.key")
    assert list(tmp_path.iterdir()) == []
