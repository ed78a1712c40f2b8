"""Write `docs/settings.md` from the settings themselves, or with --check say whether it is up to date.

usage: python docs/generate.py [--check]
"""

import pathlib
import sys
import typing

import pydantic
from pydantic_core import PydanticUndefined

from gateway.settings import limits, listeners, load, parts, policy, vault

PAGE = pathlib.Path(__file__).parent / "settings.md"
INTRODUCTION = """# Settings

One YAML file, given to `tollhouse serve --config FILE`. Relative paths count from its folder. Unknown and duplicate
keys are errors; all problems are reported at once, each with file, line and rule. This page is generated.
"""
PARTS = [
    load.Settings,
    listeners.Listener,
    listeners.TlsSettings,
    listeners.FixedIdentity,
    listeners.JwtIdentity,
    listeners.MtlsIdentity,
    listeners.Peer,
    listeners.NoIdentity,
    listeners.MetricsSettings,
    parts.RegistrySettings,
    policy.PolicySettings,
    policy.BundleSettings,
    policy.OpaSettings,
    parts.CredentialGrant,
    vault.VaultSettings,
    vault.VaultMount,
    vault.TokenAuth,
    vault.AppRoleAuth,
    vault.KubernetesAuth,
    parts.NetworkSettings,
    limits.LimitSettings,
    limits.RateSettings,
    limits.RedisSettings,
    limits.WhenDownSettings,
    parts.ArgumentSettings,
    parts.AuditSettings,
    parts.ServerSettings,
]


def page() -> str:
    """The whole page."""
    return INTRODUCTION + "".join(section(part) for part in PARTS)


def section(part: type[pydantic.BaseModel]) -> str:
    """One part: what it is, and a row for each key."""
    rows = [row(name, field) for name, field in part.model_fields.items()]
    doc = " ".join((part.__doc__ or "").split())
    table = "\n".join(["| key | default | meaning |", "|---|---|---|", *rows])
    return f"\n## {part.__name__}\n\n{doc}\n\n{table}\n"


def row(name: str, field: typing.Any) -> str:
    """One key."""
    meaning = " ".join((field.description or "").split()).replace("|", "\\|")
    return f"| `{name}` | {default(field)} | {meaning} |"


def default(field: typing.Any) -> str:
    """What holds when the key is left out."""
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, pydantic.BaseModel):
        return f"see {type(value).__name__}"
    if value is None or value in ((), "", {}):
        return "none"
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{value}`"


def main() -> None:
    """Write, or compare."""
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit("docs/settings.md is not what the settings say; run: .venv/bin/python docs/generate.py")


if __name__ == "__main__":
    main()
