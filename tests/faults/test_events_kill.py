"""kill -9 of a real gateway between the moment at which an event is durable and the answer to who delivered it."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest
from fakes.audit import until
from fakes.child import calling, gateway_process
from fakes.events import SECRET, event_body, headers_of
from fakes.scrapes import Line, connect

from gateway.v1 import tool_service_pb2 as pb

CHILD = """
import asyncio, functools, os, sys
from pathlib import Path
import gateway.app
from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.events import FakeWebhooks
from fakes.path import registry_rows
from fakes.served import settings_in
from gateway.events.kept import KeptEvents
from gateway.settings.events import EventSettings

folder, keep = Path(sys.argv[1]), KeptEvents.keep
vendor, rows = FakeAdapter(), registry_rows()
vendor.webhooks = FakeWebhooks()
rows["connections"].append(
    {"name": "tracker", "tenant": "acme", "vendor": "fake", "hosts": ["api.fake.example"],
     "webhook": {"secret": "env:FAKE_TOKEN"}}
)
rows["agents"][0]["events"] = [{"connection": "tracker", "kinds": ["*"]}]

async def stopping(self, tenant, event):
    number = await keep(self, tenant, event)
    if event.id == "last":
        (folder / "durable").touch()
        await asyncio.Event().wait()
    return number

if "stop" in sys.argv:
    KeptEvents.keep = stopping
gateway.app.build_gateway = functools.partial(gateway.app.build_gateway, adapters={"fake": vendor}, engine=FakeEngine())
settings = settings_in(folder, rows, events=EventSettings(address=f"unix:{folder / 'e.sock'}"))
asyncio.run(gateway.app.run(settings, lambda _: os.write(1, b"ready\\n")))
"""


async def _send(line: Line, event_id: str) -> None:
    body = event_body(event_id)
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers_of(body, at=time.time()).items())
    head = f"POST /v1/events/acme/tracker HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{fields}\r\n"
    line.writer.write(head.encode() + body)
    await line.writer.drain()


async def test_an_event_whose_answer_died_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its vendor delivers again to the next gateway and is answered well; who watches goes on from its cursor, and
    gets it and everything around it once, in order.
    """
    monkeypatch.setenv("FAKE_TOKEN", SECRET)
    async with gateway_process(CHILD, tmp_path, "stop") as process, calling(tmp_path) as stub:
        stream = stub.WatchEvents(pb.WatchEventsRequest(), timeout=30)
        await stream.read()
        line = await connect(tmp_path / "e.sock")
        for event_id in ("v1", "v2"):
            await _send(line, event_id)
            assert (await line.reply()).status == 200
        first = [await stream.read() for _ in range(2)]
        await _send(line, "last")
        await until((tmp_path / "durable").exists)
        process.kill()
        with contextlib.suppress(ConnectionError), pytest.raises(asyncio.IncompleteReadError):
            await line.reply()
        with contextlib.suppress(ConnectionError):
            await line.close()
    assert [seen.event.id for seen in first] == ["v1", "v2"]
    async with gateway_process(CHILD, tmp_path), calling(tmp_path) as stub:
        line = await connect(tmp_path / "e.sock")
        for event_id in ("last", "v2", "next"):
            await _send(line, event_id)
            assert (await line.reply()).status == 200
        await line.close()
        stream = stub.WatchEvents(pb.WatchEventsRequest(after=first[0].cursor), timeout=30)
        assert [(await stream.read()).event.id for _ in range(3)] == ["v2", "last", "next"]
        stream.cancel()
