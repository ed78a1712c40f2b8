"""What every outlet does behind a sink: it gets every line in order, and no call ever waits for it."""

import asyncio
import contextlib
import itertools
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakes.audit import opened as opened_audit
from fakes.collector import collector
from fakes.files import Disk
from fakes.lines import line
from fakes.outlet import ListOutlet, follower_of
from real.postgres import APP, OWNER, Postgres
from real.stores import opened, postgres_settings
from real.waiting import until
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateTable

from gateway.audit.chain import unseal
from gateway.audit.open import Audit
from gateway.audit.outlets.base import Outlet
from gateway.audit.outlets.following import Follower
from gateway.audit.outlets.otlp import OtlpOutlet
from gateway.audit.outlets.postgresql import PostgresqlOutlet
from gateway.audit.outlets.stdout import StdoutOutlet
from gateway.clients.http import HttpClient
from gateway.store.audit_lines import audit_lines, lines_of
from gateway.store.isolation import row_level_security

TENANTS = ("acme", "other")


@dataclass
class Place:
    """Where an outlet puts lines: reading them back, and breaking it."""

    outlet: Outlet
    raw: Callable[[], Awaitable[list[bytes]]]
    """Every line that is there, each tenant's in order."""
    set_down: Callable[[bool], None]


@dataclass
class Made:
    """A sink whose lines an outlet gets."""

    audit: Audit
    disk: Disk
    place: Place
    follower: Follower

    async def append(self, *numbers: int) -> None:
        """Lines of two tenants."""
        for number in numbers:
            await self.audit.sink.append(line(f"c{number}", tenant=TENANTS[number % 2]))

    async def has(self, *numbers: int) -> bool:
        """Whether these and no others are there, each tenant's in order."""
        raw = await self.place.raw()
        found = {tenant: [] for tenant in TENANTS}
        for one in raw:
            value, _head = unseal(one)
            found[value["tenant"]].append(value["call_id"])
        return found == {
            tenant: [f"c{number}" for number in numbers if TENANTS[number % 2] == tenant] for tenant in TENANTS
        }


@contextlib.asynccontextmanager
async def _in_memory() -> AsyncIterator[Place]:
    outlet = ListOutlet()

    async def raw() -> list[bytes]:
        return [one.raw for one in outlet.lines]

    yield Place(outlet, raw, lambda down: setattr(outlet, "is_down", down))


@contextlib.asynccontextmanager
async def _to_stdout() -> AsyncIterator[Place]:
    with tempfile.TemporaryFile("w+b") as file:
        outlet = StdoutOutlet(os.dup(file.fileno()))
        good = outlet._descriptor

        async def raw() -> list[bytes]:
            return os.pread(file.fileno(), 10**7, 0).splitlines(keepends=True)

        yield Place(outlet, raw, lambda down: setattr(outlet, "_descriptor", -1 if down else good))
        os.close(good)


@contextlib.asynccontextmanager
async def _to_a_collector() -> AsyncIterator[Place]:
    async with collector() as made:
        outlet = OtlpOutlet(HttpClient(), made.url)

        async def raw() -> list[bytes]:
            return [record["body"]["stringValue"].encode() + b"\n" for record in made.records()]

        yield Place(outlet, raw, lambda down: setattr(made, "status", 503 if down else 200))
        await outlet.close()


@contextlib.asynccontextmanager
async def _to_postgresql(server: Postgres) -> AsyncIterator[Place]:
    settings = await postgres_settings(server, timeout_ms=1000)
    name = settings.server[2]
    if server.sql("SELECT to_regclass('audit_lines')", database=name) == "":
        create = str(CreateTable(audit_lines).compile(dialect=postgresql.dialect()))
        secured = row_level_security(["audit_lines"])[:-1]
        grants = f"ALTER TABLE audit_lines OWNER TO {OWNER}; GRANT SELECT, INSERT ON audit_lines TO {APP}"
        server.sql(create, *secured, grants, database=name)
    async with opened(settings) as database:

        async def raw() -> list[bytes]:
            lines = []
            for tenant in TENANTS:
                async with database.tenant(tenant, is_read=True) as session:
                    lines += await lines_of(session, "w1")
            return lines

        def set_down(down: bool) -> None:
            server.sql(
                f"{'REVOKE' if down else 'GRANT'} INSERT ON audit_lines {'FROM' if down else 'TO'} {APP}", database=name
            )

        yield Place(PostgresqlOutlet(database), raw, set_down)


@pytest.fixture(params=["memory", "stdout", "otlp", "postgresql"])
async def place(request: pytest.FixtureRequest, server: Postgres) -> AsyncIterator[Place]:
    """Each outlet in turn."""
    ways: dict[str, Callable[[], contextlib.AbstractAsyncContextManager[Place]]] = {
        "memory": _in_memory,
        "stdout": _to_stdout,
        "otlp": _to_a_collector,
        "postgresql": lambda: _to_postgresql(server),
    }
    async with ways[request.param]() as made:
        yield made


_positions = itertools.count()


@pytest.fixture
async def made(place: Place, tmp_path: Path) -> AsyncIterator[Made]:
    """It, behind a sink on a disk in memory."""
    disk = Disk()
    audit = opened_audit(disk, segment_bytes=3000)
    follower = follower_of(audit.sink, disk, place.outlet, tmp_path / f"position-{next(_positions)}")
    follower.start()
    yield Made(audit, disk, place, follower)
    await follower.stop()
    await audit.close()


async def test_every_line_is_handed_on_as_it_was_written(made: Made) -> None:
    """Each once, in order, whatever the tenant."""
    await made.append(*range(12))
    await until(lambda: made.has(*range(12)))
    status = made.follower.status()
    assert (status.is_up, status.rejected) == (True, 0)


async def test_what_an_outlet_missed_comes_later(made: Made) -> None:
    """Calls go on while it is out; nothing is lost and nothing comes twice."""
    await made.append(0, 1)
    await until(lambda: made.has(0, 1))
    made.place.set_down(True)
    await made.append(*range(2, 9))
    await until(lambda: _answer(not made.follower.status().is_up))
    assert made.follower.status().problem != ""
    assert made.follower.status().behind > 0
    assert made.audit.sink.is_healthy
    made.place.set_down(False)
    await made.append(9)
    await until(lambda: made.has(*range(10)))
    await until(lambda: _answer(made.follower.status().is_up))


async def test_the_last_lines_are_handed_on_before_the_end(made: Made) -> None:
    """A clean stop loses none."""
    await made.append(*range(30))
    await made.follower.stop()
    assert await made.has(*range(30))


async def test_a_database_that_hangs_holds_up_nobody(server: Postgres, tmp_path: Path) -> None:
    """A real one, stopped in its tracks: calls go on at once, the sink is marked, and later it has every line once."""
    async with _to_postgresql(server) as place:
        disk = Disk()
        audit = opened_audit(disk)
        follower = follower_of(audit.sink, disk, place.outlet, tmp_path / "position")
        follower.start()
        made = Made(audit, disk, place, follower)
        await made.append(0, 1)
        await until(lambda: made.has(0, 1))
        server.freeze()
        try:
            await asyncio.wait_for(made.append(*range(2, 20)), 1.0)
            await until(lambda: _answer(not follower.status().is_up))
        finally:
            server.thaw()
        assert "in time" in follower.status().problem
        await until(lambda: made.has(*range(20)), seconds=10)
        await until(lambda: _answer(follower.status().is_up))
        await follower.stop()
        await audit.close()


async def _answer(value: bool) -> bool:
    await asyncio.sleep(0)
    return value
