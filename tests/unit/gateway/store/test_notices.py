"""Listening to PostgreSQL (`tests/contract/test_registry_rows.py` has it with a real one)."""

import asyncio
from pathlib import Path

import pytest
from fakes.clock import FakeClock
from real.stores import sqlite_settings

from gateway.settings.store import StoreSettings
from gateway.store.notices import RETRY_SECONDS, Notices


async def test_a_server_that_is_away_is_tried_again(tmp_path: Path) -> None:
    """It raises nothing, says nothing and can be stopped."""
    clock, heard = FakeClock(), []
    notices = Notices(StoreSettings(url="postgresql://127.0.0.1:1/none", user="x"), clock, lambda: heard.append(1))
    notices.start()
    notices.start()
    async with asyncio.timeout(5):
        for tries in (1, 2):
            while len(clock.slept) < tries:
                await asyncio.sleep(0.005)
            clock.advance(RETRY_SECONDS)
    assert (notices.is_connected, heard) == (False, [])
    await notices.stop()
    await notices.stop()


async def test_a_file_tells_nothing(tmp_path: Path) -> None:
    """SQLite has nobody to listen to."""
    notices = Notices(await sqlite_settings(tmp_path), FakeClock(), pytest.fail)
    notices.start()
    await asyncio.sleep(0)
    assert not notices.is_connected
    await notices.stop()
