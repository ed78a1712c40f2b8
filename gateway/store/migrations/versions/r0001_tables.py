"""The tables."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make every table, those that others point at first."""
    _tenants()
    _agents()
    _audit_checkpoints()
    _budgets()
    _connections()
    _writers()
    _calls()
    _idempotency()
    _reservations()
    _tools()
    _approvals()
    _approval_decisions()
    _closings()
    _stops()
    _runs()
    _audit_lines()


def downgrade() -> None:
    """Take the tables away, and all that is in them."""
    for table in (
        "audit_lines",
        "runs",
        "stops",
        "closings",
        "approval_decisions",
        "approvals",
        "tools",
        "reservations",
        "idempotency",
        "calls",
        "writers",
        "connections",
        "budgets",
        "audit_checkpoints",
        "agents",
        "tenants",
    ):
        op.drop_table(table)


def _where(rule: str) -> dict[str, Any]:
    return {"postgresql_where": sa.text(rule), "sqlite_where": sa.text(rule)}


def _moment(name: str, *, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def _tenants() -> None:
    op.create_table(
        "tenants",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("registry_version", sa.BigInteger(), nullable=False),
        _moment("created_at"),
        sa.CheckConstraint("length(tenant) BETWEEN 1 AND 128", name=op.f("ck_tenants_tenant_named")),
        sa.CheckConstraint("registry_version >= 0", name=op.f("ck_tenants_registry_version_counts")),
        sa.PrimaryKeyConstraint("tenant", name=op.f("pk_tenants")),
    )


def _agents() -> None:
    op.create_table(
        "agents",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        _moment("updated_at"),
        sa.CheckConstraint("version > 0", name=op.f("ck_agents_version_counts")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_agents_tenants")),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_agents")),
    )


