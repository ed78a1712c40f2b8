"""Events of vendors, for all replicas."""

import sqlalchemy as sa
from alembic import op

from gateway.store.isolation import secured

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = ("event_heads", "event_ids", "events")
"""In the order in which they are made."""


def upgrade() -> None:
    """Make the tables. Another tenant's rows are out of reach in them from the beginning."""
    op.create_table(
        "event_heads",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("floor", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("floor >= 0 AND floor <= number", name=op.f("ck_event_heads_floor_is_below")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_event_heads_tenants")),
        sa.PrimaryKeyConstraint("tenant", name=op.f("pk_event_heads")),
    )
    op.create_table(
        "event_ids",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("connection", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("length(event_id) BETWEEN 1 AND 128", name=op.f("ck_event_ids_id_is_short")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_event_ids_tenants")),
        sa.PrimaryKeyConstraint("tenant", "connection", "event_id", name=op.f("pk_event_ids")),
    )
    op.create_index(op.f("ix_event_ids_tenant_seen_at"), "event_ids", ["tenant", "seen_at"], unique=False)
    op.create_table(
        "events",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("connection", sa.Text(), nullable=False),
        sa.Column("event_id", sa.Text(), nullable=False),
        sa.Column("vendor", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("occurred_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("number > 0", name=op.f("ck_events_number_counts")),
        sa.ForeignKeyConstraint(["tenant"], ["event_heads.tenant"], name=op.f("fk_events_event_heads")),
        sa.ForeignKeyConstraint(
            ["tenant", "connection", "event_id"],
            ["event_ids.tenant", "event_ids.connection", "event_ids.event_id"],
            name=op.f("fk_events_event_ids"),
        ),
        sa.PrimaryKeyConstraint("tenant", "number", name=op.f("pk_events")),
        sa.UniqueConstraint("tenant", "connection", "event_id", name=op.f("uq_events_tenant_connection_event_id")),
    )
    if op.get_context().dialect.name != "sqlite":
        for table in TABLES:
            for statement in secured(table):
                op.execute(statement)


def downgrade() -> None:
    """Take the tables away, and all that is in them."""
    for table in reversed(TABLES):
        op.drop_table(table)
