"""The limiter in a real Valkey, on its own clock."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import trustme
from fakes.redis import Relay, tell

from adapters.base import Fault
from gateway.cli.demo.daemons import Daemon, free_port, valkey
from gateway.clients.redis import RedisClient
from gateway.clock import SystemClock
from gateway.ratelimit.base import Checks, LimiterDown
from gateway.ratelimit.redis import RedisLimiter
from gateway.rows import Rate
from gateway.settings.limits import RedisSettings

CLOCK = SystemClock()
SLOW = 0.001
"""Calls a minute: nothing comes back during a test."""


@contextmanager
def server(*more: str) -> Iterator[tuple[Daemon, Path]]:
    """A real Valkey, and where its socket is."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        with valkey(Path(folder), path, *more) as daemon:
            yield daemon, path


@asynccontextmanager
async def limiter(url: str, **more: Any) -> AsyncIterator[RedisLimiter]:
    """One that was started. It is patient, for the machine may be busy."""
    settings = RedisSettings.model_validate({"url": url, "timeout_ms": 500} | more)
    one = RedisLimiter(RedisClient(settings, CLOCK.monotonic), CLOCK, prefix=settings.prefix)
    await one.start()
    try:
        yield one
    finally:
        await one.stop()


def check(name: str, burst: int, per_minute: float = SLOW, tenant: str = "acme") -> Checks:
    """One rate."""
    return ((("tool", tenant, name), Rate(per_minute=per_minute, burst=burst)),)


async def passed(one: RedisLimiter, checks: Checks, times: int) -> int:
    """How many of so many takes at once passed."""
    results = await asyncio.gather(*[one.take(checks) for _ in range(times)])
    return sum(index == -1 for index, _ in results)


