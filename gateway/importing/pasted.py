"""Credentials that somebody has pasted into a description: they are for no row, where every model would read them."""

import re
from typing import Any

HIDDEN = "[credential]"
_KNOWN = (
    r"(?:sk|rk|whsec)_[A-Za-z0-9_]{12,}"
    r"|sk-[A-Za-z0-9_-]{20,}"
    r"|gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?"
    r"|hv[bs]\.[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,}|shp(?:at|ss)_[A-Za-z0-9]{16,}|lin_api_[A-Za-z0-9]{16,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|dop_v1_[a-f0-9]{32,}|ph[cx]_[A-Za-z0-9]{20,}"
)
_PASTED = re.compile(
    rf"(?<![A-Za-z0-9])(?:{_KNOWN})"
    r"|(?i:(?<=bearer )|(?<=basic ))(?=[A-Za-z._~+/-]{0,500}[0-9])[A-Za-z0-9._~+/-]{12,}=*"
    r"|(?<=://)[^\s/@:?#]{0,200}:[^\s/@?#]{1,200}(?=@)"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_NAMED = re.compile(
    r"pass(word|wd|phrase)|secret|token|api[_-]?key|credential|authorization|private[_-]?key", re.IGNORECASE
)
_AROUND = re.compile(r"(?<=//)[^/?#]*@|(?<=[?#]).*", re.DOTALL)


def without_pasted(text: str) -> str:
    """The text with a word in the place of everything that looks like a credential."""
    return _PASTED.sub(HIDDEN, text)


def is_pasted(value: Any) -> bool:
    """Whether a value is, or holds, what looks like a credential."""
    if isinstance(value, list):
        return any(is_pasted(one) for one in value)
    return isinstance(value, str) and _PASTED.search(value) is not None


def without_own_default(name: str, closed: dict[str, Any]) -> dict[str, Any]:
    """The closed schema of what has this name: what calls itself a credential has no usual value."""
    if "default" not in closed or not isinstance(closed["default"], str) or not _NAMED.search(name):
        return closed
    return {word: value for word, value in closed.items() if word != "default"}


def shown_url(url: str) -> str:
    """A URL for a message: without a user, a password, a query and a fragment."""
    return _AROUND.sub("…", url)[:200]
