"""A gateway that was given no key makes one."""

import stat
from pathlib import Path

import pytest
from fakes.clock import FakeClock

from gateway.errors import StartError
from gateway.sealing.own_key import OwnKeySeal


async def test_the_key_is_made_once_and_for_its_owner_alone(tmp_path: Path) -> None:
    """The next start opens what this one sealed."""
    path = tmp_path / "seal.key"
    first = OwnKeySeal(path, FakeClock().monotonic)
    await first.start()
    sealed = await first.seal("acme", "place", b"plain")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    second = OwnKeySeal(path, FakeClock().monotonic)
    await second.start()
    assert await second.open("acme", "place", sealed) == b"plain"


async def test_where_no_key_can_be_written_nothing_starts(tmp_path: Path) -> None:
    """What is kept would be in the open, or lost."""
    with pytest.raises(StartError):
        await OwnKeySeal(tmp_path / "gone" / "seal.key", FakeClock().monotonic).start()
