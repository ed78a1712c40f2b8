"""How outcomes that nobody knows are found out."""

from pydantic import Field

from gateway.settings.part import Part


class ResolutionSettings(Part):
    """Asking vendors what became of effects whose outcome is unknown. People can settle them at any time."""

    enabled: bool = True
    """Whether vendors are asked at all, where their adapter knows how."""
    look_seconds: float = Field(default=5.0, ge=1, le=300)
    """How often unknown outcomes are looked for."""
    ask_seconds: float = Field(default=10.0, gt=0, le=120)
    """How long one question may take."""
    concurrent: int = Field(default=8, ge=1, le=100)
    """Questions at once, of each gateway."""
    not_done_after_seconds: float = Field(default=300.0, ge=0, le=86_400)
    """How long after its call an effect that a vendor does not know counts as not done; before that a late request may
    still arrive there. Longer than `server.max_call_seconds`.
    """
    tell_after_seconds: float = Field(default=3600.0, ge=1)
    """After how long an outcome that is unknown still is an event in the log, once an hour."""