def _audit_checkpoints() -> None:
    op.create_table(
        "audit_checkpoints",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("note", sa.LargeBinary(), nullable=False),
        _moment("made_at"),
        sa.CheckConstraint("number > 0", name=op.f("ck_audit_checkpoints_number_counts")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_audit_checkpoints_tenants")),
        sa.PrimaryKeyConstraint("tenant", "number", name=op.f("pk_audit_checkpoints")),
    )


def _budgets() -> None:
    op.create_table(
        "budgets",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("spent", sa.BigInteger(), nullable=False),
        sa.Column("reserved", sa.BigInteger(), nullable=False),
        _moment("expires_at", nullable=True),
        sa.CheckConstraint(
            "scope IN ('tenant', 'agent', 'agent_day', 'run', 'tool')", name=op.f("ck_budgets_scope_known")
        ),
        sa.CheckConstraint("spent >= 0 AND reserved >= 0", name=op.f("ck_budgets_nothing_is_negative")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_budgets_tenants")),
        sa.PrimaryKeyConstraint("tenant", "scope", "name", "unit", "period", name=op.f("pk_budgets")),
    )
    op.create_index(op.f("ix_budgets_tenant_expires_at"), "budgets", ["tenant", "expires_at"])


def _connections() -> None:
    op.create_table(
        "connections",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        _moment("updated_at"),
        _moment("last_success_at", nullable=True),
        _moment("last_error_at", nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("needs_authorisation", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "(last_error IS NULL) = (last_error_at IS NULL)", name=op.f("ck_connections_error_is_dated")
        ),
        sa.CheckConstraint("version > 0", name=op.f("ck_connections_version_counts")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_connections_tenants")),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_connections")),
    )


def _writers() -> None:
    op.create_table(
        "writers",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("writer", sa.Text(), nullable=False),
        _moment("started_at"),
        _moment("lease_until"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_writers_tenants")),
        sa.PrimaryKeyConstraint("tenant", "writer", name=op.f("pk_writers")),
    )
    op.create_index(op.f("ix_writers_tenant_lease_until"), "writers", ["tenant", "lease_until"])


def _calls() -> None:
    op.create_table(
        "calls",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("effect_id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("principal", sa.LargeBinary(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("tool_version", sa.Text(), nullable=False),
        sa.Column("connection", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("arguments_digest", sa.Text(), nullable=False),
        sa.Column("arguments", sa.LargeBinary(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("writer", sa.Text(), nullable=False),
        _moment("created_at"),
        _moment("cancel_asked_at", nullable=True),
        _moment("finished_at", nullable=True),
        _moment("expires_at", nullable=True),
        sa.CheckConstraint("(state = 'finished') = (finished_at IS NOT NULL)", name=op.f("ck_calls_finished_is_dated")),
        sa.CheckConstraint("(state = 'finished') = (outcome IS NOT NULL)", name=op.f("ck_calls_finished_has_outcome")),
        sa.CheckConstraint("result IS NULL OR state = 'finished'", name=op.f("ck_calls_result_is_of_finished")),
        sa.CheckConstraint("state <> 'parked' OR arguments IS NOT NULL", name=op.f("ck_calls_parked_has_arguments")),
        sa.CheckConstraint("state IN ('running', 'parked', 'finished', 'unknown')", name=op.f("ck_calls_state_known")),
        sa.ForeignKeyConstraint(
            ["tenant", "writer"], ["writers.tenant", "writers.writer"], name=op.f("fk_calls_writers")
        ),
        sa.PrimaryKeyConstraint("tenant", "call_id", name=op.f("pk_calls")),
    )
    op.create_index("ix_calls_open", "calls", ["tenant", "writer"], **_where("state = 'running'"))
    op.create_index(op.f("ix_calls_tenant_effect_id"), "calls", ["tenant", "effect_id"])
    op.create_index(op.f("ix_calls_tenant_expires_at"), "calls", ["tenant", "expires_at"])
    op.create_index("uq_calls_parked_key", "calls", ["tenant", "key"], unique=True, **_where("state = 'parked'"))


def _idempotency() -> None:
    op.create_table(
        "idempotency",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("effect_id", sa.Text(), nullable=False),
        sa.Column("arguments_digest", sa.Text(), nullable=False),
        sa.Column("standing", sa.Text(), nullable=False),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.Column("intent", sa.LargeBinary(), nullable=True),
        sa.Column("arguments", sa.LargeBinary(), nullable=True),
        sa.Column("result", sa.LargeBinary(), nullable=True),
        sa.Column("approval_id", sa.Text(), nullable=True),
        _moment("claimed_at"),
        _moment("settled_at", nullable=True),
        _moment("expires_at", nullable=True),
        sa.CheckConstraint("(standing = 'done') = (expires_at IS NOT NULL)", name=op.f("ck_idempotency_done_expires")),
        sa.CheckConstraint("(standing = 'done') = (intent IS NULL)", name=op.f("ck_idempotency_open_has_intent")),
        sa.CheckConstraint("(standing = 'done') = (settled_at IS NOT NULL)", name=op.f("ck_idempotency_done_is_dated")),
        sa.CheckConstraint("result IS NULL OR standing = 'done'", name=op.f("ck_idempotency_result_is_of_done")),
        sa.CheckConstraint(
            "standing <> 'parked' OR approval_id IS NOT NULL", name=op.f("ck_idempotency_parked_has_approval")
        ),
        sa.CheckConstraint(
            "standing IN ('in_progress', 'parked', 'done', 'unknown')", name=op.f("ck_idempotency_standing_known")
        ),
        sa.ForeignKeyConstraint(
            ["tenant", "writer"], ["writers.tenant", "writers.writer"], name=op.f("fk_idempotency_writers")
        ),
        sa.PrimaryKeyConstraint("tenant", "key", name=op.f("pk_idempotency")),
        sa.UniqueConstraint("tenant", "call_id", name=op.f("uq_idempotency_tenant_call_id")),
    )
    op.create_index("ix_idempotency_open", "idempotency", ["tenant", "writer"], **_where("standing = 'in_progress'"))
    op.create_index(op.f("ix_idempotency_tenant_expires_at"), "idempotency", ["tenant", "expires_at"])
    op.create_index("ix_idempotency_unknown", "idempotency", ["tenant", "claimed_at"], **_where("standing = 'unknown'"))


def _reservations() -> None:
    op.create_table(
        "reservations",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("effect_id", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        _moment("reserved_at"),
        sa.CheckConstraint("amount >= 0", name=op.f("ck_reservations_amount_counts")),
        sa.ForeignKeyConstraint(
            ["tenant", "scope", "name", "unit", "period"],
            ["budgets.tenant", "budgets.scope", "budgets.name", "budgets.unit", "budgets.period"],
            name=op.f("fk_reservations_budgets"),
        ),
        sa.PrimaryKeyConstraint("tenant", "effect_id", "scope", "name", "unit", "period", name=op.f("pk_reservations")),
    )
    op.create_index(
        op.f("ix_reservations_tenant_scope_name_unit_period"),
        "reservations",
        ["tenant", "scope", "name", "unit", "period"],
    )


def _tools() -> None:
    op.create_table(
        "tools",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.LargeBinary(), nullable=False),
        sa.Column("updated_by", sa.Text(), nullable=False),
        _moment("updated_at"),
        sa.Column("connection", sa.Text(), nullable=True),
        sa.CheckConstraint("version > 0", name=op.f("ck_tools_version_counts")),
        sa.ForeignKeyConstraint(
            ["tenant", "connection"], ["connections.tenant", "connections.name"], name=op.f("fk_tools_connections")
        ),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_tools_tenants")),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_tools")),
    )
    op.create_index(op.f("ix_tools_tenant_connection"), "tools", ["tenant", "connection"])


def _approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("requester", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("tool_version", sa.Text(), nullable=False),
        sa.Column("connection", sa.Text(), nullable=False),
        sa.Column("arguments_digest", sa.Text(), nullable=False),
        sa.Column("policy_revision", sa.Text(), nullable=False),
        sa.Column("terms", sa.LargeBinary(), nullable=False),
        sa.Column("preview", sa.LargeBinary(), nullable=True),
        sa.Column("needed", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        _moment("created_at"),
        _moment("expires_at"),
        _moment("decided_at", nullable=True),
        _moment("used_at", nullable=True),
        sa.CheckConstraint("(state = 'used') = (used_at IS NOT NULL)", name=op.f("ck_approvals_used_is_dated")),
        sa.CheckConstraint("state <> 'open' OR decided_at IS NULL", name=op.f("ck_approvals_open_is_undecided")),
        sa.CheckConstraint(
            "state IN ('open', 'approved', 'denied', 'expired', 'withdrawn', 'used')",
            name=op.f("ck_approvals_state_known"),
        ),
        sa.CheckConstraint(
            "state NOT IN ('approved', 'denied', 'used') OR decided_at IS NOT NULL",
            name=op.f("ck_approvals_decided_is_dated"),
        ),
        sa.CheckConstraint("decided_at IS NULL OR decided_at < expires_at", name=op.f("ck_approvals_decided_in_time")),
        sa.CheckConstraint("expires_at > created_at", name=op.f("ck_approvals_expires_later")),
        sa.CheckConstraint("needed BETWEEN 1 AND 100", name=op.f("ck_approvals_somebody_is_needed")),
        sa.CheckConstraint(
            "used_at IS NULL OR (used_at >= decided_at AND used_at < expires_at)",
            name=op.f("ck_approvals_used_in_time"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant", "call_id"], ["calls.tenant", "calls.call_id"], name=op.f("fk_approvals_calls")
        ),
        sa.PrimaryKeyConstraint("tenant", "approval_id", name=op.f("pk_approvals")),
        sa.UniqueConstraint(
            "tenant", "approval_id", "requester", name=op.f("uq_approvals_tenant_approval_id_requester")
        ),
    )
    op.create_index("ix_approvals_open", "approvals", ["tenant", "agent"], **_where("state = 'open'"))
    op.create_index(
        "uq_approvals_call", "approvals", ["tenant", "call_id"], unique=True, **_where("state IN ('open', 'approved')")
    )


def _approval_decisions() -> None:
    op.create_table(
        "approval_decisions",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("person_kind", sa.Text(), nullable=False),
        sa.Column("requester", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        _moment("decided_at"),
        sa.CheckConstraint("decision IN ('approve', 'deny')", name=op.f("ck_approval_decisions_decision_known")),
        sa.CheckConstraint("person_kind = 'human'", name=op.f("ck_approval_decisions_a_person")),
        sa.CheckConstraint("length(reason) BETWEEN 1 AND 2000", name=op.f("ck_approval_decisions_has_reason")),
        sa.CheckConstraint("person <> requester", name=op.f("ck_approval_decisions_not_the_requester")),
        sa.ForeignKeyConstraint(
            ["tenant", "approval_id", "requester"],
            ["approvals.tenant", "approvals.approval_id", "approvals.requester"],
            name=op.f("fk_approval_decisions_approvals"),
        ),
        sa.PrimaryKeyConstraint("tenant", "approval_id", "person", name=op.f("pk_approval_decisions")),
    )


def _closings() -> None:
    op.create_table(
        "closings",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("closed_by", sa.Text(), nullable=False),
        _moment("closed_at"),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_closings_tenants")),
        sa.PrimaryKeyConstraint("tenant", "call_id", "kind", name=op.f("pk_closings")),
    )
    op.create_index(op.f("ix_closings_tenant_closed_at"), "closings", ["tenant", "closed_at"])


def _stops() -> None:
    op.create_table(
        "stops",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("set_by", sa.Text(), nullable=False),
        _moment("set_at"),
        sa.CheckConstraint("(scope = 'tenant') = (name = '')", name=op.f("ck_stops_tenant_has_no_name")),
        sa.CheckConstraint("scope IN ('tenant', 'agent', 'tool', 'vendor')", name=op.f("ck_stops_scope_known")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_stops_tenants")),
        sa.PrimaryKeyConstraint("tenant", "scope", "name", name=op.f("pk_stops")),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("intent", sa.LargeBinary(), nullable=False),
        sa.Column("intent_digest", sa.Text(), nullable=False),
        sa.Column("opened_by", sa.Text(), nullable=False),
        _moment("opened_at"),
        _moment("expires_at"),
        sa.CheckConstraint("expires_at > opened_at", name=op.f("ck_runs_expires_later")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_runs_tenants")),
        sa.PrimaryKeyConstraint("tenant", "agent", "run_id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_tenant_expires_at"), "runs", ["tenant", "expires_at"])


def _audit_lines() -> None:
    op.create_table(
        "audit_lines",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("writer", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("line_seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("seq > 0 AND line_seq > 0", name=op.f("ck_audit_lines_seq_counts")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_audit_lines_tenants")),
        sa.PrimaryKeyConstraint("tenant", "writer", "seq", name=op.f("pk_audit_lines")),
        sa.UniqueConstraint("tenant", "writer", "line_seq", name=op.f("uq_audit_lines_tenant_writer_line_seq")),
    )
