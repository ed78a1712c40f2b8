"""Who may do what on PostgreSQL: one role owns the tables, another is what the gateway logs in with."""

import re

from gateway.errors import StartError
from gateway.store.schema import APPEND_ONLY, KEPT, TENANT_TABLES

OWNER = "tollhouse_owner"
APP_ROLE = "tollhouse_app"
REVISIONS = "alembic_version"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def check_name(role: str) -> None:
    """Raises `StartError` unless this is a name that SQL takes without quotes."""
    if not _NAME.fullmatch(role):
        raise StartError(f"{role!r} cannot be a role here; use lower-case letters, digits and underscores")


def roles(owner: str, app_role: str) -> list[str]:
    """The statements that make both roles. Neither has a password yet, so that neither can log in by one."""
    return [
        f"CREATE ROLE {owner} NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE;",
        f"CREATE ROLE {app_role} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB;",
        f"GRANT USAGE, CREATE ON SCHEMA public TO {owner};",
        f"GRANT USAGE ON SCHEMA public TO {app_role};",
        f"GRANT {owner} TO CURRENT_USER;",
    ]


def grants(app_role: str) -> list[str]:
    """The statements that give the gateway's role what it needs, and take away whatever else it was given.

    Never TRUNCATE, which knows no row-level security.
    """
    statements = [f"REVOKE ALL ON {', '.join((*TENANT_TABLES, REVISIONS))} FROM {app_role}"]
    statements += [f"GRANT {_rights(table)} ON {table} TO {app_role}" for table in TENANT_TABLES]
    return [*statements, f"GRANT SELECT ON {REVISIONS} TO {app_role}"]


def _rights(table: str) -> str:
    if table in APPEND_ONLY:
        return "SELECT, INSERT"
    return "SELECT, INSERT, UPDATE" if table in KEPT else "SELECT, INSERT, UPDATE, DELETE"
