"""The manifest that is shipped: its form, and that the settings in it can be used."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.settings.listeners import Listener, Service
from gateway.settings.load import Settings, load_settings
from gateway.settings.part import Part

MANIFEST = Path(__file__).parent.parent.parent / "deploy" / "kubernetes" / "sidecar.yaml"
AGENT_UID = 10001
SHARED = Path("/run/tollhouse")


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
    assert [(mount["name"], mount["readOnly"]) for mount in agent["volumeMounts"]] == [("agent-socket", True)]
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


@pytest.fixture
def settings(documents: dict[tuple[str, str], Any], tmp_path: Path) -> Settings:
    """The settings in it: they load."""
    file = tmp_path / "tollhouse.yaml"
    file.write_text(documents["ConfigMap", "tollhouse"]["data"]["tollhouse.yaml"], "utf-8")
    return load_settings(file)


def _paths(value: Any) -> Iterator[Path]:
    """Every path in the settings, those of Unix sockets included."""
    if isinstance(value, Path):
        yield value
    elif isinstance(value, str) and value.startswith("unix:"):
        yield Path(value.removeprefix("unix:"))
    elif isinstance(value, Part):
        for _, one in value:
            yield from _paths(one)
    elif isinstance(value, tuple):
        for one in value:
            yield from _paths(one)


def test_what_the_settings_name_is_mounted(settings: Settings, pod: dict[str, Any]) -> None:
    """As whole folders, so that a ConfigMap or Secret that changes arrives; writable where something is written."""
    gateway = next(container for container in pod["initContainers"] if container["name"] == "tollhouse")
    mounts = {Path(mount["mountPath"]): mount for mount in gateway["volumeMounts"]}
    for path in _paths(settings):
        assert [mount for mount in mounts if path.is_relative_to(mount)], path
    assert not [mount for mount in mounts.values() if "subPath" in mount]
    writable = {str(path) for path, mount in mounts.items() if not mount.get("readOnly")}
    assert writable == {"/run/tollhouse", "/var/lib/tollhouse"}
    volumes = {volume["name"] for volume in pod["volumes"]}
    assert {mount["name"] for mount in mounts.values()} <= volumes


def test_the_drain_ends_before_the_pod_does(settings: Settings, pod: dict[str, Any]) -> None:
    """With time left for the agent, which ends first."""
    server = settings.server
    assert server.drain_delay_seconds + server.drain_seconds + 2 < pod["terminationGracePeriodSeconds"] / 2


def _is_shared(listener: Listener) -> bool:
    """Whether another container than the gateway's is to open it."""
    return listener.is_unix and listener.socket_path.is_relative_to(SHARED)


def test_operators_have_a_socket_that_no_other_container_can_see(settings: Settings, pod: dict[str, Any]) -> None:
    """In the gateway's own state directory, for its own user alone; nothing of it is served where the agent is."""
    (control,) = (listener for listener in settings.listeners if listener.name == "control")
    assert control.socket_path.is_relative_to(settings.state_dir)
    assert control.mode == "0600"
    assert Service.TOOL not in control.services
    others = [one for one in (*pod["initContainers"], *pod["containers"]) if one["name"] != "tollhouse"]
    assert not [one for one in others if any(mount["name"] == "state" for mount in one["volumeMounts"])]
    gateway = next(container for container in pod["initContainers"] if container["name"] == "tollhouse")
    environment = {one["name"]: one["value"] for one in gateway["env"]}
    assert environment["TOLLHOUSE_CONTROL_SOCKET"] == str(control.socket_path)


def test_sockets_are_for_the_group_that_the_containers_share(settings: Settings, pod: dict[str, Any]) -> None:
    """Each container is a user of its own, and the folders' group is the pod's fsGroup."""
    assert pod["securityContext"]["fsGroup"] > 0
    assert [listener.mode for listener in settings.listeners if _is_shared(listener)] == ["0660"]
    opa = next(container for container in pod["initContainers"] if container["name"] == "opa")
    assert "--unix-socket-perm=660" in opa["args"]


def test_opa_has_the_bundle_that_is_waited_for(documents: dict[tuple[str, str], Any], settings: Settings) -> None:
    """Under the same name, and signed."""
    assert settings.policy.opa is not None
    configuration = yaml.safe_load(documents["ConfigMap", "opa"]["data"]["opa.yaml"])
    assert configuration["bundles"].keys() == {settings.policy.opa.bundle}
    assert configuration["bundles"][settings.policy.opa.bundle]["signing"]["keyid"] in configuration["keys"]


def test_probes_have_a_listener_without_services(settings: Settings) -> None:
    """Health and nothing else, where the kubelet reaches it."""
    assert [listener.name for listener in settings.listeners if listener.is_for_probes] == ["probes"]
