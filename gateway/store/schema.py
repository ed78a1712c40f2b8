"""The tables, one schema for SQLite and PostgreSQL.

Every key and every foreign key starts with the tenant, and the constraints leave no room for states that
must not be: a result without an end, an approval used without a decision, a decision by the requester.
What the tables are on disk is said by the migrations; a test holds the two equal.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Boolean, CheckConstraint, Column, Index, Table, UniqueConstraint
from sqlalchemy import text as sql

from gateway.call import CallerKind, Standing
from gateway.store.columns import belongs_to, count, key, metadata, moment, raw, tenant, text


def _one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=f"{column}_known")


def _only(name: str, rule: str) -> CheckConstraint:
    return CheckConstraint(rule, name=name)


def _where(rule: str) -> dict[str, Any]:
    """An index over some rows alone, on both databases."""
    return {"postgresql_where": sql(rule), "sqlite_where": sql(rule)}


tenants = Table(
    "tenants",
    metadata,
    tenant(),
    count("registry_version"),
    moment("created_at"),
    _only("tenant_named", "length(tenant) BETWEEN 1 AND 128"),
    _only("registry_version_counts", "registry_version >= 0"),
)
"""Whose rows there are, and how often each one's registry was changed: what replicas watch. SQLite takes one."""

writers = Table(
    "writers",
    metadata,
    tenant(),
    key("writer"),
    moment("started_at"),
    moment("lease_until"),
    belongs_to("tenants"),
    Index(None, "tenant", "lease_until"),
)
"""The gateways that write for a tenant, and until when each may."""


def _row_columns() -> tuple[Column[str] | Column[int] | Column[bytes], ...]:
    return tenant(), key("name"), count("version"), raw("document"), text("updated_by")


connections = Table(
    "connections",
    metadata,
    *_row_columns(),
    moment("updated_at"),
    moment("last_success_at", is_optional=True),
    moment("last_error_at", is_optional=True),
    text("last_error", is_optional=True),
    Column("needs_authorisation", Boolean, nullable=False),
    belongs_to("tenants"),
    _only("version_counts", "version > 0"),
    _only("error_is_dated", "(last_error IS NULL) = (last_error_at IS NULL)"),
)
"""Rows of the registry, and each account's health, which is no part of its version."""

tools = Table(
    "tools",
    metadata,
    *_row_columns(),
    moment("updated_at"),
    text("connection", is_optional=True),
    belongs_to("tenants"),
    belongs_to("connections", "connection", to=("name",)),
    _only("version_counts", "version > 0"),
    Index(None, "tenant", "connection"),
)
"""Rows of the registry. `connection` is the one that the document's binding names."""

agents = Table(
    "agents",
    metadata,
    *_row_columns(),
    moment("updated_at"),
    belongs_to("tenants"),
    _only("version_counts", "version > 0"),
)
"""Rows of the registry."""

idempotency = Table(
    "idempotency",
    metadata,
    tenant(),
    key("key"),
    text("call_id"),
    text("effect_id"),
    text("arguments_digest"),
    text("standing"),
    text("writer"),
    raw("intent", is_optional=True),
    raw("arguments", is_optional=True),
    raw("result", is_optional=True),
    text("approval_id", is_optional=True),
    moment("claimed_at"),
    moment("settled_at", is_optional=True),
    moment("expires_at", is_optional=True),
    belongs_to("writers", "writer"),
    UniqueConstraint("tenant", "call_id"),
    _one_of("standing", Standing),
    # Only what is done may end: an unfinished effect is never forgotten, and keeps its intent.
    _only("done_is_dated", "(standing = 'done') = (settled_at IS NOT NULL)"),
    _only("done_expires", "(standing = 'done') = (expires_at IS NOT NULL)"),
    _only("open_has_intent", "(standing = 'done') = (intent IS NULL)"),
    _only("result_is_of_done", "result IS NULL OR standing = 'done'"),
    _only("parked_has_approval", "standing <> 'parked' OR approval_id IS NOT NULL"),
    Index(None, "tenant", "expires_at"),
    Index("ix_idempotency_unknown", "tenant", "claimed_at", **_where("standing = 'unknown'")),
    Index("ix_idempotency_open", "tenant", "writer", **_where("standing = 'in_progress'")),
)
"""What is known of a key. `intent` and the claim are one row, so that neither is there without the other.
`arguments` and `result` are sealed.
"""

closings = Table(
    "closings",
    metadata,
    tenant(),
    key("call_id"),
    key("kind"),
    text("closed_by"),
    moment("closed_at"),
    belongs_to("tenants"),
    Index(None, "tenant", "closed_at"),
)
"""Calls and executions of a writer that was gone, and who closed each: that one writes the line, and nobody else."""

