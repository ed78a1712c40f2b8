"""One artifact as a file: frames that are sealed one by one, so that a part can be read without the rest.

The first frame says whose it is and how long; each further one holds 256 KiB of it. Every frame is bound to its
artifact and to its place in it: none can be swapped for another.
"""

import os
import struct
from collections.abc import Iterable
from pathlib import Path

from gateway.store.sealing import SealBroken

CHUNK_BYTES = 256 * 1024
PART = ".part"
"""How the name of a file ends that is not whole yet."""
_LENGTH = struct.Struct(">I")
_MOST_FRAME_BYTES = 2 * CHUNK_BYTES


def place_of(artifact_id: str, number: int) -> str:
    """Where a frame is sealed."""
    return f"artifact:{artifact_id}:{number}"


def chunks_of(whole: bytes) -> list[memoryview]:
    """The whole in parts."""
    view = memoryview(whole)
    return [view[start : start + CHUNK_BYTES] for start in range(0, len(view), CHUNK_BYTES)]


def write(path: Path, frames: Iterable[bytes], *, now: float) -> int:
    """The file is there as a whole, for its user alone, and dated `now`. Returns its size. Raises `OSError`, and
    nothing is left then.
    """
    part = path.with_suffix(PART)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(_LENGTH.pack(len(frame)) + frame for frame in frames)
        os.utime(part, (now, now))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return path.stat().st_size


def read(path: Path, wanted: range) -> list[bytes]:
    """These frames, and before them always the first; fewer when the file ends. Raises `OSError`, and `SealBroken`
    for a file that is none.
    """
    frames: list[bytes] = []
    with path.open("rb") as file:
        for number in range(max(wanted.stop, 1)):
            raw = file.read(_LENGTH.size)
            if not raw:
                break
            length = _LENGTH.unpack(raw)[0] if len(raw) == _LENGTH.size else _MOST_FRAME_BYTES + 1
            if length > _MOST_FRAME_BYTES:
                raise SealBroken("no artifact")
            if number == 0 or number in wanted:
                frames.append(file.read(length))
            else:
                file.seek(length, os.SEEK_CUR)
    return frames
