"""Settings of handles and artifacts."""

import pytest
from pydantic import ValidationError

from gateway.settings.handles import ArtifactSettings, HandleSettings


def test_an_effect_is_kept_a_day_and_a_read_an_hour() -> None:
    """When nothing is said."""
    settings = HandleSettings()
    assert (settings.keep_seconds, settings.keep_read_seconds) == (86_400, 3600)


def test_artifacts_can_be_turned_off() -> None:
    """With a bound of nothing."""
    assert ArtifactSettings(max_bytes=0).max_bytes == 0


@pytest.mark.parametrize(
    "wrong", [{"max_bytes": 2, "tenant_bytes": 1}, {"tenant_bytes": 5, "total_bytes": 4, "max_bytes": 1}]
)
def test_bounds_that_contradict_each_other_are_refused(wrong: dict[str, int]) -> None:
    """One that can never be reached was meant otherwise."""
    with pytest.raises(ValidationError, match="may not exceed"):
        ArtifactSettings(**wrong)