calls = Table(
    "calls",
    metadata,
    tenant(),
    key("call_id"),
    text("effect_id"),
    text("key", is_optional=True),
    text("agent"),
    raw("principal"),
    text("tool"),
    text("tool_version"),
    text("connection"),
    text("run_id"),
    text("arguments_digest"),
    raw("arguments", is_optional=True),
    text("state"),
    text("outcome", is_optional=True),
    raw("result", is_optional=True),
    text("writer"),
    moment("created_at"),
    moment("cancel_asked_at", is_optional=True),
    moment("finished_at", is_optional=True),
    moment("expires_at", is_optional=True),
    belongs_to("writers", "writer"),
    _one_of("state", ("running", "parked", "finished", "unknown")),
    _only("finished_is_dated", "(state = 'finished') = (finished_at IS NOT NULL)"),
    _only("finished_has_outcome", "(state = 'finished') = (outcome IS NOT NULL)"),
    _only("result_is_of_finished", "result IS NULL OR state = 'finished'"),
    _only("parked_has_arguments", "state <> 'parked' OR arguments IS NOT NULL"),
    Index(None, "tenant", "effect_id"),
    Index(None, "tenant", "expires_at"),
    Index("ix_calls_open", "tenant", "writer", **_where("state = 'running'")),
    Index("uq_calls_parked_key", "tenant", "key", unique=True, **_where("state = 'parked'")),
)
"""Calls that outlive the connection they came by. `arguments` and `result` are sealed."""

approvals = Table(
    "approvals",
    metadata,
    tenant(),
    key("approval_id"),
    text("call_id"),
    text("agent"),
    text("requester"),
    text("tool"),
    text("tool_version"),
    text("connection"),
    text("arguments_digest"),
    text("policy_revision"),
    raw("terms"),
    raw("preview", is_optional=True),
    count("needed"),
    text("state"),
    moment("created_at"),
    moment("expires_at"),
    moment("decided_at", is_optional=True),
    moment("used_at", is_optional=True),
    belongs_to("calls", "call_id"),
    # What a decision points at, so that it cannot be the requester's own.
    UniqueConstraint("tenant", "approval_id", "requester"),
    _one_of("state", ("open", "approved", "denied", "expired", "withdrawn", "used")),
    _only("somebody_is_needed", "needed BETWEEN 1 AND 100"),
    _only("expires_later", "expires_at > created_at"),
    _only("open_is_undecided", "state <> 'open' OR decided_at IS NULL"),
    _only("decided_is_dated", "state NOT IN ('approved', 'denied', 'used') OR decided_at IS NOT NULL"),
    _only("used_is_dated", "(state = 'used') = (used_at IS NOT NULL)"),
    _only("decided_in_time", "decided_at IS NULL OR decided_at < expires_at"),
    _only("used_in_time", "used_at IS NULL OR (used_at >= decided_at AND used_at < expires_at)"),
    Index("ix_approvals_open", "tenant", "agent", **_where("state = 'open'")),
    Index("uq_approvals_call", "tenant", "call_id", unique=True, **_where("state IN ('open', 'approved')")),
)
"""What a person is asked, bound to what would run. `terms` is what policy demanded; `preview` is sealed."""

approval_decisions = Table(
    "approval_decisions",
    metadata,
    tenant(),
    key("approval_id"),
    key("person"),
    text("person_kind"),
    text("requester"),
    text("decision"),
    text("role"),
    text("reason"),
    moment("decided_at"),
    belongs_to("approvals", "approval_id", "requester"),
    _one_of("decision", ("approve", "deny")),
    _only("not_the_requester", "person <> requester"),
    _only("a_person", f"person_kind = '{CallerKind.HUMAN}'"),
    _only("has_reason", "length(reason) BETWEEN 1 AND 2000"),
)
"""One of each person at most, by the primary key. Nothing here is ever changed or taken away."""

budgets = Table(
    "budgets",
    metadata,
    tenant(),
    key("scope"),
    key("name"),
    key("unit"),
    key("period"),
    count("spent"),
    count("reserved"),
    moment("expires_at", is_optional=True),
    belongs_to("tenants"),
    _one_of("scope", ("tenant", "agent", "agent_day", "run", "tool")),
    _only("nothing_is_negative", "spent >= 0 AND reserved >= 0"),
    Index(None, "tenant", "expires_at"),
)
"""Counters: whose (`scope`, `name`), of what (`unit`: minor units of a currency, calls, recipients), over what time."""

reservations = Table(
    "reservations",
    metadata,
    tenant(),
    key("effect_id"),
    key("scope"),
    key("name"),
    key("unit"),
    key("period"),
    count("amount"),
    moment("reserved_at"),
    belongs_to("budgets", "scope", "name", "unit", "period"),
    _only("amount_counts", "amount >= 0"),
    Index(None, "tenant", "scope", "name", "unit", "period"),
)
"""What an effect holds of each counter until it is settled; one that is unknown goes on holding it."""

