"""Credential references, and the patterns by which a deployment allows them. Pure functions.

The registry asks when it loads a connection, step 11 asks again when it resolves one: rows change while
the gateway runs, and what a row may use is not for the row to say.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_SCHEME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,255}")
_VAULT_SEGMENT = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_VAULT_FIELD = re.compile(r"[A-Za-z0-9_.-]{1,256}")
_MAX_LENGTH = 1024


@dataclass(frozen=True, slots=True)
class Reference:
    """Where a credential is: `env` and `SMTP_PASSWORD`, `file` and `/run/secrets/smtp`, `vault` and
    `secret/acme/smtp#password`, `vault-dynamic` and `database/reporting`.
    """

    scheme: str
    name: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.name}"


class BadReference(ValueError):  # noqa: N818 - a ValueError by its base, named for what it is
    """The text is not a reference. The message says why and does not repeat it."""


def parse_reference(text: str) -> Reference:
    """The reference in `scheme:name`. Raises `BadReference`.

    A name that could be read in two ways is refused: `..` and empty segments, control characters,
    and `*`, which only patterns may hold.
    """
    scheme, colon, name = text.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme) or not name:
        raise BadReference("a credential reference is a scheme, a colon and a name, such as env:NAME or file:/PATH")
    if len(text) > _MAX_LENGTH or not name.isprintable() or "*" in name or "\\" in name:
        raise BadReference("a credential reference must not hold control characters, backslashes or *")
    if scheme == "env" and not _ENV_NAME.fullmatch(name):
        raise BadReference("an env: reference names one environment variable")
    if scheme == "file" and not name.startswith("/"):
        raise BadReference("a file: reference is an absolute path")
    if any(segment in ("", ".", "..") for segment in name.removeprefix("/").split("/")):
        raise BadReference("a credential reference must not hold empty, . or .. segments")
    if scheme == "vault":
        parse_vault(name)
    if scheme == "vault-dynamic":
        parse_dynamic(name)
    return Reference(scheme, name)


class VaultName(NamedTuple):
    """What follows `vault:`. The first segments are the mount's; how many, only the settings know."""

    segments: tuple[str, ...]
    field: str


def parse_vault(name: str) -> VaultName:
    """The parts of `MOUNT/PATH#FIELD`. Raises `BadReference`.

    What an HTTP client, a server or a proxy might read in another way than we do is refused: `..`, `%`, `?`, a
    second `#`, and every character that a URL would have to quote.
    """
    path, _, field = name.partition("#")
    segments = _segments(path)
    if len(segments) < 2 or not _VAULT_FIELD.fullmatch(field):
        raise BadReference("a vault: reference is vault:MOUNT/PATH#FIELD")
    return VaultName(segments, field)


class DynamicName(NamedTuple):
    """What follows `vault-dynamic:`. An empty field means the whole credential."""

    engine: str
    role: str
    field: str


def parse_dynamic(name: str) -> DynamicName:
    """The parts of `ENGINE/ROLE` or `ENGINE/ROLE#FIELD`; the last segment is the role. Raises `BadReference`."""
    path, hash_sign, field = name.partition("#")
    segments = _segments(path)
    if len(segments) < 2 or (hash_sign and not _VAULT_FIELD.fullmatch(field)):
        raise BadReference("a vault-dynamic: reference is vault-dynamic:ENGINE/ROLE, with #FIELD for one field of it")
    return DynamicName("/".join(segments[:-1]), segments[-1], field)


def _segments(path: str) -> tuple[str, ...]:
    segments = tuple(path.split("/"))
    if not all(_VAULT_SEGMENT.fullmatch(segment) for segment in segments):
        raise BadReference("the path of a vault: or vault-dynamic: reference holds letters, digits, _, - and . alone")
    return segments


def is_allowed(reference: Reference, patterns: Iterable[str]) -> bool:
    """Whether a pattern covers the reference. `*` stands for anything but `/`, and never for a scheme.

    The field of a `vault:` reference belongs to its last segment: `vault:kv/acme/*` covers every field of every
    secret right below, `vault:kv/acme/smtp#*` those of one, `vault:kv/acme/*#token` one of each.
    """
    text = str(reference)
    return any(_compiled(pattern).fullmatch(text) is not None for pattern in patterns)


def host_is_allowed(host: str, patterns: Iterable[str]) -> bool:
    """Whether a pattern covers the host.

    Both are `HOST` or `HOST:PORT`. A pattern without a port covers every port; one with a port covers
    that port alone, hence never a host that names none. `*.HOST` covers subdomains and not HOST itself, and nothing
    that a resolver or a URL may read as another host: `evil.example/.HOST`.
    """
    name, port = _split(host)
    return bool(name) and any(_covers(pattern, name, port) for pattern in patterns)


def _covers(pattern: str, name: str, port: str) -> bool:
    wanted, wanted_port = _split(pattern)
    if wanted_port not in ("", port):
        return False
    if wanted.startswith("*."):
        below = name.removesuffix(wanted[1:])
        return len(wanted) > 2 and below != name and _LABELS.fullmatch(below) is not None
    return bool(wanted) and name == wanted


def _split(host: str) -> tuple[str, str]:
    """Name and port, in lower case; the port is empty when there is none. IPv6 needs brackets for a port."""
    if host.startswith("["):
        name, _, rest = host[1:].partition("]")
        return name.lower(), rest.removeprefix(":")
    if host.count(":") > 1:
        return host.lower(), ""
    name, _, port = host.partition(":")
    return name.lower().removesuffix("."), port


@lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str]:
    scheme, colon, name = pattern.partition(":")
    if not colon or not _SCHEME.fullmatch(scheme) or ".." in name.split("/"):
        return _NOTHING
    return re.compile(re.escape(scheme) + ":" + "[^/]*".join(map(re.escape, name.split("*"))))


_LABELS = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
"""Of a host's name, in lower case."""
_NOTHING = re.compile(r"(?!)")
