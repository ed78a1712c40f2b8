"""The limiter while its server is killed, frozen, slow, talks nonsense or will not write, under load. Never a wrong
yes, nobody waits long, and all is well again within two seconds of its return.
"""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from fakes.redis import Command, Relay, said_yes, speaking, tell

from adapters.base import Fault
from gateway.cli.demo.daemons import Daemon, valkey
from gateway.clients.redis import RedisClient
from gateway.clock import SystemClock
from gateway.ratelimit.base import Checks, LimiterDown
from gateway.ratelimit.redis import RedisLimiter
from gateway.rows import Rate
from gateway.settings.limits import RedisSettings

CLOCK = SystemClock()
TIMEOUT_MS = 50
GENEROUS_SECONDS = 0.2
"""For one timeout on a machine that does other things, too."""
CALLERS = 20


class Server(NamedTuple):
    """A real Valkey, and where its socket is."""

    daemon: Daemon
    path: Path


@pytest.fixture
def server() -> Iterator[Server]:
    """A fresh one."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "s"
        with valkey(Path(folder), path) as daemon:
            yield Server(daemon, path)


@asynccontextmanager
async def limiter(url: str) -> AsyncIterator[RedisLimiter]:
    """One that was started and has counted."""
    client = RedisClient(RedisSettings(url=url, timeout_ms=TIMEOUT_MS), CLOCK.monotonic)
    one = RedisLimiter(client, CLOCK, prefix="gate")
    await one.start()
    try:
        yield one
    finally:
        await one.stop()


def check(name: str, burst: int = 1_000_000) -> Checks:
    """One rate of which nothing comes back during a test."""
    return ((("tool", "acme", name), Rate(per_minute=0.001, burst=burst)),)


class Seen:
    """What a load of callers met with."""

    def __init__(self) -> None:
        self.passed = 0
        self.spent = 0
        self.faults: list[Fault] = []
        self.longest_seconds = 0.0

    async def ask(self, one: RedisLimiter, checks: Checks) -> None:
        """One take."""
        began = time.monotonic()
        try:
            index, _ = await one.take(checks)
        except LimiterDown as error:
            self.faults.append(error.fault)
        else:
            self.passed += index == -1
            self.spent += index >= 0
        self.longest_seconds = max(self.longest_seconds, time.monotonic() - began)


@asynccontextmanager
async def load(one: RedisLimiter, checks: Checks) -> AsyncIterator[Callable[[], Seen]]:
    """Callers that ask on and on; what comes out is what they met with since it was last asked for."""
    seen = Seen()
    is_over = False

    async def caller() -> None:
        while not is_over:
            await seen.ask(one, checks)
            await asyncio.sleep(0.002)

    def since() -> Seen:
        nonlocal seen
        last, seen = seen, Seen()
        return last

    callers = [asyncio.ensure_future(caller()) for _ in range(CALLERS)]
    try:
        yield since
    finally:
        is_over = True
        await asyncio.gather(*callers)


async def until(holds: Callable[[], bool], seconds: float) -> None:
    """Fails when it does not hold within so long."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


def is_down(one: RedisLimiter) -> Callable[[], bool]:
    """Whether it knows."""
    return lambda: not one.status().is_up


def is_up(one: RedisLimiter) -> Callable[[], bool]:
    """Whether it counts."""
    return lambda: one.status().is_up


async def test_killed(server: Server) -> None:
    """Everybody is refused at once, nobody passes, and the server that came back counts from nothing."""
    async with limiter(f"unix:{server.path}") as one, load(one, check("x")) as since:
        await until(lambda: one.status().is_up, 2)
        await asyncio.to_thread(server.daemon.kill)
        await until(is_down(one), 2)
        since()
        await asyncio.sleep(0.3)
        seen = since()
        assert (seen.passed, seen.spent) == (0, 0)
        assert len(seen.faults) > CALLERS
        assert seen.longest_seconds < GENEROUS_SECONDS
        await asyncio.to_thread(server.daemon.start)
        await until(is_up(one), 2)
        since()
        await asyncio.sleep(0.1)
        assert since().passed


