"""The contract of vendors that tell what happened: a webhook's delivery becomes one normal event, or is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable

from adapters.base import Secret

REPLAY_SECONDS = 300.0
"""How old a delivery may be where the vendor signs its time, and how far a clock may be ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One HTTP request of somebody who says to be the vendor."""

    headers: Mapping[str, str] = field(repr=False)
    """By name in lower case. Of a header that came twice there is none."""
    body: bytes = field(repr=False)
    """The raw body: what is signed is exactly this."""
    received_at: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What happened at a vendor, in the form that all vendors' events have. Every text in it is a stranger's."""

    id: str
    """The same for every repetition of the delivery, and for nothing else of the account: at most 128 printable ASCII
    characters.
    """
    kind: str
    """`THING.WHAT_HAPPENED`, e.g. `issue.opened`: lower case, digits and `_`, and dots between."""
    occurred_at: float | None
    """Seconds since the epoch, as the vendor says."""
    subject: str
    """What it happened to, as the vendor's tools take it, e.g. `acme/shop#12`; empty when nothing is named."""
    data: Mapping[str, Any] = field(repr=False)
    """Small, named for a model, the same keys for one kind; null where the vendor says nothing. JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Greeting:
    """The delivery asks whether anybody is there: it is answered with this body, and is no event."""

    body: bytes = field(repr=False)
    content_type: str = "text/plain"


class Fault(StrEnum):
    """Why a delivery is refused. Whoever sent it does not learn which."""

    UNSIGNED = "unsigned"
    """There is no signature, or one that cannot be read."""
    FORGED = "forged"
    """The signature is not the vendor's over this body."""
    STALE = "stale"
    """It is signed, and was sent too long ago, or in the future: somebody may be repeating it."""
    MALFORMED = "malformed"
    """It is signed, and says nothing that can be understood."""


class DeliveryRefused(Exception):  # noqa: N818 - named for what it is
    """Nothing of the delivery is used."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.value)
        self.fault = fault


class Webhooks(Protocol):
    """One vendor's webhooks."""

    @property
    def kinds(self) -> Sequence[str]:
        """Every kind of event that there can be, for people who choose."""
        ...

    def receive(self, delivery: Delivery, secrets: Sequence[Secret]) -> Event | Greeting | None:
        """The event of a delivery that is signed under one of the secrets; None for one that tells of nothing that
        there is a kind for, or is only a ping. Nothing is read of a delivery before its signature is checked.

        Pure: time is the delivery's own. Raises `DeliveryRefused` and nothing else.
        """
        ...


@runtime_checkable
class Delivers(Protocol):
    """An adapter whose vendor has webhooks."""

    @property
    def webhooks(self) -> Webhooks:
        """Them."""
        ...
