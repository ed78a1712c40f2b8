"""Looking for a secret in everything that was written, in every encoding that is usual."""

import base64
import contextlib
import html
import json
import secrets
import stat
import urllib.parse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Hit:
    """A place where the secret was found. It tells the encoding and never the secret."""

    place: str
    encoding: str


def new_password() -> str:
    """New each time, and with characters that every encoding writes differently."""
    return f'{secrets.token_urlsafe(12)}"\\&ü<{secrets.token_hex(4)}'


def forms(secret: str, username: str = "") -> Mapping[str, bytes]:
    """The secret as bytes in each usual encoding, by the encoding's name."""
    raw = secret.encode()
    found = {
        "plain": raw,
        "utf-16": secret.encode("utf-16-le"),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "url": urllib.parse.quote(secret, safe="").encode(),
        "url lower": _lower_escapes(urllib.parse.quote(secret, safe="")).encode(),
        "form": urllib.parse.quote_plus(secret).encode(),
        "json": json.dumps(secret)[1:-1].encode(),
        "json utf-8": json.dumps(secret, ensure_ascii=False)[1:-1].encode(),
        "json in Go": _html_safe(json.dumps(secret, ensure_ascii=False)[1:-1]).encode(),
        "json twice": json.dumps(json.dumps(secret)[1:-1])[1:-1].encode(),
        "html": html.escape(secret).encode(),
        "repr": repr(secret)[1:-1].encode(),
        "reversed": raw[::-1],
        "auth plain": base64.b64encode(b"\0" + username.encode() + b"\0" + raw),
    }
    for offset in range(3):
        found[f"base64 at {offset}"] = _inner(base64.b64encode(b"\0" * offset + raw), offset, len(raw))
        found[f"base64url at {offset}"] = _inner(base64.urlsafe_b64encode(b"\0" * offset + raw), offset, len(raw))
    return found


def search(haystacks: Mapping[str, bytes], wanted: Mapping[str, bytes]) -> tuple[Hit, ...]:
    """Every place and encoding in which the secret is found, sorted."""
    return tuple(
        sorted(
            Hit(place=place, encoding=encoding)
            for place, text in haystacks.items()
            for encoding, form in wanted.items()
            if form in text
        )
    )


def files_below(folders: Iterable[Path]) -> dict[str, bytes]:
    """The bytes of every regular file below the folders, by its path. Links are not followed, and a file that goes
    away meanwhile is passed over.
    """
    found: dict[str, bytes] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            with contextlib.suppress(FileNotFoundError):
                if stat.S_ISREG(path.lstat().st_mode):
                    found[str(path)] = path.read_bytes()
    return found


def _html_safe(form: str) -> str:
    """As servers in Go write JSON."""
    return form.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&"})


def _inner(encoded: bytes, offset: int, length: int) -> bytes:
    """The part of a base64 text that depends on the secret alone, whatever stands around it."""
    first = (offset * 8 + 5) // 6
    last = (offset + length) * 8 // 6
    return encoded[first:last]


def _lower_escapes(quoted: str) -> str:
    """`%C3` as `%c3`, the rest as it is."""
    head, *rest = quoted.split("%")
    return head + "".join(f"%{part[:2].lower()}{part[2:]}" for part in rest)
