"""What keeps tenants apart: row-level security on PostgreSQL, one tenant on SQLite."""

from alembic import op

from gateway.store.isolation import many_tenants, no_row_level_security, one_tenant, row_level_security

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Spelled out: a table of a later revision is not there yet when this one runs.
TABLES = (
    "agents",
    "approval_decisions",
    "approvals",
    "audit_checkpoints",
    "audit_lines",
    "budgets",
    "calls",
    "closings",
    "connections",
    "idempotency",
    "reservations",
    "runs",
    "stops",
    "tenants",
    "tools",
    "writers",
)


def upgrade() -> None:
    """From here on the database itself refuses another tenant's rows."""
    is_sqlite = op.get_context().dialect.name == "sqlite"
    for statement in one_tenant() if is_sqlite else row_level_security(TABLES):
        op.execute(statement)


def downgrade() -> None:
    """Take it back."""
    is_sqlite = op.get_context().dialect.name == "sqlite"
    for statement in many_tenants() if is_sqlite else no_row_level_security(TABLES):
        op.execute(statement)
