"""The servers that are brought: they answer, and nobody beyond this machine can ask them."""

from pathlib import Path
from typing import Any

import aiohttp
import pytest
from real.emulate import SERVICES, TOKENS, Emulate
from real.httpbin import HttpBin
from real.localstripe import KEY, LocalStripe

LISTENING = "0A"
LOOPBACK = {"0100007F", "00000000000000000000000001000000"}


async def said(url: str, token: str = "", **more: Any) -> Any:
    """The JSON of a good answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with aiohttp.request(more.pop("method", "GET"), url, headers=headers, **more) as response:
        assert response.status < 300, await response.text()
        return await response.json()


def addresses_of(port: int) -> set[str]:
    """The addresses, as the kernel writes them, at which anybody on this machine listens on this port."""
    lines = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    local = [line[1].split(":") for line in lines if line[3] == LISTENING]
    return {address for address, hexadecimal in local if int(hexadecimal, 16) == port}


@pytest.mark.parametrize("service", SERVICES)
def test_emulate_listens_on_loopback_alone(emulate: Emulate, service: str) -> None:
    """Left to itself it listens on every interface."""
    assert addresses_of(emulate.port(service))
    assert addresses_of(emulate.port(service)) <= LOOPBACK


def test_localstripe_listens_on_loopback_alone(localstripe: LocalStripe) -> None:
    """Left to itself it listens on every interface, and reads a pickle that anybody may have put into /tmp."""
    assert addresses_of(localstripe.port)
    assert addresses_of(localstripe.port) <= LOOPBACK


def test_httpbin_listens_on_loopback_alone(httpbin: HttpBin) -> None:
    """As it is told."""
    assert addresses_of(httpbin.port)
    assert addresses_of(httpbin.port) <= LOOPBACK


async def test_emulate_has_what_it_begins_with(emulate: Emulate) -> None:
    """One thing of each service."""
    repository = await said(f"{emulate.url('github')}/repos/acme/shop", TOKENS["github"])
    assert repository["full_name"] == "acme/shop"
    assert repository["url"].startswith(emulate.url("github"))
    channels = await said(f"{emulate.url('slack')}/api/conversations.list", TOKENS["slack"], method="POST")
    assert {"general", "random", "support"} <= {channel["name"] for channel in channels["channels"]}
    events = await said(f"{emulate.url('google')}/calendar/v3/calendars/primary/events", TOKENS["google"])
    assert "evt_kickoff" in {event["id"] for event in events["items"]}
    customers = await said(f"{emulate.url('stripe')}/v1/customers", TOKENS["stripe"])
    assert {"ann@corp.example", "bob@corp.example"} <= {customer["email"] for customer in customers["data"]}
    teams = await said(
        f"{emulate.url('linear')}/graphql", TOKENS["linear"], method="POST", json={"query": "{teams{nodes{key}}}"}
    )
    assert {"ENG", "SUP"} <= {team["key"] for team in teams["data"]["teams"]["nodes"]}


async def test_localstripe_takes_a_customer(localstripe: LocalStripe) -> None:
    """And gives it an id."""
    url = f"{localstripe.url}/v1/customers"
    customer = await said(url, KEY, method="POST", data={"email": "ann@corp.example"})
    assert customer["id"].startswith("cus_")


async def test_httpbin_answers(httpbin: HttpBin) -> None:
    """A status that it is asked for."""
    assert (await said(f"{httpbin.url}/get?a=1"))["args"] == {"a": "1"}
