"""Which policy decides, and who evaluates it."""

from pathlib import Path

from pydantic import Field, model_validator

from gateway.settings.part import UNIX, Part, wrong_url


class BundleSettings(Part):
    """A signed bundle for the embedded engine (see `tollhouse policy bundle`)."""

    file: Path | None = None
    """The bundle as a file. Name this or `url`."""
    url: str = ""
    """Where a bundle service gives it out: `https://`, or `http://` on loopback."""
    key_file: Path
    """The public key, PEM, that must have signed it. A bundle without a good signature is never used."""
    scope: str = ""
    """The scope that the signature must name, when it was signed with one."""
    ca_file: Path | None = None
    """Certificates that may vouch for the bundle service; the machine's own when left out."""
    token_file: Path | None = None
    """Holds the bearer token for the bundle service; read again when it changes."""
    is_ordered: bool = True
    """Whether a revision must tell when it was built, as `tollhouse policy bundle build` makes it: then none that is
    older than the newest that ever decided is used again. Without it anybody who can publish can bring an old one back.
    """
    max_age_seconds: float = Field(default=3600.0, gt=0)
    """When the source was last read longer ago than this, nothing is decided any more."""

    @model_validator(mode="after")
    def _has_one_source(self) -> "BundleSettings":
        if (self.file is None) == (not self.url):
            raise ValueError("name either file or url")
        if self.url and (wrong := wrong_url(self.url, "http", "https")):
            raise ValueError(wrong)
        return self


class OpaSettings(Part):
    """An OPA that decides, asked over REST. Let it verify signed bundles, and listen on a socket that no agent's
    user can open: whoever reaches it can read every input and may be able to change the policy.
    """

    url: str
    """`unix:PATH`, `https://HOST:PORT`, or `http://` on loopback."""
    bundle: str = Field(pattern=r"^[A-Za-z0-9_./-]{1,128}$")
    """The name, in OPA's configuration, of the bundle that must be active. Until it is nothing is allowed."""
    is_ordered: bool = True
    """Whether a revision must tell when it was built, as `tollhouse policy bundle build` makes it: then none that is
    older than the newest that ever decided is used again. Without it anybody who can publish can bring an old one back.
    """
    ca_file: Path | None = None
    """Certificates that may vouch for OPA; the machine's own when left out."""
    token_file: Path | None = None
    """Holds a bearer token for OPA; read again when it changes."""
    timeout_ms: float = Field(default=300.0, gt=0, le=5000)
    """How long one decision may take."""
    poll_seconds: float = Field(default=1.0, ge=0.1, le=60)
    """How often OPA is asked which revision is active, and how old it is."""
    max_age_seconds: float = Field(default=900.0, gt=0)
    """When OPA last heard from its bundle service longer ago than this, nothing is decided any more."""

    @model_validator(mode="after")
    def _is_safe(self) -> "OpaSettings":
        if not self.url.startswith(UNIX) and (wrong := wrong_url(self.url, "http", "https")):
            raise ValueError(wrong)
        return self


class PolicySettings(Part):
    """Which Rego decides. Name `paths`, `bundle` or `opa`; the built-in pack decides when none is named."""

    paths: tuple[Path, ...] = ()
    """Folders of `.rego` and of `data.json`/`data.yaml`, for the embedded engine."""
    bundle: BundleSettings | None = None
    """A signed bundle, for the embedded engine."""
    opa: OpaSettings | None = None
    """An OPA beside the gateway."""
    reload_seconds: float = Field(default=2.0, ge=0)
    """How often folders or the bundle are looked at for a change; 0 turns reloading off."""
    max_decision_ms: float = Field(default=10.0, gt=0)
    """A policy that takes the embedded engine longer on the largest arguments of any tool does not load."""

    @model_validator(mode="after")
    def _has_one_source(self) -> "PolicySettings":
        if sum((bool(self.paths), self.bundle is not None, self.opa is not None)) > 1:
            raise ValueError("name one of paths, bundle and opa")
        if self.bundle is not None and not 0 < self.reload_seconds < self.bundle.max_age_seconds:
            raise ValueError(
                "a bundle ages unless it is looked at; let reload_seconds be less than its max_age_seconds"
            )
        return self
