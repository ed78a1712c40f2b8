"""Settings are read once and strictly; each way to be wrong has a small file in `cases`."""

import re
from pathlib import Path

import pydantic
import pytest

from gateway.errors import StartError
from gateway.settings.listeners import FixedIdentity, JwtIdentity
from gateway.settings.load import Settings, default_settings, load_settings

CASES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
GOOD = """
state_dir: state
listeners:
- name: agent
  address: unix:run/gateway.sock
  identity: {kind: fixed, tenant: acme, agent: helper}
- name: network
  address: 0.0.0.0:8443
  tls: {cert_file: tls/c.pem, key_file: tls/k.pem}
  identity: {kind: jwt, issuer: i, audience: a, jwks_file: keys.json}
- name: loopback
  address: "[::1]:0"
  identity: {kind: none, tenant: acme, agent: helper}
registry: {paths: [registry, /abs/registry]}
policy:
  opa: {url: "unix:run/opa.sock", bundle: authz}
limits:
  redis: {url: "unix:run/redis.sock", password_file: secrets/redis}
vault:
  addresses: ["https://vault.corp.example:8200"]
  auth: {kind: kubernetes, role: gateway}
  mounts: [{path: team/kv, version: 2}]
metrics: {address: "unix:run/metrics.sock"}
network: {private_targets: ["10.0.3.7:8080", "[fd00::7]:443"]}
"""


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_each_way_to_be_wrong_has_its_file_line_and_rule(path: Path) -> None:
    """Refused as a whole, with one problem that says where."""
    line, rule = path.read_text().splitlines()[-1].removeprefix("# want: ").split()
    with pytest.raises(StartError) as caught:
        load_settings(path)
    (problem,) = caught.value.problems
    assert re.match(rf"{re.escape(str(path))}:{line}: {rule}: .+", problem), problem


def test_all_problems_are_reported_together(tmp_path: Path) -> None:
    """And the sentence above them names the file."""
    file = tmp_path / "settings.yaml"
    file.write_text("listeners: 5\nlog_level: loud\ncolour: red\n")
    with pytest.raises(StartError, match=r"settings\.yaml") as caught:
        load_settings(file)
    assert [problem.split(": ")[1] for problem in caught.value.problems] == [
        "tuple_type",
        "literal_error",
        "unknown_key",
    ]


def test_a_missing_file_is_a_start_error(tmp_path: Path) -> None:
    """In one sentence."""
    with pytest.raises(StartError, match="cannot be used"):
        load_settings(tmp_path / "none.yaml")


def test_relative_paths_count_from_the_files_folder(tmp_path: Path) -> None:
    """Wherever the process was started; absolute ones stay."""
    file = tmp_path / "settings.yaml"
    file.write_text(GOOD)
    settings = load_settings(file)
    assert settings.state_dir == tmp_path / "state"
    assert settings.listeners[0].socket_path == tmp_path / "run/gateway.sock"
    assert isinstance(settings.listeners[1].identity, JwtIdentity)
    assert settings.listeners[1].identity.jwks_file == tmp_path / "keys.json"
    assert settings.registry.paths == (tmp_path / "registry", Path("/abs/registry"))
    assert settings.policy.opa is not None
    assert settings.policy.opa.url == f"unix:{tmp_path / 'run/opa.sock'}"
    assert settings.limits.redis is not None
    assert settings.limits.redis.url == f"unix:{tmp_path / 'run/redis.sock'}"
    assert settings.limits.redis.password_file == tmp_path / "secrets/redis"
    assert settings.listeners[1].tls is not None
    assert settings.listeners[1].tls.cert_file == tmp_path / "tls/c.pem"
    assert settings.metrics is not None
    assert settings.metrics.socket_path == tmp_path / "run/metrics.sock"


def test_relative_paths_do_not_follow_the_link_of_a_configmap(tmp_path: Path) -> None:
    """Each version of a mounted ConfigMap is in a folder of its own: paths into that would differ with every update."""
    mount = tmp_path / "config"
    for version in ("..v1", "..v2"):
        (mount / version).mkdir(parents=True)
        (mount / version / "settings.yaml").write_text(GOOD)
    (mount / "..data").symlink_to("..v1")
    (mount / "settings.yaml").symlink_to("..data/settings.yaml")
    before = load_settings(mount / "settings.yaml")
    assert before.state_dir == mount / "state"
    (mount / "..data").unlink()
    (mount / "..data").symlink_to("..v2")
    assert load_settings(mount / "settings.yaml") == before


def test_the_defaults_are_one_private_socket_and_one_principal() -> None:
    """Nothing on the network, and nobody else on the machine."""
    (listener,) = default_settings(Path("/state")).listeners
    assert (listener.address, listener.mode, listener.is_unix) == ("unix:/state/gateway.sock", "0600", True)
    assert listener.identity == FixedIdentity(kind="fixed", tenant="default", agent="default")
    assert (Settings().credentials, Settings().network.private_targets) == ((), ())


def test_settings_are_frozen() -> None:
    """What was checked at start is what holds."""
    with pytest.raises(pydantic.ValidationError):
        Settings().log_level = "debug"
