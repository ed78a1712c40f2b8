"""Where vendors tell what happens, how much of it is taken, and how long it is kept."""

from typing import Self

from pydantic import Field, model_validator

from gateway.settings.limits import RateSettings
from gateway.settings.listeners import Place, TlsSettings
from gateway.settings.part import is_loopback, wrong_address, wrong_mode

_MIB = 1024 * 1024
_DAY_SECONDS = 24 * 3600.0


class EventSettings(Place):
    """The listener that webhooks are delivered to, never one that serves agents, and what becomes of events."""

    address: str
    """`unix:PATH` for a proxy on this machine, or `ADDRESS:PORT`."""
    tls: TlsSettings | None = None
    """Needed beyond loopback."""
    max_body_bytes: int = Field(default=_MIB, ge=1024, le=8 * _MIB)
    """A delivery with a larger body is refused."""
    rate: RateSettings = RateSettings(per_minute=600, burst=200)
    """How many deliveries of one connection are taken by each gateway; most vendors repeat those beyond."""
    retain_seconds: float = Field(default=7 * _DAY_SECONDS, ge=60, le=366 * _DAY_SECONDS)
    """How long an event is kept for those who watch."""
    most_kept: int = Field(default=100_000, ge=1, le=100_000_000)
    """How many events of one tenant are kept; of more the oldest go sooner."""
    remember_seconds: float = Field(default=90 * _DAY_SECONDS, ge=60, le=3660 * _DAY_SECONDS)
    """How long a repetition is known, also of an event that is not kept any more: some vendors sign no time."""
    most_watchers: int = Field(default=16, ge=1, le=10_000)
    """How many WatchEvents streams one agent may have open at one gateway."""

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        wrong = wrong_address(self.address) or (self._wrong_unix() if self.is_unix else self._wrong_tcp())
        if not wrong and self.remember_seconds < self.retain_seconds:
            wrong = "remember_seconds may not be less than retain_seconds: what is kept is known"
        if wrong:
            raise ValueError(wrong)
        return self

    def _wrong_unix(self) -> str:
        if self.tls is not None:
            return "a Unix socket takes no tls: its file mode says who may open it"
        return wrong_mode(self.mode)

    def _wrong_tcp(self) -> str:
        if self.tls is None and not is_loopback(self.address.rpartition(":")[0]):
            return "beyond loopback events need tls: what vendors tell is private"
        return ""