stops = Table(
    "stops",
    metadata,
    tenant(),
    key("scope"),
    key("name"),
    text("reason"),
    text("set_by"),
    moment("set_at"),
    belongs_to("tenants"),
    _one_of("scope", ("tenant", "agent", "tool", "vendor")),
    _only("tenant_has_no_name", "(scope = 'tenant') = (name = '')"),
)
"""What an operator has stopped."""

runs = Table(
    "runs",
    metadata,
    tenant(),
    key("agent"),
    key("run_id"),
    raw("intent"),
    text("intent_digest"),
    text("opened_by"),
    moment("opened_at"),
    moment("expires_at"),
    belongs_to("tenants"),
    _only("expires_later", "expires_at > opened_at"),
    Index(None, "tenant", "expires_at"),
)
"""Runs that a trusted runtime opened. `intent`, the user's words, is sealed."""

audit_checkpoints = Table(
    "audit_checkpoints",
    metadata,
    tenant(),
    Column("number", count("number").type, primary_key=True, autoincrement=False),
    raw("note"),
    moment("made_at"),
    belongs_to("tenants"),
    _only("number_counts", "number > 0"),
)
"""Signed notes, as they were signed. Nothing here is ever changed or taken away."""

audit_lines = Table(
    "audit_lines",
    metadata,
    tenant(),
    key("writer"),
    Column("seq", count("seq").type, primary_key=True, autoincrement=False),
    count("line_seq"),
    text("hash"),
    raw("line"),
    belongs_to("tenants"),
    UniqueConstraint("tenant", "writer", "line_seq"),
    _only("seq_counts", "seq > 0 AND line_seq > 0"),
)
"""Audit lines as they were written, for a deployment that wants them here as well. Nothing here is ever changed or
taken away.
"""

access_tokens = Table(
    "access_tokens",
    metadata,
    tenant(),
    key("connection"),
    text("holder", is_optional=True),
    moment("lease_until", is_optional=True),
    raw("sealed", is_optional=True),
    moment("expires_at", is_optional=True),
    Column("is_owed", Boolean, nullable=False),
    count("version"),
    belongs_to("tenants"),
    _only("lease_is_dated", "(holder IS NULL) = (lease_until IS NULL)"),
    _only("token_expires", "(sealed IS NULL) = (expires_at IS NULL)"),
    _only("owed_is_kept", "NOT is_owed OR sealed IS NOT NULL"),
    _only("version_counts", "version >= 0"),
)
"""The access token of the account behind a connection, and who asks for another one now (`holder`), for how long.
`sealed` also has the credential that a vendor gave in the place of the connection's; while it `is_owed` it is to be
written where that one is. A connection of a file is no row of `connections`, so none is pointed at.
"""

event_heads = Table(
    "event_heads",
    metadata,
    tenant(),
    count("number"),
    count("floor"),
    belongs_to("tenants"),
    _only("floor_is_below", "floor >= 0 AND floor <= number"),
)
"""Of each tenant: the number of its newest event, and the highest of those that are not kept any more. Whoever adds an
event locks the row, so that numbers become visible in their order and without a gap.
"""

event_ids = Table(
    "event_ids",
    metadata,
    tenant(),
    key("connection"),
    key("event_id"),
    moment("seen_at"),
    belongs_to("tenants"),
    _only("id_is_short", "length(event_id) BETWEEN 1 AND 128"),
    Index(None, "tenant", "seen_at"),
)
"""Which events were kept, for longer than they are: of a vendor that signs no time nothing else tells a repetition."""

events = Table(
    "events",
    metadata,
    tenant(),
    Column("number", count("number").type, primary_key=True, autoincrement=False),
    text("connection"),
    text("event_id"),
    text("vendor"),
    text("kind"),
    moment("occurred_at", is_optional=True),
    moment("received_at"),
    raw("content"),
    belongs_to("event_heads"),
    belongs_to("event_ids", "connection", "event_id"),
    UniqueConstraint("tenant", "connection", "event_id"),
    _only("number_counts", "number > 0"),
)
"""What happened at vendors, as their webhooks told. `content`, a stranger's words, is sealed. A connection of a file is
no row of `connections`, so none is pointed at.
"""

TENANT_TABLES: tuple[str, ...] = tuple(table.name for table in metadata.sorted_tables)
"""Every table, for every one is some tenant's."""

APPEND_ONLY = frozenset({approval_decisions.name, audit_checkpoints.name, audit_lines.name})
KEPT = frozenset({tenants.name, approvals.name, event_heads.name})
"""Rows of these change, and none is taken away by a gateway."""
