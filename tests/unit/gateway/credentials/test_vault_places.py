"""Where mounts end and paths begin."""

from pathlib import Path

import pytest

from gateway.clients.vault_answers import SecretPlace
from gateway.credentials.vault_places import Places
from gateway.references import BadReference
from gateway.settings.vault import TokenAuth, VaultMount, VaultSettings

SETTINGS = VaultSettings(
    addresses=("http://127.0.0.1:8200",),
    auth=TokenAuth(kind="token", token_file=Path("/run/token")),
    mounts=(
        VaultMount(path="secret", version=2),
        VaultMount(path="team", version=1),
        VaultMount(path="team/kv", version=2),
    ),
    namespace="base",
    namespaces={"acme": "base/acme"},
)


@pytest.mark.parametrize(
    ("name", "mount", "version", "path"),
    [
        ("secret/app#pw", "secret", 2, "app"),
        ("secret/deep/app#pw", "secret", 2, "deep/app"),
        ("team/kv/app#pw", "team/kv", 2, "app"),
        ("team/kv#pw", "team", 1, "kv"),
        ("team/kvx/app#pw", "team", 1, "kvx/app"),
    ],
)
def test_the_longest_mount_by_whole_segments(name: str, mount: str, version: int, path: str) -> None:
    """`team/kv` is no beginning of `team/kvx`, and a mount alone is no secret."""
    place = Places(SETTINGS).find("other", name)
    assert place == (SecretPlace(namespace="base", mount=mount, version=version, path=path), "pw")


@pytest.mark.parametrize("name", ["secrets/app#pw", "sys/health#pw", "kv/team/app#pw", "secretx/app#pw"])
def test_what_no_mount_of_the_settings_begins_is_nowhere(name: str) -> None:
    """Whatever the server has mounted there."""
    assert Places(SETTINGS).find("acme", name) is None


def test_a_tenant_may_have_a_namespace_of_its_own() -> None:
    """The others share one."""
    places = Places(SETTINGS)
    found = [places.find(tenant, "secret/app#pw") for tenant in ("acme", "other")]
    assert [place.secret.namespace for place in found if place] == ["base/acme", "base"]


@pytest.mark.parametrize("name", ["secret/../team/app#pw", "secret/app", "secret/a%2fb#pw", "secret/a?b#pw"])
def test_an_odd_name_is_refused_before_any_mount_is_looked_for(name: str) -> None:
    """A server might read it in another way than we do."""
    with pytest.raises(BadReference):
        Places(SETTINGS).find("acme", name)
