"""What a manifest file may say: lists of tools, connections and agents, as people write them."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Discriminator, Field, StringConstraints, Tag, model_validator

from adapters.base import SideEffect
from gateway.call import Surface
from gateway.rows import WINDOW, Disposition, KeyRule, Kind, Risk, Sensitivity, Trust

ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_.-]{0,63}$")]
"""Of tenants, agents, connections, groups, roles and modes."""
Scope = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.:/-]{0,127}$")]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/([^~/]|~[01])*)+$")]
"""A JSON Pointer to something inside; `*` as a segment is every item or property."""
CostPointer = Annotated[str, StringConstraints(pattern=r"^(/([^~/*]|~[01])*)+$")]
"""A JSON Pointer to one value of the prepared arguments."""
Currency = Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
Counted = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
"""What is counted of a call, e.g. `recipients`."""
Unit = Annotated[str, StringConstraints(pattern=r"^([A-Z]{3}|[a-z][a-z0-9_]{0,31})$")]
"""A currency, `calls`, or what the tools count."""
Window = Annotated[str, StringConstraints(pattern=WINDOW)]
Whole = Annotated[int, Field(ge=0, le=10**15, strict=True)]
EventKind = Annotated[str, StringConstraints(pattern=r"^(\*|[a-z0-9_]+(\.[a-z0-9_]+)*(\.\*)?)$", max_length=128)]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Number = Annotated[float, Field(allow_inf_nan=False)]


class Row(BaseModel):
    """One row, or a part of one. Unknown keys are errors; strings are never turned into numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=False)


class RateRow(Row):
    """At most `burst` at once and `per_minute` in the long run."""

    per_minute: Number = Field(gt=1e-6, le=1e9, strict=True)
    burst: int = Field(default=1, ge=1, le=1_000_000_000, strict=True)


class BindingRow(Row):
    """What a tool stands for."""

    adapter: Name
    operation: Name
    connection: Name
    options: dict[str, Any] = {}
    """What the operation is, where the adapter makes it of the row."""


class LimitsRow(Row):
    """How often, and how large."""

    rate: RateRow | None = None
    max_leaves: int = Field(default=1000, ge=1, le=100_000, strict=True)
    """Values in one call's arguments."""
    max_result_bytes: int = Field(default=256 * 1024, ge=1024, le=3 * 1024 * 1024, strict=True)


class MoneyRow(Row):
    """What a call costs in money, in minor units (cents): always the same, or what an argument says."""

    currency: Currency
    amount: Whole | None = None
    path: CostPointer | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.amount is None) == (self.path is None):
            raise ValueError("give either the amount, or the path to it in the prepared arguments")
        return self


def _kind(count: object) -> str:
    return "paths" if isinstance(count, list | tuple) else "path" if isinstance(count, str) else "number"


Count = Annotated[
    Annotated[Whole, Tag("number")]
    | Annotated[CostPointer, Tag("path")]
    | Annotated[tuple[CostPointer, ...], Field(min_length=1), Tag("paths")],
    Discriminator(_kind),
]
"""A number, or where in the prepared arguments a number or a list is found whose length it is. What is found at
several places is added up.
"""


class CostRow(Row):
    """What budgets and caps count of a call beside the call itself."""

    money: MoneyRow | None = None
    counts: dict[Counted, Count] = {}
    """By unit."""

    @model_validator(mode="after")
    def _not_calls(self) -> Self:
        if "calls" in self.counts:
            raise ValueError("calls are counted of every tool; name the unit otherwise")
        return self


class AllowanceRow(Row):
    """How much of one unit, of the calls that are meant."""

    limit: Whole
    tools: tuple[ToolName, ...] = ()
    """Which tools' calls count; all that the agent has when left out."""
    side_effect: SideEffect | None = None
    """Which calls count by what they do; all when left out."""


class BudgetRow(AllowanceRow):
    """How much an agent may spend or use. What all of a tenant share stands in the deployment's settings."""

    unit: Unit
    scope: Literal["agent", "agent_day", "run", "tool"]
    """What counts together: all calls of the agent, those of one day (UTC), of one run, or of one tool."""
    per: Window | None = None
    """Over what time, for the scopes `agent` and `tool`; for ever when left out."""

    @model_validator(mode="after")
    def _one_time(self) -> Self:
        if self.per is not None and self.scope not in ("agent", "tool"):
            raise ValueError(f"the scope {self.scope} says over what time already; leave out `per`")
        return self


