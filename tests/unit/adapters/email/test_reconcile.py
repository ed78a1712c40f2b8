"""What became of a message, as a mailbox tells."""

from typing import Any

import pytest

from adapters.base import Finding
from adapters.email.imap.failures import Refused
from adapters.email.reconcile import look_for

SOUGHT = b"<1@corp.example>"


class Mailbox:
    """A session with a folder of sent mail."""

    def __init__(self, found: list[int], *, is_there: bool = True, header: bytes = b"Message-ID: " + SOUGHT) -> None:
        self.found, self.is_there, self.asked = found, is_there, []  # type: ignore[var-annotated]
        self.header = header + b"\r\n\r\n"

    async def examine(self, folder: str) -> int:
        """Open it, when it is there."""
        if not self.is_there:
            raise Refused("NO")
        self.asked.append(folder)
        return 1

    async def search(self, *criteria: Any) -> list[int]:
        """What was found."""
        self.asked += criteria
        return self.found

    async def fetch(self, uids: list[int], _items: bytes) -> dict[int, dict[str, bytes]]:
        """What the messages say."""
        return {uid: {"BODY[HEADER.FIELDS (MESSAGE-ID)]<0>": self.header} for uid in uids}


async def test_a_message_that_is_there_was_sent() -> None:
    """It is looked for by its Message-ID, in the folder that was named."""
    mailbox = Mailbox([7])
    assert await look_for(mailbox, "Sent", "<1@corp.example>") is Finding.DONE  # type: ignore[arg-type]
    assert mailbox.asked == ["Sent", b'HEADER "Message-ID"', b'"<1@corp.example>"']


async def test_a_message_that_is_not_there_may_have_been_sent() -> None:
    """Nothing is proved by it."""
    assert await look_for(Mailbox([]), "Sent", "<1@corp.example>") is Finding.STILL_UNKNOWN  # type: ignore[arg-type]


async def test_a_folder_that_cannot_be_opened_settles_nothing() -> None:
    """The error is the session's."""
    with pytest.raises(Refused):
        await look_for(Mailbox([], is_there=False), "Sent", "<1@corp.example>")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "header",
    [
        b"Message-ID: <11@corp.example>",
        b"Message-ID: <0@corp.example> <1@corp.example>",
        b"In-Reply-To: <1@corp.example>",
        b"Message-ID: <1@CORP.example.evil.test>",
        b"Message-ID: <1@corp.example>" + b" " * 5000,
        b"",
    ],
)
async def test_something_like_it_is_no_proof(header: bytes) -> None:
    """A server may find more than was looked for; only the whole id tells that it is ours."""
    mailbox = Mailbox([7], header=header)
    assert await look_for(mailbox, "Sent", SOUGHT.decode()) is Finding.STILL_UNKNOWN  # type: ignore[arg-type]
