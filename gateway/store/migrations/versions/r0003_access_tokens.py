"""Access tokens of accounts, for all replicas."""

import sqlalchemy as sa
from alembic import op

from gateway.store.isolation import secured

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLE = "access_tokens"


def upgrade() -> None:
    """Make the table. Another tenant's rows are out of reach in it from the beginning."""
    op.create_table(
        TABLE,
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("connection", sa.Text(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_owed", sa.Boolean(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("(holder IS NULL) = (lease_until IS NULL)", name=op.f("ck_access_tokens_lease_is_dated")),
        sa.CheckConstraint("(sealed IS NULL) = (expires_at IS NULL)", name=op.f("ck_access_tokens_token_expires")),
        sa.CheckConstraint("NOT is_owed OR sealed IS NOT NULL", name=op.f("ck_access_tokens_owed_is_kept")),
        sa.CheckConstraint("version >= 0", name=op.f("ck_access_tokens_version_counts")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.tenant"], name=op.f("fk_access_tokens_tenants")),
        sa.PrimaryKeyConstraint("tenant", "connection", name=op.f("pk_access_tokens")),
    )
    if op.get_context().dialect.name != "sqlite":
        for statement in secured(TABLE):
            op.execute(statement)


def downgrade() -> None:
    """Take the table away, and all that is in it."""
    op.drop_table(TABLE)
