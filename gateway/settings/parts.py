"""The smaller parts of the settings."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from gateway.settings.audit import CheckpointSettings, JsonlSink, SinkSettings, wrong_sinks
from gateway.settings.part import Part, is_address


class CredentialGrant(Part):
    """Which references a tenant's connections may use, and which hosts may receive what they resolve to."""

    tenant: str
    """Whose connections this is for."""
    references: tuple[str, ...] = Field(min_length=1)
    """Patterns in which `*` stands for anything but `/`, e.g. `file:/run/secrets/acme/*`."""
    hosts: tuple[str, ...] = Field(min_length=1)
    """`HOST` or `HOST:PORT`, exact; `*.HOST` for its subdomains."""


class NetworkSettings(Part):
    """Where adapters may connect beyond the public internet."""

    private_targets: tuple[str, ...] = ()
    """Exact `ADDRESS:PORT` pairs, e.g. `10.0.3.7:8080` or `[fd00::7]:443`."""
    ca_file: Path | None = None
    """Certificates (PEM) that may vouch for the servers of connections besides the machine's own, such as those of
    internal services.
    """

    @field_validator("private_targets")
    @classmethod
    def _are_exact(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        for target in targets:
            host, _, port = target.rpartition(":")
            if not is_address(host) or not port.isdecimal() or not 0 < int(port) <= 65535:
                raise ValueError(f"{target!r} is not an exact ADDRESS:PORT")
        return targets


class RegistrySettings(Part):
    """Where tools, connections and agents come from."""

    source: Literal["files", "store"] = "files"
    """`files`: manifests. `store`: rows of the database, which RegistryService and `tollhouse registry apply` change
    while the gateway runs.
    """
    paths: tuple[Path, ...] = ()
    """Files and folders; nothing but what the adapters bring when empty, and then no agent sees a tool."""
    reload_seconds: float = Field(default=2.0, ge=0)
    """How often manifests and the settings file are looked at for a change; 0 turns it off. SIGHUP looks at once.
    What was refused is tried again once a minute.
    """
    max_stale_seconds: float = Field(default=10.0, ge=1, le=3600)
    """When the database was last heard longer ago than this, nobody knows what was changed or stopped since: what
    writes or sends is refused, what reads goes on.
    """

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if self.source == "store" and self.paths:
            raise ValueError("with source `store` no paths are read; bring them in by `tollhouse registry apply`")
        return self


class ArgumentSettings(Part):
    """How large arguments may be."""

    max_bytes: int = Field(default=1024 * 1024, ge=1024, le=4 * 1024 * 1024)
    """Bytes of JSON in one call."""


class AuditSettings(Part):
    """Where and how lines are kept."""

    segment_bytes: int = Field(default=64 * 1024 * 1024, ge=64 * 1024)
    """A file that has grown beyond this is closed and the next one begun."""
    commit_delay_ms: float = Field(default=4.0, ge=0, le=50)
    """How long a line waits for others to share its sync while calls are being worked on."""
    checkpoints: CheckpointSettings | None = None
    """Who signs how far the audit has come; nobody when left out, and then lines can be cut off its end unseen."""
    sinks: tuple[SinkSettings, ...] = (JsonlSink(),)
    """Where lines go. An answer waits for the files of `jsonl`; the others follow, and catch up from the files."""

    @field_validator("sinks")
    @classmethod
    def _are_usable(cls, sinks: tuple[SinkSettings, ...]) -> tuple[SinkSettings, ...]:
        if wrong := wrong_sinks(sinks):
            raise ValueError(wrong)
        return sinks


class ServerSettings(Part):
    """The server's own bounds."""

    max_call_seconds: float = Field(default=120.0, gt=0)
    """The longest that any call may take, whatever its caller or tool says."""
    drain_seconds: float = Field(default=10.0, ge=0)
    """On SIGTERM: how long calls in flight may take to finish."""
    drain_delay_seconds: float = Field(default=0.0, ge=0, le=3600)
    """On SIGTERM: how long calls are still taken before the drain, for agents that end later. Health says
    NOT_SERVING from the signal on.
    """
    max_connection_age_seconds: float = Field(default=3600.0, ge=1)
    """How long a TLS connection lasts before the caller must connect, and prove who it is, again."""
