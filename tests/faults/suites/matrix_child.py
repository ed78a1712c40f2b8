"""A whole gateway of the fail-closed matrix, in a child of a nursery: its parts are real, and its vendor is too."""

import asyncio
import functools
import os
import random
from pathlib import Path
from typing import Any

import orjson
from fakes.adapter import FakeAdapter
from fakes.effects import PATH
from faults.suites import kill_points, matrix_faults
from faults.suites.nursery import told

import gateway.app
from adapters.base import Invocation, Output
from adapters.transport.breaker import Breaker
from adapters.transport.client import Transport
from adapters.transport.guard import Guard
from adapters.transport.messages import Request
from adapters.transport.resolver import SystemResolver
from adapters.transport.urls import WebUrl
from gateway.clock import SystemClock
from gateway.settings.load import Settings

MODULE = "faults.suites.matrix_child"
_NEVER = 1_000_000
"""Failures after which a circuit opens: what is looked for is how each of them is told."""


class Account(FakeAdapter):
    """An account at the vendor at `HOST:PORT`, reached as every adapter reaches one."""

    def __init__(self, address: str) -> None:
        super().__init__()
        clock, host, port = SystemClock(), *address.split(":")
        self._url = WebUrl(text=f"http://{address}{PATH}", scheme="http", host=host, port=int(port), path=PATH)
        self._transport = Transport(
            clock=clock,
            random=random.random,
            guard=Guard.of((address,)),
            resolver=SystemResolver(),
            breaker=Breaker(clock, threshold=_NEVER),
        )

    async def close(self) -> None:
        """Let go of the connections."""
        await self._transport.close()

    async def _invoke(self, invocation: Invocation) -> Output:
        asked = invocation.arguments
        body = None
        if "text" not in asked:
            body = orjson.dumps({"effect_id": invocation.effect_id, "key": asked.get("path", asked.get("body"))})
        response = await self._transport.send(
            Request(
                method="GET" if body is None else "POST",
                url=self._url,
                headers={"Content-Type": "application/json"},
                body=body,
                deadline=invocation.deadline,
                circuit=invocation.target.name,
                max_bytes=65536,
            )
        )
        if (error := response.error) is not None:
            raise error
        return Output(receipt="Done.")


def main(options: dict[str, Any]) -> None:
    """Serve until SIGTERM."""
    folder = Path(options["folder"])
    kill_points.install(folder, {})
    matrix_faults.install(folder, options["part"], is_open=options["is_open"])
    gateway.app.build_gateway = functools.partial(
        gateway.app.build_gateway, adapters={"fake": Account(options["vendor"])}
    )
    settings = Settings.model_validate(options["settings"])
    asyncio.run(gateway.app.run(settings, lambda _: told("ready", os.getpid())))
