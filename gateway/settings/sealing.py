"""How what is kept and may be private is sealed: parked calls, results, previews."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from gateway.settings.part import Part

_TENANT = r"^[A-Za-z0-9_-]{0,64}\{tenant\}[A-Za-z0-9_-]{0,64}$"
_PATH = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$"


class TransitSettings(Part):
    """Keys that a Vault or OpenBao holds and does not give away; `vault` says where it is."""

    mount: str = Field(default="transit", pattern=_PATH, max_length=256)
    """Where the transit engine is mounted."""
    key: str = Field(default="tollhouse-{tenant}", pattern=_TENANT)
    """The name of each tenant's key; `{tenant}` stands for the tenant."""
    data_key_seconds: float = Field(default=3600.0, ge=1, le=86_400)
    """How long one data key seals before the engine wraps another, and how long an opened one stays in memory: a
    right that was taken away in Vault ends within this time.
    """


class SealingSettings(Part):
    """What seals; a key file of the gateway's own, `seal.key` in the state directory, when nothing is named."""

    key_file: Path | None = None
    """Holds keys of 32 random bytes in base64 or hex, one a line. The first seals, all of them open. Mode 0600."""
    transit: TransitSettings | None = None
    """Seal by a transit engine instead."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.key_file is not None and self.transit is not None:
            raise ValueError("name key_file or transit, not both")
        return self
