"""What became of a message, as a mailbox tells."""

from typing import Any

import pytest

from adapters.base import Finding
from adapters.email.imap.failures import Refused
from adapters.email.reconcile import look_for


class Mailbox:
    """A session with a folder of sent mail."""

    def __init__(self, found: list[int], *, is_there: bool = True) -> None:
        self.found, self.is_there, self.asked = found, is_there, []  # type: ignore[var-annotated]

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