async def until(holds: Callable[[], bool], seconds: float) -> None:
    """Fails when it does not hold within so long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


async def test_replicas_share_one_count_exactly() -> None:
    """Of 320 takes at once, by eight limiters of their own connections, 50 pass where 50 may."""
    with server() as (_, path):
        async with (
            limiter(f"unix:{path}") as a,
            limiter(f"unix:{path}") as b,
            limiter(f"unix:{path}") as c,
            limiter(f"unix:{path}") as d,
        ):
            counts = await asyncio.gather(*[passed(one, check("x", 50), 40) for one in (a, b, c, d) for _ in range(2)])
    assert sum(counts) == 50


async def test_time_is_the_servers_and_a_full_bucket_is_forgotten() -> None:
    """What is spent comes back after the wait that was told, and leaves nothing behind."""
    with server() as (_, path):
        async with limiter(f"unix:{path}") as one:
            fast = check("x", burst=2, per_minute=600)
            assert await passed(one, fast, 2) == 2
            index, wait = await one.take(fast)
            assert index == 0
            assert 0 < wait <= 0.1
            assert 0 < int(tell(path, "PTTL", "tollhouse:{t.acme}:tool:x")[1:]) <= 202
            await asyncio.sleep(wait + 0.001)
            assert (await one.take(fast))[0] == -1
            await until(lambda: "tool" not in tell(path, "KEYS", "*"), 5.0)


async def test_all_or_nothing() -> None:
    """A spent bucket keeps the call from taking of any other."""
    with server() as (_, path):
        async with limiter(f"unix:{path}") as one:
            both = check("wide", 3) + check("narrow", 1)
            assert [(await one.take(both))[0] for _ in range(3)] == [-1, 1, 1]
            assert await passed(one, check("wide", 3), 5) == 2


async def test_a_bucket_that_holds_something_else_lets_nobody_pass() -> None:
    """It is down for who needs it, and up for the others."""
    with server() as (_, path):
        async with limiter(f"unix:{path}") as one:
            for name, value in {"a": "hello", "b": "1 nan", "c": "1 -5", "d": "0x1 5", "e": "1 2 3", "f": ""}.items():
                tell(path, "SET", f"tollhouse:{{t.acme}}:tool:{name}", value)
                with pytest.raises(LimiterDown):
                    await one.take(check(name, 5))
            tell(path, "RPUSH", "tollhouse:{t.acme}:tool:list", "1")
            with pytest.raises(LimiterDown):
                await one.take(check("list", 5))
            assert await one.take(check("x", 1)) == (-1, 0.0)
            assert one.status().is_up


async def test_a_clock_that_goes_back_gives_nothing_away() -> None:
    """A bucket from the future refuses until then, at the rate that it had."""
    with server() as (_, path):
        async with limiter(f"unix:{path}") as one:
            ahead = round((time.time() + 3600) * 1e6)
            tell(path, "SET", "tollhouse:{t.acme}:tool:x", f"{ahead} 60000000")
            index, wait = await one.take(check("x", burst=1, per_minute=1))
            assert index == 0
            assert wait == pytest.approx(3660, abs=5)


async def test_g10_a_lost_script_is_given_again() -> None:
    """No call fails because the server forgot it, and the count goes on."""
    with server() as (_, path):
        async with limiter(f"unix:{path}") as one:
            assert await passed(one, check("x", 100), 10) == 10
            assert tell(path, "SCRIPT", "FLUSH") == "+OK\r\n"
            assert await passed(one, check("x", 100), 10) == 10
            assert await passed(one, check("x", 100), 100) == 80


class Load:
    """Twenty callers of one key, and how many passed in each life of the server."""

    def __init__(self, one: RedisLimiter, checks: Checks) -> None:
        self.passed = [0, 0]
        self.failed = 0
        self.life = 0
        self.is_over = False
        self.callers = [asyncio.ensure_future(self._ask(one, checks)) for _ in range(20)]

    async def _ask(self, one: RedisLimiter, checks: Checks) -> None:
        while not self.is_over:
            life = self.life
            try:
                index, _ = await one.take(checks)
                self.passed[life] += index == -1
            except LimiterDown:
                self.failed += 1
            await asyncio.sleep(0.002)


async def test_g10_a_restart_under_load() -> None:
    """Calls pass within a second of it, and in no life of the server do more pass than may."""
    with server() as (daemon, path):
        async with limiter(f"unix:{path}") as one:
            load = Load(one, check("y", 30))
            await until(lambda: load.passed[0] == 30, 5.0)
            await asyncio.to_thread(daemon.kill)
            load.life = 1
            await asyncio.to_thread(daemon.start)
            await until(lambda: load.passed[1] > 0, 1.0)
            await until(lambda: load.passed[1] == 30, 5.0)
            load.is_over = True
            await asyncio.gather(*load.callers)
            assert load.passed == [30, 30]
            assert load.failed


async def test_a_restart_while_nobody_asks_is_not_noticed() -> None:
    """The old connection is seen to have ended, and the script is given anew."""
    with server() as (daemon, path):
        async with limiter(f"unix:{path}") as one:
            assert await passed(one, check("x", 10), 3) == 3
            await asyncio.to_thread(daemon.kill)
            await asyncio.to_thread(daemon.start)
            assert await passed(one, check("x", 10), 3) == 3


async def test_a_user_with_the_least_rights_and_a_password_that_rotates(tmp_path: Path) -> None:
    """Commands of the script and the prefix are enough. A new password is used once the old one fails."""
    password = tmp_path / "password"
    password.write_text("first\n")
    rights = ("~gate:*", "+eval", "+evalsha", "+get", "+set", "+time")
    with server("--user", "gate", "on", ">first", *rights) as (_, path):
        async with limiter(f"unix:{path}", username="gate", password_file=password, prefix="gate") as one:
            assert one.status().is_up
            assert await passed(one, check("x", 2), 5) == 2
            tell(path, "ACL", "SETUSER", "gate", "resetpass", ">second")
            tell(path, "CLIENT", "KILL", "USER", "gate")
            with pytest.raises(LimiterDown) as caught:
                await one.take(check("y", 2))
            assert caught.value.fault is Fault.REFUSED
            password.write_text("second\n")
            await until(lambda: one.status().is_up, 2.0)
            assert await passed(one, check("y", 2), 5) == 2


async def test_tcp_and_a_database_of_its_own() -> None:
    """What one database counts, another does not."""
    port = free_port()
    with server("--port", str(port), "--requirepass", "secret") as (_, _path), TemporaryDirectory() as folder:
        password = Path(folder) / "password"
        password.write_text("secret")
        for database in ("", "/3"):
            async with limiter(f"redis://127.0.0.1:{port}{database}", password_file=password) as one:
                assert await passed(one, check("x", 2), 5) == 2
        async with limiter(f"redis://127.0.0.1:{port}") as one:
            assert one.status().problem == "the server refuses our user"


async def test_tls_trusts_the_named_authority_and_name_alone(tmp_path: Path) -> None:
    """The server's certificate must be vouched for and bear its name. This Valkey has no TLS: a relay adds it."""
    authority, stranger = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    stranger.cert_pem.write_to_path(tmp_path / "stranger.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with server() as (_, path):
        async with Relay(path).listening(context) as relay:
            url = f"rediss://localhost:{relay.port}"
            async with limiter(url, ca_file=tmp_path / "ca.pem") as one:
                assert one.status().is_up
                assert await passed(one, check("x", 2), 5) == 2
            for wrong, ca_file in ((url, "stranger.pem"), (url.replace("localhost", "127.0.0.1"), "ca.pem")):
                async with limiter(wrong, ca_file=tmp_path / ca_file) as one:
                    assert one.status().problem == "the server cannot be reached"
            async with limiter(url) as one:
                assert not one.status().is_up


async def test_a_cluster_counts_each_tenant_on_its_server() -> None:
    """Every take of one tenant, of many keys, is one slot's; several tenants go in one round trip; G10 holds too."""
    port, bus = free_port(), free_port()
    more = ("--port", str(port), "--cluster-enabled", "yes", "--cluster-port", str(bus), "--bind", "127.0.0.1")
    with server(*more) as (daemon, path):
        assert tell(path, "CLUSTER", "ADDSLOTSRANGE", "0", "16383") == "+OK\r\n"
        await until(lambda: "cluster_state:ok" in tell(path, "CLUSTER", "INFO"), 10.0)
        async with limiter(f"redis://127.0.0.1:{port}", cluster=True) as one:
            await until(lambda: one.status().is_up, 2.0)
            tenants = [f"t{number}" for number in range(8)] + ["a}b", "", "{x}"]
            takes = {tenant: check("x", 3, tenant=tenant) + check("y", 9, tenant=tenant) for tenant in tenants}
            counts = await asyncio.gather(*[passed(one, takes[tenant], 5) for tenant in tenants])
            assert counts == [3] * len(tenants)
            tell(path, "SCRIPT", "FLUSH")
            assert await passed(one, check("z", 3), 5) == 3
            await asyncio.to_thread(daemon.kill)
            with pytest.raises(LimiterDown):
                await one.take(check("z", 3))
            await asyncio.to_thread(daemon.start)
            await until(lambda: "cluster_state:ok" in tell(path, "CLUSTER", "INFO"), 10.0)
            await until(lambda: one.status().is_up, 2.0)
            assert await passed(one, check("z", 3), 5) == 3
