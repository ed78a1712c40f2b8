"""Replicas over one database: what one of them is told, each knows within a second, without a restart."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from fakes.administration import AGENT, TOOL, Replica, change, operator, replica, whole
from fakes.principals import principal
from real.postgres import Postgres
from real.stores import opened, postgres_settings, sqlite_settings

from gateway.call import Surface
from gateway.clock import SystemClock
from gateway.errors import Reason, Refusal
from gateway.settings.store import StoreSettings
from gateway.store.rows import RowKind
from gateway.store.stops import StopScope

CLOCK = SystemClock()
SECONDS = 1.0
"""Within which a change and a stop are known everywhere."""


@pytest.fixture(params=["sqlite", "postgresql", "postgresql without notices"])
async def settings(request: pytest.FixtureRequest, tmp_path: Path) -> StoreSettings:
    """A database at the newest revision."""
    if request.param == "sqlite":
        return await sqlite_settings(tmp_path)
    return await postgres_settings(request.getfixturevalue("server"), timeout_ms=5000)


@contextlib.asynccontextmanager
async def two(settings: StoreSettings, *, has_notices: bool = True) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two replicas that follow it, each with a pool of its own."""
    async with contextlib.AsyncExitStack() as stack:
        made = []
        for _ in range(2):
            one = replica(await stack.enter_async_context(opened(settings)), CLOCK)
            await stack.enter_async_context(one.following())
            if not has_notices:
                await one.follower._notices.stop()
            made.append(one)
        yield made[0], made[1]


@pytest.fixture
async def replicas(settings: StoreSettings, request: pytest.FixtureRequest) -> AsyncIterator[tuple[Replica, Replica]]:
    """Two of them. Behind PgBouncer no notice ever comes: asking has to do."""
    has_notices = "without" not in request.node.callspec.params["settings"]
    async with two(settings, has_notices=has_notices) as made:
        yield made


async def within_a_second(is_so: Callable[[], bool]) -> None:
    """Return once it is so. Fails when that takes longer."""
    begun = time.monotonic()
    while not is_so():
        assert time.monotonic() - begun < SECONDS
        await asyncio.sleep(0.005)


def title(of: Replica, tenant: str = "acme") -> str:
    """That of the tool, as an agent of the tenant gets it; empty when it has none."""
    try:
        return of.catalogue.find(principal(tenant=tenant), "echo", Surface.GRPC).tool.title
    except Refusal:
        return ""


def is_stopped(of: Replica, tenant: str = "acme") -> bool:
    """Whether a call is refused for this."""
    try:
        of.stops.check(tenant, "helper", "echo", "fake")
    except Refusal as refusal:
        return refusal.reason is Reason.STOPPED
    return False


async def test_a_new_tool_is_a_write_and_not_a_deploy(replicas: tuple[Replica, Replica]) -> None:
    """What one replica was told the other serves; a change and a deletion as well."""
    here, there = replicas
    assert not (await here.administration.apply(operator(), whole(title="First"))).issues
    await within_a_second(lambda: title(there) == "First")
    second = [change(RowKind.TOOL, TOOL | {"title": "Second"}, expected=1)]
    assert not (await there.administration.apply(operator(), second)).issues
    await within_a_second(lambda: title(here) == "Second")
    gone = [change(RowKind.AGENT, AGENT | {"tools": []}, expected=1)]
    assert not (await here.administration.apply(operator(), gone)).issues
    await within_a_second(lambda: title(there) == "")


async def test_a_stop_holds_everywhere(replicas: tuple[Replica, Replica]) -> None:
    """And ends everywhere."""
    here, there = replicas
    await here.administration.apply(operator(), whole())
    for scope, name in (
        (StopScope.TENANT, ""),
        (StopScope.AGENT, "helper"),
        (StopScope.TOOL, "echo"),
        (StopScope.VENDOR, "fake"),
    ):
        await here.administration.set_stop(operator(), scope, name, "a leak")
        await within_a_second(lambda: is_stopped(there) and is_stopped(here))
        await there.administration.clear_stop(operator(), scope, name, "over")
        await within_a_second(lambda: not (is_stopped(there) or is_stopped(here)))


async def test_changes_through_two_replicas_at_once_do_not_lose_one_another(replicas: tuple[Replica, Replica]) -> None:
    """Each is checked on what the other made of the registry."""
    await replicas[0].administration.apply(operator(), whole())
    batches = [[change(RowKind.AGENT, AGENT | {"name": f"a{number}"})] for number in range(4)]
    applied = await asyncio.gather(
        *(replicas[number % 2].administration.apply(operator(), batch) for number, batch in enumerate(batches))
    )
    assert [found.issues for found in applied] == [()] * 4
    for one in replicas:
        await within_a_second(lambda one=one: len(one.catalogue.agents) == 5)  # type: ignore[misc]


async def test_of_two_who_change_one_row_one_is_told(replicas: tuple[Replica, Replica]) -> None:
    """The version that both had seen is there once."""
    await replicas[0].administration.apply(operator(), whole())
    changes = [[change(RowKind.TOOL, TOOL | {"title": title}, expected=1)] for title in ("Mine", "Yours")]
    done = await asyncio.gather(
        *(one.administration.apply(operator(), batch) for one, batch in zip(replicas, changes, strict=True)),
        return_exceptions=True,
    )
    assert sum(isinstance(one, Exception) for one in done) == 1


async def test_tenants_have_registries_of_their_own(server: Postgres) -> None:
    """Tools of one name, changed and stopped each for itself; one that was added later is found too."""
    async with two(await postgres_settings(server, timeout_ms=5000)) as (here, there):
        await here.administration.apply(operator(), whole(title="Ours"))
        await here.administration.apply(operator(tenant="rival"), whole("rival", title="Theirs"))
        await within_a_second(lambda: (title(there), title(there, "rival")) == ("Ours", "Theirs"))
        await here.administration.set_stop(operator(tenant="rival"), StopScope.TENANT, "", "a leak")
        await within_a_second(lambda: is_stopped(there, "rival"))
        assert not is_stopped(there)


async def test_a_server_that_comes_back_is_followed_again(server: Postgres) -> None:
    """What was changed meanwhile is known soon after."""
    settings = await postgres_settings(server, timeout_ms=5000)
    async with two(settings) as (here, there):
        await here.administration.apply(operator(), whole(title="First"))
        await within_a_second(lambda: title(there) == "First")
        ended = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename <> current_user"
        server.sql(ended)
        second = [change(RowKind.TOOL, TOOL | {"title": "Second"}, expected=1)]
        await here.administration.apply(operator(), second)
        await within_a_second(lambda: title(there) == "Second")
        assert there.follower.is_reached
