"""The rows of the registry: what a tool, a connection and an agent are. Data, never code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, Protocol

from adapters.base import ArgumentIssue, SideEffect, Target


class Schema(Protocol):
    """A compiled JSON Schema of a row. `gateway.arguments.schema` makes them and `app.py` hands it on."""

    def is_valid(self, value: Any) -> bool:
        """Whether the value keeps to the schema. False when it is no JSON value at all."""
        ...

    def issues(self, value: Any) -> tuple[ArgumentIssue, ...]:
        """What is wrong, in the agent's words and without its values; empty when valid, at most 20."""
        ...

    def problems(self, value: Any) -> list[str]:
        """The same, a sentence each, for people."""
        ...

    def complete(self, value: dict[str, Any], *, may_hold_null: bool) -> dict[str, Any]:
        """The value without nulls that mean absent, and with the defaults of what is absent. It is ours
        to change: the object that comes back may be the one that went in.
        """
        ...


class Risk(StrEnum):
    """How much harm one wrong call can do."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Kind(StrEnum):
    """Whether a tool stands over a service of our own or over a vendor."""

    INTERNAL = "internal"
    EXTERNAL = "external"


class Disposition(StrEnum):
    """Whether every agent of a group has the tool, or only those that name it."""

    ALWAYS = "always"
    OPTIONAL = "optional"


class KeyRule(StrEnum):
    """What a write or send asks of its caller so that it happens at most once."""

    REQUIRED = "required"
    """A call without an idempotency key is refused."""
    OPTIONAL = "optional"
    """A call without a key is derived one from run and step when the caller names a run."""
    NATURAL = "natural"
    """Doing it twice is the same as doing it once; no key is needed."""


class Trust(StrEnum):
    """Whose words an output holds."""

    TRUSTED = "trusted"
    MEMBER = "member"
    UNTRUSTED = "untrusted"


class Sensitivity(StrEnum):
    """How private an output is."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PRIVATE = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """At most `burst` at once and `per_minute` in the long run (GCRA)."""

    per_minute: float
    burst: int = 1


WINDOW = r"^(total|day|hour|minute|[1-9][0-9]{0,7}s)$"
"""Over what time something is counted, as people write it: `total` is for ever, a day is one of UTC."""
DAY_SECONDS = 24 * 60 * 60
_WINDOWS = {"total": None, "day": DAY_SECONDS, "hour": 60 * 60, "minute": 60}


def window_seconds(window: str) -> int | None:
    """How long a window is that matches `WINDOW`; None: it never ends."""
    return int(window[:-1]) if re.fullmatch(r"[0-9]+s", window) else _WINDOWS[window]


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What a call of a tool costs in one unit: a fixed amount, or what its prepared arguments say."""

    unit: str
    """A currency, whose amounts are minor units, or what is counted."""
    amount: int = 0
    pointers: tuple[str, ...] = ()
    """JSON Pointers into the prepared arguments, whose numbers and lengths are added up; empty: it is fixed."""

    @property
    def is_money(self) -> bool:
        """Whether the unit is a currency."""
        return self.unit.isupper()


Share = Literal["tenant", "agent", "agent_day", "run", "tool"]
"""Whose counter it is: of all agents of a tenant, of one agent, of it for one day, of one run, of one tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """How much there is of one unit: for whom, of which tools, over which time."""

    unit: str
    limit: int
    share: Share
    seconds: int | None = None
    """How long the window is; None: as long as the run, or for ever."""
    tools: frozenset[str] = frozenset()
    """Which tools' calls count; empty: those of every tool."""
    side_effect: SideEffect | None = None
    """Calls with which side effect count; None: with any."""
    is_cap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """What a tool stands for. The agent never sees it."""

    adapter: str
    operation: str
    connection: str
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """What the operation is, where the adapter makes it of the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One external account of one tenant. It holds a credential's reference and never a secret."""

    name: str
    tenant: str
    vendor: str
    target: Target
    scopes: tuple[str, ...] = ()
    credential: str = ""
    rate: Rate | None = None
    webhook_secret: str = ""
    """The reference of what deliveries of its events are signed with; empty: none are taken."""
    policy_json: bytes = field(repr=False, compare=False)
    """This row as policy sees it, serialised once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One capability. `policy_json` is the row as policy sees it, serialised once when it is loaded."""

    name: str
    version: str
    title: str
    description: str
    input_schema: Mapping[str, Any] = field(repr=False)
    output_schema: Mapping[str, Any] | None = field(repr=False)
    requires: frozenset[str]
    required_claims: Mapping[str, Any]
    allowed_roles: frozenset[str]
    modes: frozenset[str]
    side_effect: SideEffect
    risk: Risk
    kind: Kind
    binding: Binding
    groups: frozenset[str]
    disposition: Disposition
    surfaces: frozenset[str]
    key_rule: KeyRule
    trust: Trust
    sensitivity: Sensitivity
    field_trust: Mapping[str, Trust]
    field_sensitivity: Mapping[str, Sensitivity]
    cost: Mapping[str, Any]
    """What a call costs, as the row says it and policy sees it."""
    timeout_ms: int
    rate: Rate | None
    redactions: tuple[str, ...]
    max_leaves: int
    max_result_bytes: int
    preview: bool
    private_arguments: tuple[str, ...] = ()
    """JSON Pointers into the arguments whose values no audit line shows."""
    prices: tuple[Price, ...] = ()
    """The same as `cost`, to be counted with: one for each unit."""
    policy_json: bytes = field(repr=False, compare=False)
    input_schema_json: bytes = field(default=b"{}", repr=False, compare=False)
    output_schema_json: bytes = field(default=b"", repr=False, compare=False)
    """The schemas as an agent gets them, serialised once."""

    @property
    def has_effect(self) -> bool:
        """Whether a successful call changes something outside."""
        return self.side_effect is not SideEffect.READ


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """Which events of one connection an agent gets."""

    connection: str
    kinds: tuple[str, ...]
    """Exact kinds, all of one thing (`issue.*`), or all (`*`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """What one agent, or workflow, of one tenant may see and hold."""

    name: str
    tenant: str
    tools: frozenset[str]
    groups: frozenset[str]
    scopes: frozenset[str]
    roles: frozenset[str]
    rate: Rate | None
    budgets: tuple[Allowance, ...]
    caps: tuple[Allowance, ...]
    collaborators: frozenset[str]
    grants: Mapping[str, Any]
    """What the policy pack reads: argument rules of this agent, by tool."""
    events: tuple[Subscription, ...] = ()
    policy_json: bytes = field(repr=False, compare=False)
