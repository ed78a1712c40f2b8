"""The manifest that is shipped: its form, and that the settings in it can be used."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.settings.load import load_settings

MANIFEST = Path(__file__).parent.parent.parent / "deploy" / "kubernetes" / "sidecar.yaml"
AGENT_UID = 10001


@pytest.fixture
def documents() -> dict[tuple[str, str], Any]:
    """Each document by kind and name."""
    found = yaml.safe_load_all(MANIFEST.read_text("utf-8"))
    return {(document["kind"], document["metadata"]["name"]): document for document in found}


@pytest.fixture
def pod(documents: dict[tuple[str, str], Any]) -> dict[str, Any]:
    """The pod of the deployment."""
    spec: dict[str, Any] = documents["Deployment", "reporter"]["spec"]["template"]["spec"]
    return spec


def test_g20_the_gateway_is_a_native_sidecar(pod: dict[str, Any]) -> None:
    """Init containers that keep running start before the agent and end after it; the agent waits for a policy."""
    sidecars = {container["name"]: container for container in pod["initContainers"]}
    assert set(sidecars) == {"opa", "tollhouse"}
    assert {container["restartPolicy"] for container in sidecars.values()} == {"Always"}
    assert sidecars["tollhouse"]["startupProbe"]["grpc"]["port"] == 8086
    assert [container["name"] for container in pod["containers"]] == ["agent"]


def test_the_agent_reaches_the_socket_and_nothing_else(pod: dict[str, Any]) -> None:
    """No policy, no state, no token, and another user than whoever owns them."""
    (agent,) = pod["containers"]
    assert [mount["name"] for mount in agent["volumeMounts"]] == ["agent-socket"]
    users = [one["securityContext"]["runAsUser"] for one in (*pod["initContainers"], agent)]
    assert len(set(users)) == 3
    assert agent["securityContext"]["runAsUser"] == AGENT_UID
    assert pod["automountServiceAccountToken"] is False


def test_opa_decides_on_a_socket_only(pod: dict[str, Any]) -> None:
    """Every container of a pod shares its loopback."""
    opa = next(container for container in pod["initContainers"] if container["name"] == "opa")
    addresses = [argument for argument in opa["args"] if argument.startswith("--addr")]
    assert addresses == ["--addr=unix:///run/opa/opa.sock"]


def test_every_container_is_confined(pod: dict[str, Any]) -> None:
    """No privileges to gain, nothing to write but what is mounted."""
    for container in (*pod["initContainers"], *pod["containers"]):
        security = container["securityContext"]
        assert security["readOnlyRootFilesystem"] is True
        assert security["allowPrivilegeEscalation"] is False
        assert security["capabilities"] == {"drop": ["ALL"]}


def test_the_settings_in_it_can_be_used(documents: dict[tuple[str, str], Any], tmp_path: Path) -> None:
    """They load, and what they name is mounted."""
    file = tmp_path / "tollhouse.yaml"
    file.write_text(documents["ConfigMap", "tollhouse"]["data"]["tollhouse.yaml"], "utf-8")
    settings = load_settings(file)
    assert settings.policy.opa is not None
    assert yaml.safe_load(documents["ConfigMap", "opa"]["data"]["opa.yaml"])["bundles"].keys() == {
        settings.policy.opa.bundle
    }
    assert [listener.name for listener in settings.listeners if listener.is_for_probes] == ["probes"]
