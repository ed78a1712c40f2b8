"""A whole gateway, in a child of a nursery, that a suite has prepared to fail. Its vendor is `fakes.effects`."""

import asyncio
import functools
import os
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from fakes.adapter import FakeAdapter
from fakes.effects import PATH
from fakes.engine import FakeEngine
from fakes.served import settings_in
from faults.suites import disk, kill_points
from faults.suites.nursery import told

import gateway.app
from adapters.base import Invocation, Output
from gateway.settings.limits import LimitSettings
from gateway.settings.parts import AuditSettings

SMALLEST_BYTES = 64 * 1024
"""Audit files that are full after some sixty lines."""
UNLIMITED = LimitSettings.model_validate({"caller": {"per_minute": 1_000_000, "burst": 1_000_000}})


class Caller(FakeAdapter):
    """Asks the vendor for every write or send; a read is answered from here."""

    def __init__(self, socket: str) -> None:
        super().__init__()
        self._socket = socket

    async def _invoke(self, invocation: Invocation) -> Output:
        if "text" in invocation.arguments:
            return Output(receipt="Read.")
        kill_points.at("asked")
        effect = {"effect_id": invocation.effect_id, "key": invocation.arguments["body"]}
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(self._socket), trust_env=False) as session,
            session.post(f"http://vendor{PATH}", data=orjson.dumps(effect)) as response,
        ):
            # Its answer has come in; not a byte of it has been read.
            kill_points.at("acted")
            response.raise_for_status()
            await response.read()
        return Output(receipt="Done.")


def main(options: dict[str, Any]) -> None:
    """Serve until SIGTERM, or until the point at which it is to die."""
    folder = Path(options["folder"])
    kill_points.install(folder, options)
    disk.install(folder, options)
    gateway.app.build_gateway = functools.partial(
        gateway.app.build_gateway, adapters={"fake": Caller(options["vendor"])}, engine=FakeEngine()
    )
    settings = settings_in(folder, audit=AuditSettings(segment_bytes=SMALLEST_BYTES), limits=UNLIMITED)
    asyncio.run(gateway.app.run(settings, lambda _: told("ready", os.getpid())))
