"""The smaller parts."""

from pathlib import Path

import pydantic
import pytest

from gateway.settings.parts import NetworkSettings, RegistrySettings, ServerSettings


def test_private_targets_are_exact() -> None:
    """Addresses with ports, of both families."""
    targets = ("10.0.3.7:8080", "[fd00::7]:443")
    assert NetworkSettings(private_targets=targets).private_targets == targets


@pytest.mark.parametrize("target", ["10.0.0.0/8", "corp.example:80", "10.0.3.7", "10.0.3.7:0", "10.0.3.7:65536"])
def test_anything_wider_is_refused(target: str) -> None:
    """A name could lead anywhere, and a network is not one service."""
    with pytest.raises(pydantic.ValidationError):
        NetworkSettings(private_targets=(target,))


def test_a_drain_without_settings_is_short_and_without_delay() -> None:
    """A native sidecar is told to end after its agent; nobody needs the delay there."""
    assert (ServerSettings().drain_seconds, ServerSettings().drain_delay_seconds) == (10.0, 0.0)


def test_a_registry_has_one_source() -> None:
    """Files that nobody would read are not named."""
    assert RegistrySettings().source == "files"
    assert RegistrySettings(source="store").max_stale_seconds == 10.0
    with pytest.raises(pydantic.ValidationError, match="registry apply"):
        RegistrySettings(source="store", paths=(Path("registry"),))
