"""Where the gateway keeps what must outlive it: registry, keys, calls, approvals, budgets."""

from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from gateway.settings.part import Part, is_loopback

SQLITE = "sqlite:"
POSTGRESQL = "postgresql:"
POSTGRESQL_PORT = 5432


class StoreSettings(Part):
    """The database. SQLite holds one tenant and one gateway; PostgreSQL holds many, also behind PgBouncer in
    transaction mode.
    """

    url: str
    """`sqlite:PATH`, or `postgresql://HOST/DATABASE` with `:PORT` when it is not 5432. Beyond loopback the
    connection is encrypted and the server proves its name.
    """
    user: str = Field(default="", max_length=63, pattern=r"^[A-Za-z0-9_.@-]*$")
    """The role to log in with, of PostgreSQL. It may neither own the tables nor pass by row-level security."""
    password_file: Path | None = None
    """Holds its password; read again at every new connection."""
    ca_file: Path | None = None
    """Certificates that may vouch for the server; the machine's own when left out. Encrypts on loopback too."""
    pool_size: int = Field(default=8, ge=1, le=200)
    """Connections at most. Who finds none free waits for one."""
    timeout_ms: float = Field(default=2000.0, ge=50, le=60_000)
    """How long a transaction may take, and the wait for a connection with it."""

    @model_validator(mode="after")
    def _is_usable(self) -> Self:
        if wrong := self._wrong_path() if self.is_sqlite else _wrong_server(self.url):
            raise ValueError(wrong)
        if not self.is_sqlite and not self.user:
            raise ValueError("name the user that the gateway logs in with")
        return self

    @property
    def is_sqlite(self) -> bool:
        """Whether this is a file."""
        return self.url.startswith(SQLITE)

    @property
    def path(self) -> Path:
        """The file of SQLite."""
        return Path(self.url.removeprefix(SQLITE))

    @property
    def server(self) -> tuple[str, int, str]:
        """Host, port and database of PostgreSQL."""
        parts = urlsplit(self.url)
        return parts.hostname or "", parts.port or POSTGRESQL_PORT, parts.path.removeprefix("/")

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection to PostgreSQL has to be TLS."""
        return self.ca_file is not None or not is_loopback(self.server[0])

    def anchored(self, base: Path) -> Self:
        """The same with the file of SQLite, and every other relative path, made absolute from `base`."""
        made = super().anchored(base)
        return made.model_copy(update={"url": f"{SQLITE}{base / self.path}"}) if self.is_sqlite else made

    def _wrong_path(self) -> str:
        if not self.path.name or "?" in self.url or self.url.startswith("sqlite://"):
            return f"{self.url!r} is not sqlite:PATH"
        only_of_servers = self.user or self.password_file or self.ca_file
        return "user, password_file and ca_file are for PostgreSQL; leave them out" if only_of_servers else ""


def _wrong_server(url: str) -> str:
    """Why this is no address of a database; empty when it is. What is in the URL never stands in the sentence
    when it may hold a password.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "the address is neither sqlite:PATH nor postgresql://HOST/DATABASE"
    if parts.username is not None or parts.password is not None:
        return "the address must not hold a user or a password; name user and password_file"
    if parts.scheme != POSTGRESQL.removesuffix(":") or not host or not url.isprintable():
        return "the address is neither sqlite:PATH nor postgresql://HOST/DATABASE"
    if parts.query or parts.fragment:
        return "the address takes no options; what can be set has a key of its own"
    database = parts.path.removeprefix("/")
    return "" if database and "/" not in database else "the address must name one database: postgresql://HOST/DATABASE"
