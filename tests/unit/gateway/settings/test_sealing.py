"""What seals."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.settings.sealing import SealingSettings, TransitSettings


def test_one_of_two_or_neither() -> None:
    """Both would leave open which one holds."""
    assert SealingSettings() == SealingSettings(key_file=None, transit=None)
    with pytest.raises(ValidationError, match="not both"):
        SealingSettings(key_file=Path("seal.key"), transit=TransitSettings())


@pytest.mark.parametrize("key", ["tollhouse", "", "{agent}", "a/{tenant}", "{tenant}{tenant}", "{tenant}/../x"])
def test_a_name_without_the_tenant_or_with_more_than_a_name_is_refused(key: str) -> None:
    """One key for all would be one tenant's for the others."""
    with pytest.raises(ValidationError):
        TransitSettings(key=key)


@pytest.mark.parametrize("mount", ["../sys", "", "/transit", "a//b", "a b"])
def test_a_mount_is_a_path(mount: str) -> None:
    """And nothing that an HTTP client would read in another way."""
    with pytest.raises(ValidationError):
        TransitSettings(mount=mount)


def test_a_relative_path_counts_from_the_settings_file() -> None:
    """As every other."""
    assert SealingSettings(key_file=Path("seal.key")).anchored(Path("/etc/t")).key_file == Path("/etc/t/seal.key")
