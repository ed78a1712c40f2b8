"""Whether a database may be used: the newest revision, and on PostgreSQL a role that cannot pass by its policies.

Everything that is wrong is found at once, each in a sentence with what mends it.
"""

import re
from collections.abc import Iterable

from sqlalchemy import Row, text

from gateway.errors import StartError
from gateway.store.database import Database, Session
from gateway.store.grants import REVISIONS
from gateway.store.isolation import LISTED, POLICY, TENANTS
from gateway.store.migrating import current, is_known, newest
from gateway.store.schema import APPEND_ONLY, TENANT_TABLES

_ANOTHER = "let the gateway log in with a role that `tollhouse db sql` makes"
UPGRADE = "run `tollhouse db upgrade`"


async def check(database: Database) -> None:
    """Return when the database may be used. Raises `StartError` with all that is wrong, and `StoreDown`."""
    found = await problems(database)
    if len(found) == 1:
        raise StartError(found[0])
    if found:
        raise StartError("the database cannot be used as it is; correct what is listed", tuple(found))


async def problems(database: Database) -> list[str]:
    """All that is wrong with the database, a sentence each; empty when it may be used. Raises `StoreDown`."""
    settings = database.settings
    if settings.is_sqlite and not settings.path.exists():
        return [f"there is no database {settings.path}; {UPGRADE}"]
    async with database.nobody() as session:
        if settings.is_sqlite:
            return _of_revision(await session.run(current))
        return await _of_postgresql(session)


async def _of_postgresql(session: Session) -> list[str]:
    role = (await session.execute(text(_ROLE))).one()
    tables = {row.name: row for row in await session.execute(text(_TABLES), {"names": [*TENANT_TABLES, REVISIONS]})}
    if found := _of_role(role) or _of_owner(role, tables.values()):
        return found
    if (revisions := tables.get(REVISIONS)) is not None and not revisions.may_select:
        return [f"the role {role.name} may not read {REVISIONS}; {UPGRADE} with --app-role {role.name}"]
    if wrong := _of_revision(await session.run(current)):
        return wrong
    policies = await session.execute(text(_POLICIES), {"names": list(TENANT_TABLES)})
    ours = [tables[name] for name in TENANT_TABLES]
    return [*_of_security(ours), *_of_policies(policies), *_of_rights(role, ours)]


def _of_revision(revision: str) -> list[str]:
    wanted = newest()
    if revision == wanted:
        return []
    if not revision:
        return [f"the database has no schema; {UPGRADE}"]
    if not is_known(revision):
        return [f"the database is at revision {revision}, which this gateway does not know; deploy a newer gateway"]
    return [f"the database is at revision {revision} and this gateway needs {wanted}; {UPGRADE}"]


# Membership counts as much as the right itself: who is a member can SET ROLE.
_ROLE = """
SELECT r.rolname AS name, r.rolsuper AS is_superuser,
  ARRAY(SELECT o.rolname::text FROM pg_catalog.pg_roles o
        WHERE (o.rolsuper OR o.rolbypassrls) AND pg_has_role(r.oid, o.oid, 'MEMBER') ORDER BY 1) AS passes_by
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
"""
_TABLES = """
SELECT c.relname::text AS name, c.relrowsecurity AND c.relforcerowsecurity AS is_secured,
  pg_has_role(current_user, c.relowner, 'MEMBER') AS is_owned,
  has_table_privilege(c.oid, 'SELECT') AS may_select,
  has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AS may_write,
  has_table_privilege(c.oid, 'TRUNCATE') OR has_table_privilege(c.oid, 'TRIGGER') AS may_pass_by,
  has_table_privilege(c.oid, 'UPDATE') OR has_table_privilege(c.oid, 'DELETE') AS may_change
FROM pg_catalog.pg_class c
WHERE c.relname = ANY(:names) AND c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
"""
_IS_OWN = re.compile(
    r"\(tenant = \( SELECT NULLIF\(current_setting\('app\.tenant'::text, true\), ''::text\) AS \"?nullif\"?\)\)"
)
"""`isolation.CURRENT_TENANT` as PostgreSQL says it."""
_POLICIES = """
SELECT p.tablename::text AS table, p.policyname::text AS name, p.cmd AS command,
  coalesce(p.qual, '') AS using, coalesce(p.with_check, '') AS check
FROM pg_catalog.pg_policies p WHERE p.tablename = ANY(:names) AND p.schemaname = current_schema()
"""


def _of_role(role: Row[tuple[object, ...]]) -> list[str]:
    if role.is_superuser:
        return [f"the role {role.name} is a superuser, whom no policy holds; {_ANOTHER}"]
    if role.name in role.passes_by:
        return [f"the role {role.name} passes by row-level security; ALTER ROLE {role.name} NOBYPASSRLS"]
    return [
        f"the role {role.name} can become {other}, whom no policy holds; REVOKE {other} FROM {role.name}"
        for other in role.passes_by
    ]


def _of_owner(role: Row[tuple[object, ...]], tables: Iterable[Row[tuple[object, ...]]]) -> list[str]:
    owned = sorted(table.name for table in tables if table.is_owned)
    if not owned:
        return []
    names = ", ".join(owned)
    return [f"the role {role.name} owns {names}, or can become who does, and could take the policies away; {_ANOTHER}"]


def _of_security(tables: Iterable[Row[tuple[object, ...]]]) -> list[str]:
    return [
        f"row-level security of {table.name} is off; "
        f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY"
        for table in tables
        if not table.is_secured
    ]


def _of_policies(policies: Iterable[Row[tuple[object, ...]]]) -> list[str]:
    """Policies add up: one more that is wider lets everything through."""
    kept, wrong = set(), []
    for policy in policies:
        is_ours = _IS_OWN.fullmatch(policy.using) is not None and policy.check == policy.using
        if policy.name == POLICY and policy.command == "ALL" and is_ours:
            kept.add(policy.table)
        elif (policy.table, policy.name, policy.command) != (TENANTS, LISTED, "SELECT"):
            wrong.append(f"the policy {policy.name} is not ours; DROP POLICY {policy.name} ON {policy.table}")
    missing = [table for table in TENANT_TABLES if table not in kept]
    return wrong + [f"{table} has lost its policy {POLICY}; see `tollhouse db sql` for it" for table in missing]


def _of_rights(role: Row[tuple[object, ...]], tables: Iterable[Row[tuple[object, ...]]]) -> list[str]:
    found = []
    for table in tables:
        if table.may_pass_by or (table.name in APPEND_ONLY and table.may_change):
            found.append(f"the role {role.name} may do more to {table.name} than a gateway needs")
        elif not table.may_write:
            found.append(f"the role {role.name} may not write {table.name}")
    return [f"{sentence}; {UPGRADE} with --app-role {role.name}" for sentence in found]
