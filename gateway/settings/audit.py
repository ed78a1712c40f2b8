"""How audit lines are signed, and where they are handed on to."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gateway.settings.part import Part, wrong_url
from gateway.settings.store import StoreSettings

_PATH = r"^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$"
_KEY_NAME = r"^[!-*,-~]{1,128}$"


class TransitKeySettings(Part):
    """An Ed25519 key that a Vault or OpenBao holds and does not give away; `vault` says where it is."""

    mount: str = Field(default="transit", pattern=_PATH, max_length=256)
    """Where the transit engine is mounted."""
    key: str = Field(default="tollhouse-audit", pattern=r"^[A-Za-z0-9_-]{1,128}$")
    """The key's name there."""
    name: str = Field(default="tollhouse/audit", pattern=_KEY_NAME)
    """What the verification key is called: one word."""


class CheckpointSettings(Part):
    """Who signs how far the audit has come, how often, and where that is kept."""

    key_file: Path | None = None
    """A key that `tollhouse audit key` made. Mode 0600."""
    transit: TransitKeySettings | None = None
    """Sign by a transit engine instead."""
    seconds: float = Field(default=60.0, ge=1, le=86_400)
    """How often, when anything was written since; also at a clean stop."""
    copy_to: Path | None = None
    """A file, or a directory that is there, where checkpoints are written as well: best on another machine's disk,
    where whoever can change the audit cannot change them.
    """
    trusted: tuple[str, ...] = ()
    """Verification keys of other replicas, and former ones: whose notes in the store are carried on."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.key_file is None) == (self.transit is None):
            raise ValueError("name either key_file or transit")
        return self


class JsonlSink(Part):
    """Files in the state directory. Always there: the chain is made in them, a restart recovers from them, and
    other sinks catch up from them.
    """

    kind: Literal["jsonl"] = "jsonl"


class StdoutSink(Part):
    """Standard output, a line each, for whoever collects a container's output. Best effort."""

    kind: Literal["stdout"]


class PostgresqlSink(Part):
    """The table `audit_lines`, by a role that may insert and read but neither change nor delete."""

    kind: Literal["postgresql"]
    database: StoreSettings | None = None
    """Where the table is; the gateway's own `store` when left out."""
    timeout_ms: float = Field(default=2000.0, ge=50, le=60_000)
    """How long a batch of lines may take before the sink counts as hung."""

    @model_validator(mode="after")
    def _is_postgresql(self) -> Self:
        if self.database is not None and self.database.is_sqlite:
            raise ValueError("name a database of PostgreSQL")
        return self


class OtlpSink(Part):
    """A collector of OpenTelemetry logs, by OTLP over HTTP in JSON. Best effort."""

    kind: Literal["otlp"]
    url: str
    """Where logs are taken, e.g. `https://collector:4318/v1/logs`; `http://` on loopback."""
    ca_file: Path | None = None
    """Certificates that may vouch for the collector; the machine's own when left out."""
    token_file: Path | None = None
    """Holds a bearer token; read again when it changes."""
    timeout_ms: float = Field(default=2000.0, ge=50, le=60_000)
    """How long a batch of lines may take before the sink counts as hung."""

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if wrong := wrong_url(self.url, "http", "https"):
            raise ValueError(wrong)
        return self


SinkSettings = Annotated[JsonlSink | StdoutSink | PostgresqlSink | OtlpSink, Field(discriminator="kind")]


def wrong_sinks(sinks: tuple[SinkSettings, ...]) -> str:
    """Why lines may not go to these; empty when they may."""
    kinds = [sink.kind for sink in sinks]
    if kinds.count("jsonl") != 1:
        return "jsonl must be among the sinks, once: the chain is made in its files"
    if twice := {kind for kind in kinds if kinds.count(kind) > 1}:
        return f"{min(twice)} is among the sinks twice"
    return ""
