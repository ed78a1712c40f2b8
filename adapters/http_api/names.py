"""Which headers a row or a connection may set, and how their names are written."""

import re

from adapters.http_api.options import Part

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_NEVER = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "content-encoding", "accept-encoding", "expect"),
        *("connection", "keep-alive", "te", "trailer", "upgrade", "http2-settings", "via", "forwarded"),
        *("authorization", "cookie", "cookie2"),
        *("x-real-ip", "x-host", "x-original-host", "x-original-url", "x-rewrite-url"),
        *("x-http-method", "x-http-method-override", "x-method-override"),
    }
)
"""What says where a request goes, where it ends, who asks, or that it is another one than it seems to be."""
_NEVER_BEGINNING = ("proxy-", "x-forwarded", "tollhouse-")
_ROW_ALONE = frozenset({"accept", "content-type", "range"})
"""What changes how the answer or the body is read."""
MAX_CHARACTERS = 4096


def read_name(part: Part, at: str, name: str, *, is_proof: bool = False, is_argument: bool = False) -> str:
    """A header's name as it goes out, in the one spelling that it has here; empty when it may not be set, which is
    noted under `at`. `is_proof`: it carries the credential. `is_argument`: its value comes from a call.
    """
    written = "-".join(word.capitalize() for word in name.split("-"))
    key = alike(name)
    if not _TOKEN.fullmatch(name):
        part.problem(at, "name", "This is no name of a header.")
        return ""
    if (key in _NEVER and not (is_proof and written == "Authorization")) or key.startswith(_NEVER_BEGINNING):
        part.problem(at, "forbidden", f"The header {written} may not be set: it would change what the request is.")
        return ""
    if is_argument and key in _ROW_ALONE:
        part.problem(at, "forbidden", f"The header {written} may not come from an argument; give it as a `value`.")
        return ""
    return written


def alike(name: str) -> str:
    """What two names have in common that some server may take for one another: case aside, and `_` for `-`."""
    return name.lower().replace("_", "-")


def is_value(text: str) -> bool:
    """Whether this can stand in a header as it is: printable ASCII, no blank at its ends, not too long."""
    return text.isascii() and (not text or text.isprintable()) and text == text.strip() and len(text) <= MAX_CHARACTERS
