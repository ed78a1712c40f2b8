"""An event on its way from a vendor to those who watch, and what that needs of others."""

from dataclasses import dataclass, field
from typing import Protocol

from gateway.credentials.base import Lent
from gateway.rows import Sensitivity, Trust

LABELS = (Trust.UNTRUSTED.value, Sensitivity.PRIVATE.value)
"""What every event is known to be, in the words of a result's labels: a stranger's text, of a private account."""
CUT = "cut"
"""The further label of an event whose data was too large to be kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """An event as it is kept and told."""

    id: str
    connection: str
    vendor: str
    kind: str
    subject: str = field(repr=False)
    occurred_at: float | None
    """Seconds since the epoch, as the vendor says."""
    received_at: float
    data_json: bytes = field(repr=False)
    """One JSON object."""
    labels: tuple[str, ...] = LABELS


class Lends(Protocol):
    """Resolves references (see `gateway.credentials.resolver.Resolver`)."""

    async def lend(self, tenant: str, reference: str, hosts: tuple[str, ...], *, seconds: float) -> Lent:
        """What is behind the reference, to be ended by the caller. Raises `Refusal`."""
        ...
