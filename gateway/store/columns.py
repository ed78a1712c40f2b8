"""The kinds of columns, and how constraints are named, alike on both databases."""

from datetime import UTC, datetime

from sqlalchemy import BigInteger, Column, DateTime, Dialect, ForeignKeyConstraint, LargeBinary, MetaData, Text
from sqlalchemy.types import TypeDecorator

NAMES = {
    # All columns in a name: every key starts with the tenant, so the first would tell none apart.
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
metadata = MetaData(naming_convention=NAMES)


class Moment(TypeDecorator[datetime]):
    """A time in UTC. SQLite drops the zone, so that it is given back here."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """In UTC. Raises `ValueError` for a time without a zone: nobody knows when that is."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a zone cannot be stored")
        moment = value.astimezone(UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """In UTC, whatever the driver made of it."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def moment_of(seconds: float) -> datetime:
    """Seconds since the epoch, as they are stored."""
    return datetime.fromtimestamp(seconds, UTC)


def tenant() -> Column[str]:
    """The first column of every primary key."""
    return Column("tenant", Text, primary_key=True)


def key(name: str) -> Column[str]:
    """A further column of a primary key."""
    return Column(name, Text, primary_key=True)


def text(name: str, *, is_optional: bool = False) -> Column[str]:
    """A text."""
    return Column(name, Text, nullable=is_optional)


def raw(name: str, *, is_optional: bool = False) -> Column[bytes]:
    """Bytes as they are: canonical JSON that is hashed, or what is sealed. Never jsonb, which rewrites it."""
    return Column(name, LargeBinary, nullable=is_optional)


def count(name: str) -> Column[int]:
    """A whole number."""
    return Column(name, BigInteger, nullable=False)


def moment(name: str, *, is_optional: bool = False) -> Column[datetime]:
    """A time."""
    return Column(name, Moment, nullable=is_optional)


def belongs_to(table: str, *columns: str, to: tuple[str, ...] = ()) -> ForeignKeyConstraint:
    """The tenant and these columns name a row of that table; by `to` when its columns have other names.

    Foreign keys are checked past row-level security: without the tenant in it one would reach another's row.
    """
    theirs = [f"{table}.{name}" for name in ("tenant", *(to or columns))]
    return ForeignKeyConstraint(["tenant", *columns], theirs)
