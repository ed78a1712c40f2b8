"""What is served over HTTP stands at addresses of its own, and ends before the drain."""

from pathlib import Path

import aiohttp
import pytest
from fakes.path_rows import ASSERTIONS
from fakes.served import served

from gateway.assertions.key_file import make_key
from gateway.settings.assertions import PublishSettings
from gateway.settings.events import EventSettings
from gateway.settings.listeners import MetricsSettings


async def test_nothing_is_served_that_the_settings_do_not_name(tmp_path: Path) -> None:
    """No address is told."""
    async with served(tmp_path) as one:
        assert one.gateway.describe().http_addresses == {}


async def test_each_answers_at_its_address_and_no_more_afterwards(tmp_path: Path) -> None:
    """Deliveries and keys; metrics have a proof of their own."""
    key, token = tmp_path / "key.pem", tmp_path / "token"
    make_key(key, bytes(32))
    token.write_text("scrape-token")
    publish = PublishSettings(address="127.0.0.1:0")
    async with served(
        tmp_path,
        metrics=MetricsSettings(address="127.0.0.1:0", token_file=token),
        events=EventSettings(address="127.0.0.1:0"),
        assertions=ASSERTIONS.model_copy(update={"key_file": key, "publish": publish}),
    ) as one:
        addresses = one.gateway.describe().http_addresses
        assert list(addresses) == ["metrics", "events", "keys"]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://{addresses['keys']}/.well-known/jwks.json") as keys:
                assert len((await keys.json())["keys"]) == 1
            async with session.get(f"http://{addresses['metrics']}/metrics") as metrics:
                assert metrics.status == 401
            async with session.post(f"http://{addresses['events']}/v1/events/acme/none", data=b"{}") as delivery:
                assert delivery.status == 401
    async with aiohttp.ClientSession() as session:
        for address in addresses.values():
            with pytest.raises(aiohttp.ClientConnectionError):
                await session.get(f"http://{address}/")
