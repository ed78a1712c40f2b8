"""What keeps tenants apart in the database itself: row-level security, and on SQLite that there is but one.

The statements of a revision must never change; whoever needs others writes a further revision.
"""

from collections.abc import Iterable

CURRENT_TENANT = "(SELECT nullif(current_setting('app.tenant', true), ''))"
"""The transaction's tenant. It is '' and not NULL once a session has had one; a sub-select runs once a query."""
_OWN = f"tenant = {CURRENT_TENANT}"
POLICY = "of_tenant"
LISTED = "tenants_listed"
TENANTS = "tenants"
"""Every gateway may list the tenants, to watch their registries and to look after their open calls."""


def secured(table: str) -> list[str]:
    """PostgreSQL: statements after which a role sees and writes the rows of the transaction's tenant alone.

    FORCE, so that the owner is held by it too.
    """
    return [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY {POLICY} ON {table} USING ({_OWN}) WITH CHECK ({_OWN})",
    ]


def row_level_security(tables: Iterable[str]) -> list[str]:
    """PostgreSQL: statements that secure every one of these tables, and let tenants be listed."""
    statements = [statement for table in tables for statement in secured(table)]
    return [*statements, f"CREATE POLICY {LISTED} ON {TENANTS} FOR SELECT USING (true)"]


def no_row_level_security(tables: Iterable[str]) -> list[str]:
    """PostgreSQL: statements that take it back."""
    statements = [f"DROP POLICY {LISTED} ON {TENANTS}"]
    for table in tables:
        statements += [
            f"DROP POLICY {POLICY} ON {table}",
            f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
            f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
        ]
    return statements


ONE_TENANT = "one_tenant"
ONE_TENANT_MESSAGE = "this database holds one tenant"
_SECOND = f"BEGIN SELECT RAISE(ABORT, '{ONE_TENANT_MESSAGE}'); END"


def one_tenant() -> list[str]:
    """SQLite: statements after which a second tenant is refused. Every other table's rows point at its tenant."""
    another = f"EXISTS (SELECT 1 FROM {TENANTS} WHERE tenant <> NEW.tenant)"  # noqa: S608 - the names are ours
    return [
        f"CREATE TRIGGER {ONE_TENANT} BEFORE INSERT ON {TENANTS} WHEN {another} {_SECOND}",
        f"CREATE TRIGGER {ONE_TENANT}_kept BEFORE UPDATE OF tenant ON {TENANTS} WHEN {another} {_SECOND}",
    ]


def many_tenants() -> list[str]:
    """SQLite: statements that take it back."""
    return [f"DROP TRIGGER {ONE_TENANT}", f"DROP TRIGGER {ONE_TENANT}_kept"]
