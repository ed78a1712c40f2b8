"""Where a list goes on: Sentry says so in a `Link` header (RFC 8288), with a cursor of its own in it.

Of the header only the cursor is taken. The URL in it is not gone to: the connection says where Sentry is.
"""

import re

from adapters.transport.replies import Reply

_LINK = re.compile(r'<[^>]*>((?:\s*;\s*[A-Za-z]+="[^"]*")*)')
_PARAMETER = re.compile(r';\s*([A-Za-z]+)="([^"]*)"')


def next_page(reply: Reply) -> str | None:
    """Sentry's cursor to the next page; None when it says that nothing is there, or nothing that can be read."""
    header = reply.headers.get("Link", "")
    for link in _LINK.finditer(header):
        parameters = dict(_PARAMETER.findall(link[1]))
        if parameters.get("rel") == "next" and parameters.get("results") == "true":
            return parameters.get("cursor") or None
    return None
