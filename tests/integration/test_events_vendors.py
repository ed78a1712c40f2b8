"""The webhooks of five vendors through a whole gateway, told to an agent's runtime in a process of its own."""

import asyncio
import copy
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from fakes.deliveries import HIDDEN, SECRET, VENDORS, Sample, Vendor
from fakes.path import GRANT, registry_rows
from fakes.scrapes import Line, connect
from fakes.served import Served, served

from adapters.webhooks import Delivery
from gateway.settings.events import EventSettings
from gateway.settings.limits import RateSettings
from gateway.settings.parts import CredentialGrant

HOSTS = {
    "slack": "slack.com",
    "github": "api.github.com",
    "stripe": "api.stripe.com",
    "linear": "api.linear.app",
    "sentry": "sentry.io",
}
MARKER = "Zebra-Quartz"
"""Stands in bodies, and nowhere in the open."""
OWN = {name: f"{SECRET}-of-{name}" for name in VENDORS}


def _rows() -> dict[str, Any]:
    """A connection of each vendor, whose events the agent gets; another of GitHub's, whose it does not."""
    rows = registry_rows()
    named = [*((name, name) for name in VENDORS), ("github-other", "github")]
    rows["connections"] += [
        {
            "name": name,
            "tenant": "acme",
            "vendor": vendor,
            "hosts": [HOSTS[vendor]],
            "options": {"organization": "acme"} if vendor == "sentry" else {},
            "webhook": {"secret": f"env:HOOK_{vendor.upper()}"},
        }
        for name, vendor in named
    ]
    rows["agents"][0]["events"] = [{"connection": name, "kinds": ["*"]} for name in VENDORS]
    return rows


@asynccontextmanager
async def _gateway(folder: Path) -> AsyncIterator[tuple[Served, int]]:
    events = EventSettings(address="127.0.0.1:0", rate=RateSettings(per_minute=6000, burst=1000))
    grants = (GRANT, CredentialGrant(tenant="acme", references=("env:HOOK_*",), hosts=tuple(HOSTS.values())))
    async with served(folder, rows=_rows(), events=events, credentials=grants, log_level="info") as one:
        yield one, int(one.gateway.describe().http_addresses["events"].rpartition(":")[2])


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is changed there are two of each."""
    for name, secret in OWN.items():
        monkeypatch.setenv(f"HOOK_{name.upper()}", f"the-former-secret\n{secret}")


def _sent(vendor: Vendor, kind: str, number: int) -> Delivery:
    """A delivery of this kind that is another than all others, now."""
    sample = vendor.samples[kind]
    payload = copy.deepcopy(sample.payload)
    payload |= {"slack": {"event_id": f"Ev{number}"}, "stripe": {"id": f"evt_{number}"}}.get(vendor.name, {})
    told = json.dumps(payload).replace("The checkout is down again", MARKER)
    again = Sample(payload=json.loads(told), subject=sample.subject, headers=sample.headers)
    return vendor.delivery(again, secret=OWN[vendor.name], at=time.time())


async def _post(line: Line, to: str, delivery: Delivery, **headers: str) -> int:
    fields = "".join(f"{name}: {value}\r\n" for name, value in {**delivery.headers, **headers}.items())
    head = f"POST /v1/events/acme/{to} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(delivery.body)}\r\n{fields}\r\n"
    return (await line.send(head.encode() + delivery.body)).status


async def _watched(folder: Path, total: int, *options: str) -> list[dict[str, Any]]:
    """What a runtime of the agent is told, up to so many events."""
    command = (sys.executable, "-m", "gateway", "events", "watch", "--json", "--socket", str(folder / "g.sock"))
    process = await asyncio.create_subprocess_exec(*command, *options, stdout=asyncio.subprocess.PIPE, limit=2**20)
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    try:
        async with asyncio.timeout(30):
            while len(seen) < total:
                answer = json.loads(await process.stdout.readline())
                seen += [answer] if answer["event"] is not None else []
    finally:
        process.terminate()
        await process.wait()
    return seen


def _kept(folder: Path) -> bytes:
    """Everything that a gateway has written there."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_every_kind_of_five_vendors_reaches_the_runtime_that_it_is_for(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Once, in order, though each is delivered twice; what is forged, or another connection's, does not. No text of
    them lies open in the store, and no secret is anywhere.
    """
    wanted = [(name, kind) for name, vendor in VENDORS.items() for kind in vendor.samples]
    async with _gateway(tmp_path) as (one, port):
        line = await connect(port)
        for number, (name, kind) in enumerate(wanted):
            delivery = _sent(VENDORS[name], kind, number)
            assert [await _post(line, name, delivery) for _ in range(2)] == [200, 200], kind
        delivery = _sent(VENDORS["github"], "issue.opened", 0)
        assert await _post(line, "github-other", delivery) == 200
        assert await _post(line, "stripe", delivery) == 401
        await line.close()
        seen = await _watched(tmp_path, len(wanted), "--from-oldest")
        assert [(each["event"]["connection"], each["event"]["kind"]) for each in seen] == wanted
        assert [each["event"]["subject"] for each in seen] == [
            VENDORS[name].samples[kind].subject for name, kind in wanted
        ]
        told = json.dumps(seen)
        assert MARKER in told
        assert HIDDEN not in told
        later = await _watched(tmp_path, 2, "--after", seen[-3]["cursor"])
        assert [each["event"]["id"] for each in later] == [each["event"]["id"] for each in seen[-2:]]
        assert one.lines == []
    kept = _kept(tmp_path)
    assert b"issue.opened" in kept
    logged = "".join(capfd.readouterr())
    for word in (MARKER, "the-former-secret", *OWN.values()):
        assert word.encode() not in kept
        assert word not in logged
