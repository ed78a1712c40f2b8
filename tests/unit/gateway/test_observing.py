"""What metrics show of a gateway that runs."""

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import pytest
from fakes.adapter import FakeAdapter
from fakes.engine import FakeEngine
from fakes.path import registry_rows
from fakes.scrapes import Scraped, families, samples
from fakes.served import Served, served
from fakes.vault import FakeVaultServer, auth

from gateway.metrics.families import FAMILIES
from gateway.settings.events import EventSettings
from gateway.settings.listeners import MetricsSettings
from gateway.settings.vault import AppRoleAuth, DynamicSettings, VaultSettings

TOKEN = "scrape-token"


@pytest.fixture(autouse=True)
def collector() -> Iterator[None]:
    """A gateway sets the collector as its process needs it; other tests want theirs."""
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def _settings(folder: Path) -> MetricsSettings:
    token = folder / "token"
    token.write_text(TOKEN)
    return MetricsSettings(address="127.0.0.1:0", token_file=token)


async def _scrape(one: Served) -> Scraped:
    return Scraped(samples(families(await _body(one))))


async def _body(one: Served) -> str:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://{one.gateway.describe().http_addresses['metrics']}/metrics", headers=headers) as answer,
    ):
        assert answer.status == 200
        return await answer.text()


async def test_every_part_is_shown(tmp_path: Path) -> None:
    """Calls by how they ended, the policy, the limiter, the audit; and nothing failed to be read."""
    async with served(tmp_path, metrics=_settings(tmp_path)) as one:
        await one.call()
        await one.call("echo_hidden")
        seen = await _scrape(one)
    assert seen.value("tollhouse_calls_total", kind="call", outcome="ok", reason="", step="done") == 1
    refused = {"kind": "call", "outcome": "not_found", "reason": "tool_not_found", "step": "registry"}
    assert seen.value("tollhouse_calls_total", **refused) == 1
    assert seen.value("tollhouse_ready") == 1
    assert seen.value("tollhouse_policy_ready") == 1
    assert seen.value("tollhouse_limiter_up") == 1
    assert seen.value("tollhouse_audit_lines_total") == 2
    assert seen.value("tollhouse_audit_owed_lines") == 0
    assert seen.total("tollhouse_scrape_errors_total") == 0
    assert list(seen.labels("tollhouse_key_set_age_seconds")) == []


async def test_circuits_and_an_engine_that_is_not_ready_are_shown(tmp_path: Path) -> None:
    """Each by who is left alone."""
    adapter, engine = FakeAdapter(), FakeEngine()
    async with served(tmp_path, metrics=_settings(tmp_path), adapter=adapter, engine=engine) as one:
        adapter.open_circuits, engine.is_ready = 2, False
        seen = await _scrape(one)
    assert seen.value("tollhouse_breaker_open", part="fake") == 2
    assert seen.value("tollhouse_breaker_open", part="redis") == 0
    assert seen.value("tollhouse_policy_ready") == 0
    assert seen.value("tollhouse_ready") == 0


async def test_nothing_of_tools_agents_or_tenants_is_in_it(tmp_path: Path) -> None:
    """Neither by name nor by label, after calls of all kinds."""
    async with served(tmp_path, metrics=_settings(tmp_path)) as one:
        rows = registry_rows()
        await asyncio.gather(*(one.call(tool["name"]) for tool in rows["tools"]))
        seen = await _scrape(one)
    names = {tool["name"] for tool in rows["tools"]} | {"acme", "helper", "helper-1", "plain", "sealed"}
    words = {word for _, labels in seen.samples for _, word in labels}
    assert not words & names


async def test_every_metric_of_the_page_is_shown_by_a_gateway_with_everything(tmp_path: Path) -> None:
    """Each by its name and none beside these, also of sinks that there are none of; and nothing failed to be read."""
    proof = tmp_path / "proof"
    proof.write_text("it is us")
    with FakeVaultServer(lambda _seen: auth(seconds=600)) as server:
        vault = VaultSettings(
            addresses=(server.address,),
            auth=AppRoleAuth(kind="approle", role_id_file=proof, secret_id_file=proof),
            dynamic=DynamicSettings(engines=("database",)),
        )
        events = EventSettings(address="127.0.0.1:0")
        async with served(tmp_path, metrics=_settings(tmp_path), vault=vault, events=events) as one:
            body = await _body(one)
    shown = {line.split()[2] for line in body.splitlines() if line.startswith("# HELP tollhouse_")}
    assert shown == {family.name for family in FAMILIES}
    seen = Scraped(samples(families(body)))
    assert seen.value("tollhouse_vault_up") == 1
    assert 0 < (seen.value("tollhouse_vault_token_seconds") or 0) <= 600
    assert seen.value("tollhouse_vault_leases", state="held") == 0
    assert seen.total("tollhouse_scrape_errors_total") == 0
