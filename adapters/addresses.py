"""The two halves of a plain mail address.

Narrower than RFC 5322 on purpose. Whatever two readers could read differently (lists, groups, comments, quoted local
parts, routes, address literals) is left out, so that policy, the approver and the vendor cannot disagree about who is
meant.
"""

import re

_MAX_LOCAL = 64
_MAX_DOMAIN = 253
# `%` and `!` are left out: a server may read them as a route to another host.
_LOCAL = re.compile(r"[A-Za-z0-9#$&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9#$&'*+/=?^_`{|}~-]+)*")
# A single label is left out: a server completes it with a domain of its own choice. So is a numeric
# last label, which some read as an address literal.
_DOMAIN = re.compile(
    r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII
)


def is_local_part(text: str) -> bool:
    """Whether it can stand before the `@`."""
    return len(text) <= _MAX_LOCAL and _LOCAL.fullmatch(text) is not None


def is_full_domain(text: str) -> bool:
    """Whether it can stand after the `@`: lower case, in A-labels, two of them at least."""
    return len(text) <= _MAX_DOMAIN and _DOMAIN.fullmatch(text) is not None
