"""Everything that the first scene was seen to do: what its checks judge and the report shows."""

from dataclasses import dataclass

from gateway.cli.demo.errand import ANNOUNCEMENT
from gateway.cli.demo.record import Record
from gateway.cli.demo.servers import Mail


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Record):
    """A record of mail, pages and refusals."""

    trapped: int
    counted: int
    """How often Valkey was asked."""
    credential: str
    """The reference to the mail password."""

    @property
    def announced(self) -> list[Mail]:
        """The mails that a person had to approve."""
        return [mail for mail in self.mailbox if mail.subject == ANNOUNCEMENT]
