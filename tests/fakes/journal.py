"""A journal in memory."""

from adapters.base import Fault
from gateway.audit.base import Begin
from gateway.errors import Reason, Refusal


class ListJournal:
    """`Journal`: keeps what is written. While `is_down` it refuses."""

    def __init__(self) -> None:
        self.begins: list[Begin] = []
        self.forgotten: list[tuple[str, str]] = []
        self.is_down = False

    def begin(self, begin: Begin) -> None:
        """Keep the begin."""
        if self.is_down:
            raise Refusal(Reason.JOURNAL_UNAVAILABLE, "The journal cannot be written.", fault=Fault.ERROR)
        self.begins.append(begin)

    async def sync(self) -> None:
        """Refuse while this is down."""
        if self.is_down:
            raise Refusal(Reason.JOURNAL_UNAVAILABLE, "The journal cannot be written.", fault=Fault.ERROR)

    def forget(self, kind: str, call_id: str) -> None:
        """Keep that it was forgotten."""
        self.forgotten.append((str(kind), call_id))