class CapRow(AllowanceRow):
    """How often an agent may do something, or with how many at once."""

    unit: Unit = "calls"
    per: Annotated[str, StringConstraints(pattern=WINDOW.replace("total", "total|run"))]
    """Over what time: `run`, `day` (UTC), `hour`, `minute`, so many seconds (`90s`), or `total`."""


class ToolRow(Row):
    """One tool: one capability."""

    name: ToolName
    version: Words = "1"
    title: str = ""
    """The name in words when left out."""
    description: Words
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None = None
    requires: frozenset[Scope]
    """Scopes; an empty list says in so many words that none is needed."""
    required_claims: dict[str, Any] = {}
    allowed_roles: frozenset[Name] = frozenset()
    modes: frozenset[Name] = frozenset()
    side_effect: SideEffect
    risk: Risk = Risk.LOW
    kind: Kind = Kind.EXTERNAL
    binding: BindingRow
    groups: frozenset[Name] = frozenset()
    disposition: Disposition = Disposition.OPTIONAL
    surfaces: frozenset[Surface] = Field(min_length=1)
    idempotency: KeyRule | None = None
    """A write or send must say; a read need not."""
    trust: Trust = Trust.UNTRUSTED
    sensitivity: Sensitivity = Sensitivity.INTERNAL
    field_trust: dict[Pointer, Trust] = {}
    """By JSON Pointer into the output: where a part differs from the whole."""
    field_sensitivity: dict[Pointer, Sensitivity] = {}
    cost: CostRow = CostRow()
    """What budgets and caps count of a call."""
    timeout_ms: int | None = Field(default=None, gt=0, strict=True)
    """30,000, or the longest that the settings allow, when left out."""
    limits: LimitsRow = LimitsRow()
    redactions: tuple[Pointer, ...] = ()
    """JSON Pointers into the output whose values are taken out before the agent sees it."""
    private_arguments: tuple[Pointer, ...] = ()
    """JSON Pointers into the arguments whose values no audit line shows."""
    preview: bool = Field(default=False, strict=True)


class WebhookRow(Row):
    """A vendor's webhook, which delivers to `/v1/events/TENANT/CONNECTION`."""

    secret: Words
    """The reference of what its deliveries are signed with."""


class SubscriptionRow(Row):
    """Whose events an agent gets, and which."""

    connection: Name
    kinds: tuple[EventKind, ...] = Field(default=("*",), min_length=1)
    """Exact kinds, all of one thing (`issue.*`), or all (`*`)."""


class ConnectionRow(Row):
    """One external account of one tenant."""

    name: Name
    tenant: Name
    vendor: Name
    """The adapter that speaks to it."""
    hosts: tuple[Words, ...] = ()
    options: dict[str, Any] = {}
    scopes: tuple[Words, ...] = ()
    """What the vendor granted."""
    credential: str = ""
    """A reference, never a secret."""
    rate: RateRow | None = None
    assertion: str = ""
    """Who is told by a signed assertion who calls: an audience that the settings know for these hosts."""
    webhook: WebhookRow | None = None
    """How its vendor tells what happens there; it does not when left out."""


class AgentRow(Row):
    """What one agent, or workflow, of one tenant may see and hold."""

    name: Name
    tenant: Name
    tools: frozenset[ToolName] = frozenset()
    groups: frozenset[Name] = frozenset()
    scopes: frozenset[Scope] = frozenset()
    roles: frozenset[Name] = frozenset()
    rate: RateRow | None = None
    budgets: tuple[BudgetRow, ...] = ()
    caps: tuple[CapRow, ...] = ()
    collaborators: frozenset[Name] = frozenset()
    events: tuple[SubscriptionRow, ...] = ()
    """What it may know of what happens at vendors; nothing unless named."""
    grants: dict[str, Any] = {}
    """What the policy pack reads: argument rules of this agent, by tool."""
