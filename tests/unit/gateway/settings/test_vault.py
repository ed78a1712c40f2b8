"""How the gateway logs in to Vault."""

import pytest

from gateway.settings.vault import SERVICE_ACCOUNT_TOKEN, KubernetesAuth, VaultSettings

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
