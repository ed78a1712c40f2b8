"""What became of a message whose sending was cut off, as far as a mailbox tells.

A server that keeps what it sends keeps our Message-ID with it: that is proof, for nobody knows the id before the
message went out. That it is not there proves nothing: many a server sends and keeps nothing, or keeps it later.
"""

from adapters.base import Finding
from adapters.email.headers import read_header
from adapters.email.imap.session import Session
from adapters.email.imap.words import string
from adapters.email.searching import header_of

_MAX_CANDIDATES = 10
_HEADER_BYTES = 4096
_ITEMS = b"BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)]<0.%d>" % _HEADER_BYTES


async def look_for(session: Session, folder: str, message_id: str) -> Finding:
    """Whether the message is in the folder of what was sent. Raises what a session raises."""
    await session.examine(folder)
    found = await session.search(b'HEADER "Message-ID"', string(message_id))
    # Some servers find by a word of it, or by something like it: what was found has to say the whole id itself.
    facts = await session.fetch(found[:_MAX_CANDIDATES], _ITEMS) if found else {}
    headers = [read_header(header_of(told), _HEADER_BYTES) for told in facts.values()]
    is_there = any(header.ids("message-id") == [message_id] for header in headers)
    return Finding.DONE if is_there else Finding.STILL_UNKNOWN
