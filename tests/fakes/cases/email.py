"""Operations of a mail account."""

from adapters.base import Target
from fakes.cases.base import Case


def _sending(port: int) -> Target:
    options = {"host": "127.0.0.1", "port": port, "tls": "none", "username": "bot", "from": "bot@corp.example"}
    return Target(name="mail", hosts=("127.0.0.1",), options=options)


def _reading(port: int) -> Target:
    options = {"imap_host": "127.0.0.1", "imap_port": port, "imap_tls": "none", "username": "bot"}
    return Target(name="mail", hosts=("127.0.0.1",), options=options)


MAIL = {
    "to": ["ann@corp.example"],
    "subject": "Hi",
    "text": "Hello",
    "attachments": [{"filename": "report.pdf", "content_type": "application/pdf", "content_base64": "JVBERi0="}],
    "in_reply_to": "<1@corp.example>",
    "references": ["<0@corp.example>", "<1@corp.example>"],
}
SOUGHT = {"from": "ann", "subject": "offer", "text": "next week", "since": "2026-01-01", "folder": "INBOX"}

CASES: tuple[Case, ...] = (
    Case("email", "send", lambda _: MAIL, _sending),
    Case("email", "search", lambda _: SOUGHT, _reading),
    Case("email", "read_message", lambda _: {"id": "1700000001:7:INBOX"}, _reading),
)
