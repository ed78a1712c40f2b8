"""How often, and who counts."""

import re
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from gateway.settings.part import UNIX, Part, wrong_url

WhenDown = Literal["closed", "open", "local"]


class RateSettings(Part):
    """At most `burst` at once and `per_minute` in the long run."""

    per_minute: float = Field(gt=1e-6, le=1e9)
    """In the long run."""
    burst: int = Field(ge=1, le=1_000_000_000)
    """At once."""


class RedisSettings(Part):
    """A Redis or Valkey that counts for every replica. Without one each process counts for itself."""

    url: str
    """`rediss://HOST:PORT/DB`, `redis://` on loopback, or `unix:PATH`."""
    username: str = ""
    """The user, when the server has more than the default one."""
    password_file: Path | None = None
    """Holds the password; read at every new connection."""
    ca_file: Path | None = None
    """Certificates that may vouch for the server; the machine's own when left out."""
    cluster: bool = False
    """Whether the server is a Redis Cluster."""
    prefix: str = Field(default="tollhouse", pattern=r"^[a-z0-9_-]{1,32}$")
    """Begins every key, so that several deployments can share one server."""
    timeout_ms: float = Field(default=50.0, gt=0, le=1000)
    """How long one answer may take. A server that does not answer costs this once, and then nothing for a second."""

    @model_validator(mode="after")
    def _is_safe(self) -> "RedisSettings":
        if not self.url.startswith(UNIX) and (wrong := wrong_url(self.url, "redis", "rediss")):
            raise ValueError(wrong)
        if self.cluster and self.url.startswith(UNIX):
            raise ValueError("a cluster is not reached by a Unix socket")
        place = urlsplit(self.url)
        database = place.path.removeprefix("/")
        if not self.url.startswith(UNIX) and (place.query or not re.fullmatch(r"[0-9]{0,4}", database, re.ASCII)):
            raise ValueError(f"{self.url!r} may end in the number of a database and in nothing else")
        if self.cluster and int(database or 0):
            raise ValueError("a cluster has database 0 alone")
        return self


class WhenDownSettings(Part):
    """What becomes of reads while Redis does not answer, by rule: `closed` refuses them, `open` lets them pass,
    `local` counts in this process with the rate divided by `replicas`. Each is counted. Writes and sends are
    always refused.
    """

    tenant: WhenDown = "closed"
    """The rate of a tenant."""
    agent: WhenDown = "closed"
    """The rates of an agent: the one for all and that of its row."""
    tool: WhenDown = "closed"
    """The rate of a tool's row."""
    connection: WhenDown = "closed"
    """The rate of a connection's row."""
    policy: WhenDown = "closed"
    """The rates that policy adds to a call."""
    replicas: int = Field(default=1, ge=1, le=10_000)
    """By how many `local` divides."""


class LimitSettings(Part):
    """Rates that hold for everybody; rows of the registry add their own."""

    caller: RateSettings = RateSettings(per_minute=1200, burst=200)
    """All requests of one principal, refused ones included. Each process counts for itself."""
    tenant: RateSettings | None = None
    """All calls of one tenant."""
    agent: RateSettings | None = None
    """All calls of one agent, beside the rate of its own row."""
    max_in_flight: int = Field(default=1000, ge=1)
    """Calls in the gateway at once; more are turned away with RESOURCE_EXHAUSTED. Raised without a restart, no more
    than some twice the number of the start reach it.
    """
    redis: RedisSettings | None = None
    """Who counts for every replica; this process alone when left out."""
    when_down: WhenDownSettings = WhenDownSettings()
    """What becomes of reads while nobody can count."""
