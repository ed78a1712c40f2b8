"""Who sent a message, as far as the receiving server vouches for it (RFC 8601, RFC 7489).

Anybody can write any `From`, and any `Authentication-Results` too. What counts is the topmost of these fields, which
the receiving server put there last, and only when it bears the name that an operator gave: that server has to take
out fields that came in under its name.
"""

import re
from dataclasses import dataclass
from typing import Any

from adapters.email.headers import Header

_RESULTS = frozenset({"pass", "fail", "softfail", "neutral", "none", "temperror", "permerror", "policy"})
_METHODS = ("dmarc", "dkim", "spf")
_RESULT = re.compile(r"\s*([a-z0-9-]{1,40})(?:/\d+)?\s*=\s*([a-z]{1,20})(?=\s|$)", re.ASCII)
_FROM = re.compile(r"\sheader\.from\s*=\s*([a-z0-9.-]{1,253})(?=\s|$)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Attested:
    """What the receiving server says: each method's result, and the domain of `From` when it vouches for that."""

    results: dict[str, str | None]
    domain: str | None

    @property
    def json(self) -> dict[str, Any]:
        """As an output tells it."""
        return {**self.results, "domain": self.domain}


def attested(header: Header, authserv_id: str | None) -> Attested | None:
    """None when no server is named whose word counts, or when it says nothing."""
    fields = header.all("authentication-results")
    if authserv_id is None or not fields:
        return None
    name, *results = _plain(fields[0]).split(";")
    if name.split()[:1] != [authserv_id.lower()]:
        return None
    found = [(match[1], match[2], result) for result in results if (match := _RESULT.match(result))]
    told = {method: _of(method, found) for method in _METHODS}
    domain = None
    if told["dmarc"] == "pass":
        (result,) = (result for method, _, result in found if method == "dmarc")
        domain = _vouched(header, result)
    return Attested(told, domain)


def _plain(value: bytes) -> str:
    """The field without quoted words and comments, in which a sender's own words may stand; nothing when one of them
    does not end. One pass.
    """
    kept: list[str] = []
    depth, is_quoted, is_escaped = 0, False, False
    for sign in value.decode("ascii", "replace").lower():
        if is_escaped:
            is_escaped = False
        elif sign == "\\":
            is_escaped = True
        elif sign == '"' and not depth:
            is_quoted = not is_quoted
            kept.append(sign)
        elif sign in "()" and not is_quoted:
            depth = max(depth + (1 if sign == "(" else -1), 0)
            kept.append(" ")
        elif not is_quoted and not depth:
            kept.append(sign)
    return "" if is_quoted or depth else "".join(kept)


def _of(method: str, found: list[tuple[str, str, str]]) -> str | None:
    """The result of a method. Several signatures may have several: one that passed is enough, except for DMARC."""
    results = [result for name, result, _ in found if name == method and result in _RESULTS]
    if method == "dmarc":
        return results[0] if len(results) == 1 and sum(name == method for name, _, _ in found) == 1 else None
    return "pass" if "pass" in results else results[0] if results else None


def _vouched(header: Header, result: str) -> str | None:
    """The domain that DMARC passed for, when it is that of the only address in the only `From`."""
    address = header.address("from")
    domains = _FROM.findall(result)
    return address.domain if address is not None and domains == [address.domain] else None