async def test_frozen(server: Server) -> None:
    """Who is first waits for one timeout; then nobody waits, though the connections stand."""
    async with limiter(f"unix:{server.path}") as one:
        await one.take(check("x"))
        server.daemon.freeze()
        first = Seen()
        await asyncio.gather(*[first.ask(one, check("x")) for _ in range(CALLERS)])
        assert first.faults == [Fault.TIMEOUT] * CALLERS
        assert 0.9 * TIMEOUT_MS / 1000 < first.longest_seconds < GENEROUS_SECONDS
        then = Seen()
        began = time.monotonic()
        for _ in range(500):
            await then.ask(one, check("x"))
        assert then.faults == [Fault.TIMEOUT] * 500
        assert time.monotonic() - began < 1.0  # a timeout each would be 25 s
        async with load(one, check("x")) as since:
            await asyncio.sleep(0.6)  # some probes
            seen = since()
            assert (seen.passed, seen.spent) == (0, 0)
            server.daemon.thaw()
            await until(is_up(one), 2)
            since()
            await asyncio.sleep(0.1)
            assert since().passed


async def test_frozen_and_thawed_never_counts_above_the_limit(server: Server) -> None:
    """What was asked before may have counted; nothing counts less than once."""
    few = check("x", burst=60)
    async with limiter(f"unix:{server.path}") as one:
        seen = Seen()
        for _ in range(3):
            await asyncio.gather(*[seen.ask(one, few) for _ in range(10)])
            server.daemon.freeze()
            await asyncio.gather(*[seen.ask(one, few) for _ in range(10)])
            server.daemon.thaw()
            await until(is_up(one), 2)
        await asyncio.gather(*[seen.ask(one, few) for _ in range(100)])
        assert 30 <= seen.passed <= 60
        assert seen.spent


async def test_slow(server: Server) -> None:
    """A little slow is slow; slower than the deadline is down, and in time again it is up."""
    async with Relay(server.path).listening() as relay, limiter(f"redis://127.0.0.1:{relay.port}") as one:
        await until(is_up(one), 2)
        relay.delay_seconds = 0.005
        seen = Seen()
        await seen.ask(one, check("x"))
        assert seen.passed == 1
        async with load(one, check("x")) as since:
            relay.delay_seconds = 0.15
            await until(is_down(one), 2)
            since()
            await asyncio.sleep(0.3)
            seen = since()
            assert (seen.passed, seen.spent) == (0, 0)
            assert seen.longest_seconds < GENEROUS_SECONDS
            relay.delay_seconds = 0.0
            await until(is_up(one), 2)
            since()
            await asyncio.sleep(0.1)
            assert since().passed


def _shuffled(command: Command) -> bytes:
    """A yes to another call: its own word, one on."""
    word = b"%d" % (int(command[3 + int(command[2])]) + 1)
    return b"*3\r\n:-1\r\n:0\r\n$%d\r\n%s\r\n" % (len(word), word)


NONSENSE: dict[str, Callable[[Command], bytes | None]] = {
    "ok": lambda _: b"+OK\r\n",
    "one": lambda _: b":1\r\n",
    "nil": lambda _: b"$-1\r\n",
    "empty": lambda _: b"*0\r\n",
    "yes without a word": lambda _: b"*2\r\n:-1\r\n:0\r\n",
    "yes to another": _shuffled,
    "yes with an error in it": lambda _: b"*3\r\n:-1\r\n:0\r\n-ERR no\r\n",
    "http": lambda _: b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "tls": lambda _: b"\x15\x03\x03\x00\x02\x02\x28",
    "noise": lambda command: random.Random(len(command)).randbytes(200),
    "a giant": lambda _: b"$999999999999\r\n",
    "deep": lambda _: b"*1\r\n" * 50,
    "many": lambda _: b"*1000000\r\n" + b":1\r\n" * 10,
    "half": lambda command: said_yes(command)[:-3],
    "nothing": lambda _: b"",
    "closes": lambda _: None,
    "error": lambda _: b"-ERR no\r\n",
    "loading": lambda _: b"-LOADING Valkey is loading the dataset in memory\r\n",
    "moved": lambda _: b"-MOVED 3999 127.0.0.1:6381\r\n",
    "never the script": lambda _: b"-NOSCRIPT No matching script.\r\n",
}


