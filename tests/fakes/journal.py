"""A journal in memory."""

from typing import Any

from adapters.base import Fault
from gateway.audit.base import Begin
from gateway.errors import Reason, Refusal


class ListJournal:
    """`Journal`: keeps what is written. While `is_down` it refuses, and notes are dropped."""

    def __init__(self) -> None:
        self.begins: list[Begin] = []
        self.intents: list[dict[str, Any]] = []
        self.notes: list[dict[str, Any]] = []
        self.is_down = False

    def begin(self, begin: Begin) -> None:
        """Keep the begin."""
        self._demand_up()
        self.begins.append(begin)

    async def intent(self, record: dict[str, Any]) -> None:
        """Keep the intent."""
        self._demand_up()
        self.intents.append(record)

    def note(self, record: dict[str, Any]) -> None:
        """Keep the note."""
        if not self.is_down:
            self.notes.append(record)

    def _demand_up(self) -> None:
        if self.is_down:
            raise Refusal(Reason.JOURNAL_UNAVAILABLE, "The journal cannot be written.", fault=Fault.ERROR)
