"""The heads of HTTP messages that pass through the browser's proxy: read strictly, or the message does not pass.

Whatever two readers could read differently (a length that is given twice, a folded line, a transfer encoding in a
request) is refused, so that nothing can be hidden from the check in what looks like one request.
"""

import re
from dataclasses import dataclass, field

from adapters.transport.urls import UrlProblem, WebUrl, canonical_url

MAX_HEAD_BYTES = 64 * 1024
END = b"\r\n\r\n"

_REQUEST = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,60000}) HTTP/1\.[01]")
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [^\r\n]*)?")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,200}")
_VALUE = re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_AUTHORITY = re.compile(r"[^/?#@]+:[0-9]{1,5}")
_MAX_FIELDS = 200
_HOP_BY_HOP = frozenset(
    {b"connection", b"keep-alive", b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"upgrade", b"host"}
)
_OF_AN_ANSWER = _HOP_BY_HOP | {b"proxy-authenticate", b"alt-svc"}
"""`Alt-Svc` would send the browser to another server, and past the proxy."""

_Fields = list[tuple[bytes, bytes]]


class BadHead(Exception):  # noqa: N818 - of a stranger's message
    """It is not read, and its message does not pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a browser asks the proxy for."""

    url: WebUrl
    is_tunnel: bool
    proof: bytes
    """The value of `Proxy-Authorization`, empty without one."""
    onward: bytes = field(repr=False)
    """The head to send on, without anything that was meant for the proxy; empty for a tunnel."""
    body_bytes: int = 0


def read_request(head: bytes) -> Asked:
    """A request to a proxy: CONNECT, or one for an absolute `http` URL. Raises `BadHead`."""
    line, fields = _lines(head)
    match = _REQUEST.fullmatch(line)
    if match is None:
        raise BadHead
    proofs = _values(fields, b"proxy-authorization")
    proof = proofs[0] if len(proofs) == 1 else b""
    if match[1] == b"CONNECT":
        return Asked(url=_tunnel(match[2].decode("ascii")), is_tunnel=True, proof=proof, onward=b"")
    url = _absolute(match[2].decode("ascii"))
    if _values(fields, b"transfer-encoding"):
        raise BadHead
    return Asked(
        url=url,
        is_tunnel=False,
        proof=proof,
        onward=_onward(match[1], url, fields),
        body_bytes=_length(fields),
    )


def read_answer(head: bytes) -> tuple[int, bytes]:
    """The status, and the head to send back: the connection ends with the answer. Raises `BadHead`."""
    line, fields = _lines(head)
    match = _STATUS.fullmatch(line)
    if match is None:
        raise BadHead
    _length(fields)
    kept = [*_kept(fields, _OF_AN_ANSWER), (b"Connection", b"close")]
    return int(match[1]), _written(line, kept)


def _lines(head: bytes) -> tuple[bytes, _Fields]:
    first, *lines = head.removesuffix(END).split(b"\r\n")
    if len(lines) > _MAX_FIELDS:
        raise BadHead
    return first, [_field(line) for line in lines]


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.partition(b":")
    if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
        raise BadHead
    return name, value.strip(b" \t")


def _values(fields: _Fields, name: bytes) -> list[bytes]:
    return [value for each, value in fields if each.lower() == name]


def _length(fields: _Fields) -> int:
    lengths = _values(fields, b"content-length")
    if len(lengths) > 1 or not all(value.isdigit() and len(value) < 16 for value in lengths):
        raise BadHead
    return int(lengths[0]) if lengths else 0


def _tunnel(authority: str) -> WebUrl:
    """`HOST:PORT`. The port is said, for nothing says which one is meant else."""
    if not _AUTHORITY.fullmatch(authority):
        raise BadHead
    return _canonical(f"https://{authority}/")


def _absolute(target: str) -> WebUrl:
    url = _canonical(target)
    if url.scheme != "http":
        raise BadHead
    return url


def _canonical(text: str) -> WebUrl:
    try:
        return canonical_url(text)
    except UrlProblem as problem:
        raise BadHead from problem


def _onward(method: bytes, url: WebUrl, fields: _Fields) -> bytes:
    """For the site alone: its own path, its own name, and a connection that ends with the answer."""
    netloc = url.text.removeprefix("http://").partition("/")[0].encode()
    target = url.text.removeprefix(f"http://{netloc.decode()}").encode()
    own = [(b"Host", netloc), (b"Connection", b"close")]
    return _written(b"%s %s HTTP/1.1" % (method, target), [*own, *_kept(fields, _HOP_BY_HOP)])


def _kept(fields: _Fields, left_out: frozenset[bytes]) -> _Fields:
    named = {part.strip().lower() for value in _values(fields, b"connection") for part in value.split(b",")}
    framing = {b"content-length", b"transfer-encoding"}
    return [each for each in fields if each[0].lower() not in left_out | (named - framing)]


def _written(line: bytes, fields: _Fields) -> bytes:
    return b"\r\n".join([line, *(b"%s: %s" % each for each in fields)]) + END
