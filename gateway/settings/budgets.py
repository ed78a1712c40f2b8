"""What all agents of a tenant share, which no registry row can widen."""

from typing import Annotated

from pydantic import Field, StringConstraints

from adapters.base import SideEffect
from gateway.rows import WINDOW, Allowance, window_seconds
from gateway.settings.part import Part


class TenantBudget(Part):
    """How much of one unit all agents of one tenant may use together."""

    tenant: str = Field(min_length=1, max_length=128)
    """Whose."""
    unit: Annotated[str, StringConstraints(pattern=r"^([A-Z]{3}|[a-z][a-z0-9_]{0,31})$")]
    """A currency, whose amounts are minor units; `calls`; or what tools count in their `cost`."""
    limit: int = Field(ge=0, le=10**15)
    """How much."""
    per: Annotated[str, StringConstraints(pattern=WINDOW)]
    """Over what time: `day` (UTC), `hour`, `minute`, so many seconds (`90s`), or `total`."""
    tools: tuple[str, ...] = ()
    """Which tools' calls count; all when left out."""
    side_effect: SideEffect | None = None
    """Which calls count by what they do; all when left out."""

    @property
    def allowance(self) -> Allowance:
        """The same, to be counted with."""
        return Allowance(
            unit=self.unit,
            limit=self.limit,
            share="tenant",
            seconds=window_seconds(self.per),
            tools=frozenset(self.tools),
            side_effect=self.side_effect,
            is_cap=self.unit == "calls",
        )
