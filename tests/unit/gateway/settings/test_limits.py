"""Rates, and who counts."""

import pytest

from gateway.settings.limits import LimitSettings, RedisSettings, WhenDownSettings


def test_without_settings_nothing_passes_uncounted() -> None:
    """Every rule is closed, and this process counts."""
    limits = LimitSettings()
    assert limits.redis is None
    assert {value for name, value in WhenDownSettings() if name != "replicas"} == {"closed"}


@pytest.mark.parametrize(
    "url", ["rediss://cache.corp.example:6380/1", "redis://127.0.0.1:6379", "unix:/run/valkey.sock"]
)
def test_servers_that_may_count(url: str) -> None:
    """Encrypted, or on this machine."""
    assert RedisSettings(url=url).url == url
