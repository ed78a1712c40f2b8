"""`file:` beyond what every source does."""

import itertools
import os
from pathlib import Path

import pytest

from gateway.credentials.file import LOOK_SECONDS, MAX_BYTES, FileSource
from gateway.errors import Reason, Refusal


def put(path: Path, content: bytes | str, mode: int = 0o600) -> str:
    """Write a file with a mode; its path."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return str(path)


async def refusal(name: str) -> Refusal:
    """What resolving ends with."""
    with pytest.raises(Refusal) as caught:
        await FileSource(itertools.count(0, LOOK_SECONDS).__next__).resolve("acme", name)
    assert name not in caught.value.message
    return caught.value


@pytest.mark.parametrize(
    ("content", "value"),
    [("pass-word", "pass-word"), ("pass\n", "pass"), ("pass\r\n", "pass"), ("pass\n\n", "pass\n"), (" p ", " p ")],
)
async def test_one_trailing_line_break_is_taken_off(tmp_path: Path, content: str, value: str) -> None:
    """Editors add one; nothing else is touched."""
    assert (
        await FileSource(itertools.count(0, LOOK_SECONDS).__next__).resolve("acme", put(tmp_path / "x", content))
    ).reveal() == value


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o601])
async def test_a_file_that_everybody_may_touch_is_refused(tmp_path: Path, mode: int) -> None:
    """A secret that everybody can read is none."""
    assert (await refusal(put(tmp_path / "x", "pass-word", mode))).reason is Reason.CREDENTIAL_UNAVAILABLE


async def test_its_group_may_read_it(tmp_path: Path) -> None:
    """Kubernetes gives a secret to a group."""
    assert (
        await FileSource(itertools.count(0, LOOK_SECONDS).__next__).resolve(
            "acme", put(tmp_path / "x", "pass-word", 0o640)
        )
    ).reveal() == "pass-word"


async def test_a_file_that_was_opened_up_is_refused_though_it_was_read(tmp_path: Path) -> None:
    """The mode counts at every call."""
    name = put(tmp_path / "x", "pass-word")
    source = FileSource(itertools.count(0, LOOK_SECONDS).__next__)
    await source.resolve("acme", name)
    (tmp_path / "x").chmod(0o644)
    with pytest.raises(Refusal):
        await source.resolve("acme", name)


@pytest.mark.parametrize(
    ("content", "mode"), [("", 0o600), (b"\xff\xfe", 0o600), ("x" * 70_000, 0o600), ("new", 0o644)]
)
async def test_what_was_read_before_is_not_used_once_the_file_is_refused(
    tmp_path: Path, content: bytes | str, mode: int
) -> None:
    """Not by the calls either that come before the next look: an emptied file is a credential taken away."""
    now = [0.0]
    name, source = put(tmp_path / "x", "pass-word"), FileSource(lambda: now[0])
    await source.resolve("acme", name)
    put(tmp_path / "x", content, mode)
    now[0] += LOOK_SECONDS
    for _ in range(3):
        with pytest.raises(Refusal):
            await source.resolve("acme", name)
        now[0] += LOOK_SECONDS / 4


async def test_a_change_that_leaves_size_and_time_as_they_were_is_seen(tmp_path: Path) -> None:
    """Whether a tool sets the time back, or the two writes shared one tick of the file system's clock."""
    name, source = put(tmp_path / "x", "pass-one"), FileSource(itertools.count(0, LOOK_SECONDS).__next__)
    before = (tmp_path / "x").stat()
    await source.resolve("acme", name)
    put(tmp_path / "x", "pass-two")
    os.utime(name, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (await source.resolve("acme", name)).reveal() == "pass-two"


async def test_kubernetes_swaps_a_link(tmp_path: Path) -> None:
    """`token -> ..data/token`, and `..data` is replaced by another link."""
    for name, value in (("one", "first-value"), ("two", "other-value")):
        (tmp_path / name).mkdir()
        put(tmp_path / name / "token", value)
    (tmp_path / "..data").symlink_to("one")
    (tmp_path / "token").symlink_to("..data/token")
    source = FileSource(itertools.count(0, LOOK_SECONDS).__next__)
    assert (await source.resolve("acme", str(tmp_path / "token"))).reveal() == "first-value"
    (tmp_path / "new").symlink_to("two")
    (tmp_path / "new").replace(tmp_path / "..data")
    assert (await source.resolve("acme", str(tmp_path / "token"))).reveal() == "other-value"


async def test_a_change_of_the_same_size_is_seen(tmp_path: Path) -> None:
    """Also when the file is written in place."""
    name = put(tmp_path / "x", "first-value")
    source = FileSource(itertools.count(0, LOOK_SECONDS).__next__)
    await source.resolve("acme", name)
    put(tmp_path / "x", "other-value")
    os.utime(name, ns=(1, 1))
    assert (await source.resolve("acme", name)).reveal() == "other-value"


async def test_an_unchanged_file_is_not_read_again(tmp_path: Path) -> None:
    """What was worked out of its value is shared."""
    name = put(tmp_path / "x", "pass-word")
    source = FileSource(itertools.count(0, LOOK_SECONDS).__next__)
    assert (await source.resolve("acme", name)).derived is (await source.resolve("acme", name)).derived


async def test_places_that_hold_no_secret(tmp_path: Path) -> None:
    """A folder, a pipe, a loop of links, bytes, too much: unavailable. Nothing there, or empty: missing."""
    os.mkfifo(tmp_path / "pipe", 0o600)
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("nowhere")
    unavailable = [
        str(tmp_path),
        str(tmp_path / "pipe"),
        str(tmp_path / "loop"),
        "/dev/zero",
        put(tmp_path / "bytes", b"\xff\xfe\xff\xfe"),
        put(tmp_path / "large", "x" * (MAX_BYTES + 1)),
    ]
    missing = [
        str(tmp_path / "absent"),
        str(tmp_path / "dangling"),
        str(tmp_path / "bytes" / "below"),
        put(tmp_path / "empty", ""),
        put(tmp_path / "break", "\n"),
    ]
    assert {(await refusal(name)).reason for name in unavailable} == {Reason.CREDENTIAL_UNAVAILABLE}
    assert {(await refusal(name)).reason for name in missing} == {Reason.CREDENTIAL_MISSING}


async def test_the_bytes_of_a_bad_file_are_in_no_exception(tmp_path: Path) -> None:
    """A UnicodeDecodeError would carry them along."""
    error = await refusal(put(tmp_path / "x", b"hunter2-\xff"))
    assert error.__cause__ is None
    assert error.__context__ is None


async def test_a_file_is_looked_at_once_a_second(tmp_path):
    """A rotated secret is in use within the time that is promised, and not before the next look."""
    now = [0.0]
    path = tmp_path / "x"
    source = FileSource(lambda: now[0])
    name = put(path, "first-word")
    assert (await source.resolve("acme", name)).reveal() == "first-word"
    put(path, "second-word")
    now[0] = LOOK_SECONDS / 2
    assert (await source.resolve("acme", name)).reveal() == "first-word"
    now[0] = LOOK_SECONDS
    assert (await source.resolve("acme", name)).reveal() == "second-word"