@pytest.mark.parametrize("nonsense", NONSENSE)
async def test_nonsense(nonsense: str) -> None:
    """Nobody passes whatever it says, nobody waits for long, and when it talks sense again all is well."""
    async with speaking(said_yes) as (server, path), limiter(f"unix:{path}") as one:
        assert one.status().is_up
        server.say = NONSENSE[nonsense]
        seen = Seen()
        for _ in range(3):
            await asyncio.gather(*[seen.ask(one, check("x")) for _ in range(CALLERS)])
        assert (seen.passed, seen.spent, len(seen.faults)) == (0, 0, 3 * CALLERS)
        assert seen.longest_seconds < GENEROUS_SECONDS
        assert not one.status().is_up
        server.say = said_yes
        await until(is_up(one), 2)
        assert await one.take(check("x")) == (-1, 0.0)


async def test_a_server_that_drips_is_late() -> None:
    """Though a byte came just now."""
    async with speaking(said_yes) as (server, path), limiter(f"unix:{path}") as one:
        server.drip_seconds = 0.01
        seen = Seen()
        await asyncio.gather(*[seen.ask(one, check("x")) for _ in range(CALLERS)])
        assert seen.faults == [Fault.TIMEOUT] * CALLERS
        assert seen.longest_seconds < GENEROUS_SECONDS


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
        (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
        (("ACL", "SETUSER", "default", "-set"), ("ACL", "SETUSER", "default", "+set")),
        (("CONFIG", "SET", "min-replicas-to-write", "1"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
    ],
    ids=["a replica", "out of memory", "no right to write", "too few replicas"],
)
async def test_a_server_that_will_not_write(server: Server, broken: tuple[str, ...], whole: tuple[str, ...]) -> None:
    """It answers a PING and is down all the same: a count that is not kept is none. The probe writes, too."""
    async with limiter(f"unix:{server.path}") as one:
        await one.take(check("x"))
        assert tell(server.path, *broken).startswith("+OK")
        seen = Seen()
        await asyncio.gather(*[seen.ask(one, check("x")) for _ in range(CALLERS)])
        assert (seen.passed, len(seen.faults)) == (0, CALLERS)
        await asyncio.sleep(0.6)  # some probes
        assert not one.status().is_up
        assert tell(server.path, *whole).startswith("+OK")
        await until(is_up(one), 2)
        assert await one.take(check("x")) == (-1, 0.0)


async def test_callers_that_go_away_never_hand_their_answer_to_another(server: Server) -> None:
    """A thousand takes, half of which are cancelled at odd moments: what is spent stays spent, what is free is free."""
    chance = random.Random(7)
    async with limiter(f"unix:{server.path}") as one:
        spent, free = check("spent", burst=1), check("free")
        assert await one.take(spent) == (-1, 0.0)
        for _ in range(20):
            asked = [(checks, asyncio.ensure_future(one.take(checks))) for checks in (spent, free) * 25]
            for _ in range(chance.randrange(6)):
                await asyncio.sleep(0)
            for _, task in chance.sample(asked, 25):
                task.cancel()
            results = await asyncio.gather(*[task for _, task in asked], return_exceptions=True)
            for (checks, _), result in zip(asked, results, strict=True):
                if isinstance(result, tuple):
                    assert result[0] == (0 if checks is spent else -1)
                else:
                    assert isinstance(result, asyncio.CancelledError)
        assert one.status().is_up
