"""How long calls that outlive their connection are kept, and results that are too large to be sent whole."""

from typing import Self

from pydantic import Field, model_validator

from gateway.settings.part import Part

_MIB = 1024 * 1024


class HandleSettings(Part):
    """Calls that go on after `yield_after_ms`, or after their caller left."""

    keep_seconds: float = Field(default=24 * 3600.0, ge=60, le=90 * 24 * 3600)
    """How long the outcome of a write or send can be asked for by its call id."""
    keep_read_seconds: float = Field(default=3600.0, ge=60, le=90 * 24 * 3600)
    """The same of a read."""
    most_running: int = Field(default=64, ge=1, le=10_000)
    """How many handles of one agent may be at work at once. A call beyond that is waited for instead."""
    most_watchers: int = Field(default=16, ge=1, le=10_000)
    """How many WatchCall streams one agent may have open at one gateway."""


class ArtifactSettings(Part):
    """Results beyond their cap, kept whole and sealed under `artifacts` in the state directory."""

    keep_seconds: float = Field(default=24 * 3600.0, ge=60, le=90 * 24 * 3600)
    """How long one can be read."""
    max_bytes: int = Field(default=64 * _MIB, ge=0)
    """A result larger than this is not kept. 0 keeps none."""
    tenant_bytes: int = Field(default=256 * _MIB, ge=0)
    """What all of one tenant may take."""
    total_bytes: int = Field(default=1024 * _MIB, ge=0)
    """What all of them may take."""
    min_free_bytes: int = Field(default=256 * _MIB, ge=0)
    """What has to stay free on their disk: keys, lines and the store may share it."""

    @model_validator(mode="after")
    def _fit(self) -> Self:
        if self.tenant_bytes > self.total_bytes or self.max_bytes > self.tenant_bytes:
            raise ValueError("max_bytes may not exceed tenant_bytes, nor that total_bytes")
        return self
