"""What became of a message whose sending was cut off, as far as a mailbox tells.

A server that keeps what it sends keeps our Message-ID with it: that is proof. That it is not there proves nothing:
many a server sends and keeps nothing, or keeps it later.
"""

from adapters.base import Finding
from adapters.email.imap.session import Session
from adapters.email.imap.words import string


async def look_for(session: Session, folder: str, message_id: str) -> Finding:
    """Whether the message is in the folder of what was sent. Raises what a session raises."""
    await session.examine(folder)
    found = await session.search(b'HEADER "Message-ID"', string(message_id))
    return Finding.DONE if found else Finding.STILL_UNKNOWN
