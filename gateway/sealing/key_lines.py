"""Keys as lines of a file, in base64 or hex."""

import base64
import binascii

from gateway.sealing.envelope import KEY_BYTES


def key_line(key: bytes) -> str:
    """The key as a line."""
    return base64.b64encode(key).decode() + "\n"


def keys_in(content: bytes) -> list[bytes]:
    """Every key, in order; none when a single line is something else: what is passed over would be missed later."""
    keys = [_key_in(line) for line in content.split()]
    return [] if None in keys else [key for key in keys if key]


def _key_in(line: bytes) -> bytes | None:
    """The key in a line of base64 or hex; None when there is none."""
    try:
        key = bytes.fromhex(line.decode()) if len(line) == 2 * KEY_BYTES else base64.b64decode(line, validate=True)
    except (binascii.Error, ValueError):
        return None  # not chained: the error may hold the line
    return key if len(key) == KEY_BYTES and len(set(key)) > 1 else None
