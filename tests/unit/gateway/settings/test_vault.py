"""How the gateway logs in to Vault."""

import pytest
from pydantic import ValidationError

from gateway.settings.vault import SERVICE_ACCOUNT_TOKEN, DynamicSettings, KubernetesAuth, VaultSettings

BASE = {"addresses": ["https://vault.corp.example:8200"], "mounts": [{"path": "secret", "version": 2}]}


@pytest.mark.parametrize(
    "auth",
    [
        {"kind": "token", "token_file": "t"},
        {"kind": "approle", "role_id_file": "r", "secret_id_file": "s"},
        {"kind": "kubernetes", "role": "gateway"},
    ],
)
def test_each_way_to_log_in(auth: dict[str, str]) -> None:
    """Secrets are named by their files and never stand in the settings."""
    assert VaultSettings.model_validate({**BASE, "auth": auth}).auth.kind == auth["kind"]


def test_in_a_pod_the_service_account_is_the_proof() -> None:
    """Where Kubernetes puts it."""
    assert KubernetesAuth(kind="kubernetes", role="gateway").token_file == SERVICE_ACCOUNT_TOKEN


def test_it_keeps_credentials_or_makes_them() -> None:
    """One of both at least; engines that make them are named one by one, and each call has its own unless told."""
    auth = {"kind": "kubernetes", "role": "gateway"}
    dynamic = VaultSettings.model_validate(
        {"addresses": BASE["addresses"], "auth": auth, "dynamic": {"engines": ["database", "team/db"]}}
    ).dynamic
    assert dynamic == DynamicSettings(engines=("database", "team/db"), pool=False, max_leases=500)
    with pytest.raises(ValidationError, match="under mounts, or an engine"):
        VaultSettings.model_validate({"addresses": BASE["addresses"], "auth": auth})


@pytest.mark.parametrize("engines", [[], ["*"], ["../sys"], [""], ["db/"]])
def test_an_engine_is_a_path(engines: list[str]) -> None:
    """Not a pattern."""
    with pytest.raises(ValidationError):
        DynamicSettings.model_validate({"engines": engines})
