"""A sink in memory."""

from adapters.base import Fault
from gateway.audit.base import Line
from gateway.errors import Reason, Refusal


class ListSink:
    """`Sink`: keeps what is appended. While `is_down` it refuses and keeps the lines in `owed`."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.owed: list[Line] = []
        self.is_down = False

    @property
    def is_healthy(self) -> bool:
        """Whether lines can be written."""
        return not self.is_down

    async def append(self, line: Line) -> None:
        """Keep the line."""
        if self.is_down:
            self.owed.append(line)
            raise Refusal(Reason.AUDIT_UNAVAILABLE, "The audit cannot be written.", fault=Fault.ERROR)
        self.lines += [*self.owed, line]
        self.owed = []
