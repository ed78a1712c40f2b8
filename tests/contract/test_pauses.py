"""What every `Pauses` does: the one in memory, and the one in a real Valkey, as one process and as two replicas."""

import asyncio
import itertools
import math
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from fakes.clock import FakeClock
from fakes.redis import tell

from adapters.base import Pauses
from adapters.transport.pauses import MOST_SECONDS, MemoryPauses
from gateway.cli.demo.daemons import valkey
from gateway.clients.redis import RedisClient
from gateway.ratelimit.pauses import RedisPauses
from gateway.settings.limits import RedisSettings

AGE = "for _, k in ipairs(redis.call('KEYS', ARGV[1])) do redis.call('PEXPIRE', k, redis.call('PTTL', k) - ARGV[2]) end"
_prefixes = (f"p{number}" for number in itertools.count())


@dataclass
class Kit:
    """Pauses, others that share what they know if they can, and a time that a test rules."""

    pauses: Pauses
    other: Pauses
    clock: FakeClock
    server: Path | None = None
    prefix: str = ""

    def advance(self, seconds: float) -> None:
        """Let time pass, also where keys are."""
        self.clock.advance(seconds)
        if self.server is not None:
            tell(self.server, "EVAL", AGE, "0", f"{self.prefix}:*", str(round(seconds * 1000)))

    async def left(self, *names: str, other: bool = False) -> float:
        """To the second: a server's clock goes on by itself."""
        seconds = await (self.other if other else self.pauses).seconds_left(names)
        assert seconds >= 0
        return math.ceil(seconds - 0.001)


@pytest.fixture(scope="module")
def redis_server() -> Iterator[Path]:
    """A real Valkey."""
    with TemporaryDirectory() as folder, valkey(Path(folder), Path(folder) / "s"):
        yield Path(folder) / "s"


def over(server: Path, clock: FakeClock, prefix: str) -> RedisPauses:
    """One replica's."""
    client = RedisClient(RedisSettings(url=f"unix:{server}", timeout_ms=1000), clock.monotonic)
    return RedisPauses(client, MemoryPauses(clock), clock, prefix=prefix)


@pytest.fixture(params=["memory", "redis", "two on redis"])
async def kit(request: pytest.FixtureRequest, redis_server: Path) -> AsyncIterator[Kit]:
    """Each implementation in turn."""
    clock = FakeClock()
    if request.param == "memory":
        memory = MemoryPauses(clock)
        yield Kit(memory, memory, clock)
        return
    prefix = next(_prefixes)
    one = over(redis_server, clock, prefix)
    other = over(redis_server, clock, prefix) if "two" in request.param else one
    for pauses in (one, other):
        await pauses.start()
    yield Kit(one, other, clock, redis_server, prefix)
    for pauses in (one, other):
        await pauses.stop()


async def test_nobody_is_paused_at_first(kit: Kit) -> None:
    """Neither one name nor many nor none."""
    assert [await kit.left(), await kit.left("a"), await kit.left("a", "b")] == [0, 0, 0]
    assert await kit.pauses.seconds_left([]) == 0.0


async def test_a_pause_is_known_to_all_until_it_is_over(kit: Kit) -> None:
    """And then to nobody."""
    await kit.pauses.pause("a", 30)
    assert [await kit.left("a"), await kit.left("a", other=True)] == [30, 30]
    kit.advance(20)
    assert [await kit.left("a"), await kit.left("a", other=True)] == [10, 10]
    kit.advance(11)
    assert [await kit.pauses.seconds_left(["a"]), await kit.other.seconds_left(["a"])] == [0.0, 0.0]


async def test_the_longest_of_several_counts(kit: Kit) -> None:
    """Whoever noted it; those that are over count as none."""
    await kit.pauses.pause("a", 10)
    await kit.other.pause("b", 40)
    await kit.pauses.pause("over", 1)
    assert await kit.left("a", "b", "none") == 40
    assert await kit.left("b", "a", other=True) == 40
    kit.advance(5)
    assert await kit.left("over", "a") == 5
    assert await kit.pauses.seconds_left(["over"]) == 0.0


async def test_a_longer_one_stays(kit: Kit) -> None:
    """A vendor that says less later has not taken back what it said."""
    await kit.pauses.pause("a", 30)
    await kit.other.pause("a", 10)
    assert [await kit.left("a"), await kit.left("a", other=True)] == [30, 30]
    await kit.other.pause("a", 60)
    assert [await kit.left("a"), await kit.left("a", other=True)] == [60, 60]


async def test_names_have_nothing_in_common(kit: Kit) -> None:
    """However alike they look, and whatever is in them."""
    names = ["acme/c ", "acme/c search", "acme/c  search", "", " ", "{acme}/c", "a:b", "ä", "%20", "\ud800", "x\ny"]
    for number, name in enumerate(names):
        await kit.pauses.pause(name, 100 + number)
    assert [await kit.left(name, other=True) for name in names] == [100 + number for number in range(len(names))]
    assert await kit.left("acme/c search ", other=True) == 0


@pytest.mark.parametrize("seconds", [0.0, -0.0, -5.0, -math.inf, math.nan])
async def test_what_is_no_time_is_no_pause(kit: Kit, seconds: float) -> None:
    """And takes none away."""
    await kit.pauses.pause("a", seconds)
    assert await kit.pauses.seconds_left(["a"]) == 0.0
    await kit.pauses.pause("a", 30)
    await kit.pauses.pause("a", seconds)
    assert await kit.left("a", other=True) == 30


@pytest.mark.parametrize("seconds", [MOST_SECONDS + 1, 1e300, math.inf])
async def test_nobody_is_left_alone_for_longer_than_a_day(kit: Kit, seconds: float) -> None:
    """Whatever a vendor says."""
    await kit.pauses.pause("a", seconds)
    assert [await kit.left("a"), await kit.left("a", other=True)] == [MOST_SECONDS] * 2


async def test_many_at_once(kit: Kit) -> None:
    """The longest of all."""
    await asyncio.gather(*((kit.other if n % 2 else kit.pauses).pause("a", n) for n in range(1, 100)))
    assert [await kit.left("a"), await kit.left("a", other=True)] == [99, 99]
