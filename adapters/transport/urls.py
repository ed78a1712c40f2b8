"""One reading of a URL. What policy judges, the approver sees and the socket goes to is this form.

Two parsers that disagree about a URL are how a check is passed by, so every odd spelling ends here:
it becomes canonical (case, IDNA, full-width digits, `0x7f.1`, dot segments) or it is refused.
"""

import ipaddress
import re
import unicodedata
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from yarl import URL

MAX_URL_CHARACTERS = 2048
_DEFAULT_PORTS = {"http": 80, "https": 443}

_SHAPE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)")
_PORT = re.compile(r"(?:[^\[\]:]*|\[[^\[\]]*:[^\[\]]*\])(?::([0-9]*))?")
_LABEL = re.compile(r"[a-z0-9_][a-z0-9_-]{0,62}")
_ASCII_REFUSED = re.compile(r"[\x00-\x20\x7f\\]")
_NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zs", "Zl", "Zp"})


class UrlProblem(Exception):  # noqa: N818 - it is the agent's problem, not an error of ours
    """A text that is not a URL we go to: the rule it breaks and a sentence for the agent."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.message = message


@dataclass(frozen=True, slots=True, kw_only=True)
class WebUrl:
    """A canonical http or https URL without userinfo and fragment. `port` is always set."""

    text: str
    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """What must be equal for two URLs to be the same site."""
        return self.scheme, self.host, self.port

    def as_arguments(self) -> dict[str, Any]:
        """The parts as prepared arguments."""
        return {"url": self.text, "scheme": self.scheme, "host": self.host, "port": self.port, "path": self.path}

    @classmethod
    def of_arguments(cls, arguments: Any) -> "WebUrl":
        """The URL that `as_arguments` described. Nothing is parsed."""
        return cls(
            text=arguments["url"],
            scheme=arguments["scheme"],
            host=arguments["host"],
            port=arguments["port"],
            path=arguments["path"],
        )


def canonical_url(text: str) -> WebUrl:
    """The canonical form of an absolute http or https URL; raises `UrlProblem`. Applied twice it changes nothing."""
    _check_characters(text)
    scheme, authority = _scheme_and_authority(text)
    port = _port(authority, scheme)
    try:
        url = URL(text)
        host = canonical_host(url.raw_host or "")
        shown = f"[{host}]" if ":" in host else host
        netloc = shown if port == _DEFAULT_PORTS[scheme] else f"{shown}:{port}"
        path, query = url.raw_path or "/", url.raw_query_string
    except ValueError as error:
        raise UrlProblem("host", "is not a valid URL; check the host name") from error
    canonical = f"{scheme}://{netloc}{path}" + (f"?{query}" if query else "")
    if len(canonical) > MAX_URL_CHARACTERS:
        raise UrlProblem("max_length", f"is longer than {MAX_URL_CHARACTERS} characters once percent-encoded")
    return WebUrl(text=canonical, scheme=scheme, host=host, port=port, path=path)


def canonical_host(host: str) -> str:
    """An ASCII host name or address as it is compared and connected to; raises `UrlProblem`.

    Every spelling of an IPv4 address that a resolver would take (`127.1`, `0x7f.1`, `2130706433`)
    comes back dotted, and so does one mapped into IPv6.
    """
    if ":" in host:
        return _ipv6(host)
    name = host.lower().removesuffix(".")
    if not name:
        raise UrlProblem("host", "has no host")
    if _NUMBER.fullmatch(name.rpartition(".")[2]):
        return _ipv4(name)
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in name.split(".")):
        raise UrlProblem("host", "has a host that is not a valid name or address")
    return name


def redirect_target(current: WebUrl, location: str) -> WebUrl:
    """Where a `Location` header leads from here; raises `UrlProblem`. A space in it is read as %20."""
    location = location.strip(" \t").replace(" ", "%20")
    _check_characters(location)
    try:
        joined = urljoin(current.text, location)
    except ValueError as error:
        raise UrlProblem("host", "is not a valid URL") from error
    return canonical_url(joined)


def _check_characters(text: str) -> None:
    if len(text) > MAX_URL_CHARACTERS:
        raise UrlProblem("max_length", f"is longer than {MAX_URL_CHARACTERS} characters")
    is_odd = not text.isascii() and any(unicodedata.category(each) in _REFUSED_CATEGORIES for each in text)
    if is_odd or _ASCII_REFUSED.search(text):
        raise UrlProblem("characters", "holds a blank, a backslash or a control character; percent-encode it")


def _scheme_and_authority(text: str) -> tuple[str, str]:
    shape = _SHAPE.match(text)
    if shape is None:
        raise UrlProblem("scheme", "is not an absolute URL; begin it with https:// and a host")
    scheme, authority = shape[1].lower(), shape[2]
    if scheme not in _DEFAULT_PORTS:
        raise UrlProblem("scheme", "must be an http or https URL")
    if "@" in authority:
        raise UrlProblem("userinfo", "holds a user name or password; leave it out")
    if not authority or authority.startswith(":"):
        raise UrlProblem("host", "has no host")
    return scheme, authority


def _port(authority: str, scheme: str) -> int:
    match = _PORT.fullmatch(authority)
    if match is None:
        raise UrlProblem("port", "has a host or port that cannot be read")
    digits = match[1] or ""
    port = int(digits[:6]) if digits else _DEFAULT_PORTS[scheme]
    if not 0 < port <= 65535 or len(digits) > 5:
        raise UrlProblem("port", "has a port that is not between 1 and 65535")
    return port


def _ipv6(host: str) -> str:
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError as error:
        raise UrlProblem("host", "has a host that is not a valid name or address") from error
    if address.scope_id is not None:
        raise UrlProblem("host", "has an address with a zone; leave the zone out")
    return str(address.ipv4_mapped or address)


def _ipv4(name: str) -> str:
    """Reads as `inet_aton` does: one to four numbers, decimal, octal or hexadecimal, the last one fills the rest."""
    problem = UrlProblem("host", "has a host that is not a valid name or address")
    numbers = [_number(part) for part in name.split(".")]
    known = [number for number in numbers if number is not None]
    if len(known) < len(numbers) or len(numbers) > 4:
        raise problem
    *leading, rest = known
    if any(number > 255 for number in leading) or rest >= 256 ** (5 - len(numbers)):
        raise problem
    value = sum(number << 24 - 8 * index for index, number in enumerate(leading)) + rest
    return str(ipaddress.IPv4Address(value))


def _number(part: str) -> int | None:
    if len(part) > 20 or not _NUMBER.fullmatch(part):
        return None
    if part.startswith("0x"):
        return int(part[2:] or "0", 16)
    is_octal = part.startswith("0") and len(part) > 1
    return None if is_octal and set(part) & {"8", "9"} else int(part, 8 if is_octal else 10)
