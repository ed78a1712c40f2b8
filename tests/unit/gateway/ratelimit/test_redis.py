"""The limiter in Redis, above a client that says what a test wants. What it counts is tested in the contract."""

import asyncio
from fractions import Fraction

import pytest
from fakes.clock import FakeClock
from fakes.redis import FakeRedis, yes
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import Fault
from gateway.clients.redis import Answer, RedisFailed, ScriptCall
from gateway.ratelimit.base import Checks, LimiterDown
from gateway.ratelimit.breaker import PROBE_SECONDS
from gateway.ratelimit.redis import IN_FLIGHT, MAX_TOGETHER, RedisLimiter, _bucket, key_of
from gateway.rows import Rate

RATE = Rate(per_minute=60, burst=2)
ONE: Checks = ((("tool", "acme", "helper", "echo"), RATE),)
TIMEOUT = RedisFailed("the server did not answer in time", Fault.TIMEOUT)


def limiter(client: FakeRedis, clock: FakeClock | None = None) -> RedisLimiter:
    """One over that client."""
    return RedisLimiter(client, clock or FakeClock(), prefix="gate")


async def settle() -> None:
    """Let everything run that can."""
    for _ in range(10):
        await asyncio.sleep(0)


async def down(one: RedisLimiter) -> LimiterDown:
    """What a take meets with."""
    with pytest.raises(LimiterDown) as caught:
        await one.take(ONE)
    return caught.value


async def test_takes_of_one_turn_go_together() -> None:
    """Those that come while a few round trips are under way wait for the end of one, and go together too."""
    client = FakeRedis()
    client.gate.clear()
    one = limiter(client)
    takes = []
    for _ in range(IN_FLIGHT + 2):
        takes += [asyncio.ensure_future(one.take(ONE)) for _ in range(5)]
        await settle()
    assert [len(batch) for batch in client.batches] == [5] * IN_FLIGHT
    client.gate.set()
    assert await asyncio.gather(*takes) == [(-1, 0.0)] * len(takes)
    assert [len(batch) for batch in client.batches] == [5] * IN_FLIGHT + [10]
    await one.stop()


async def test_a_round_trip_has_a_bound() -> None:
    """However many wait."""
    client = FakeRedis()
    await asyncio.gather(*[limiter(client).take(ONE) for _ in range(2)])
    one = limiter(client)
    client.batches.clear()
    await asyncio.gather(*[one.take(ONE) for _ in range(2 * MAX_TOGETHER + 1)])
    assert [len(batch) for batch in client.batches] == [MAX_TOGETHER, MAX_TOGETHER, 1]


async def test_who_has_gone_away_takes_nothing_and_disturbs_nobody() -> None:
    """Before the question is sent and after."""
    client = FakeRedis()
    client.gate.clear()
    one = limiter(client)
    first, second, third = (asyncio.ensure_future(one.take(ONE)) for _ in range(3))
    await asyncio.sleep(0)  # they wait, and nothing is sent yet
    first.cancel()
    await settle()
    assert [len(batch) for batch in client.batches] == [2]
    second.cancel()
    await settle()
    client.gate.set()
    assert await third == (-1, 0.0)
    assert first.cancelled()
    assert second.cancelled()
    assert one.status().is_up


async def test_a_spent_bucket_is_named_with_its_wait() -> None:
    """In seconds."""
    client = FakeRedis()
    client.answer = lambda call: [1, 2_500_000, call.arguments[0].encode()]
    assert await limiter(client).take((*ONE, (("connection", "acme", "mail"), RATE))) == (1, 2.5)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        b"OK",
        1,
        [],
        [-1, 0],
        [-1, 0, b"another call's word"],
        [-1, 0, b"1", b"more"],
        [-1, 1, b"1"],
        [0, 0, b"1"],
        [0, -5, b"1"],
        [1, 5, b"1"],
        [-2, 5, b"1"],
        [b"-1", b"0", b"1"],
        [[-1, 0, b"1"]],
        [-1, 0, 1],
    ],
)
async def test_anything_but_the_scripts_own_answer_to_this_call_is_down(answer: Answer) -> None:
    """Never a yes; and no connection is trusted any more."""
    client = FakeRedis()
    client.answer = lambda call: answer
    one = limiter(client)
    assert (await down(one)).fault is Fault.MALFORMED
    assert client.spoilt == 1
    assert not one.status().is_up
    await one.stop()


async def test_an_answer_for_each_call_or_for_none() -> None:
    """A client that loses one is not believed about the others."""
    client = FakeRedis()
    one = limiter(client)
    client.answer = yes

    async def run(script: object, calls: list[ScriptCall]) -> list[Answer | RedisFailed]:
        return [yes(call) for call in calls[1:]]

    client.run = run  # type: ignore[method-assign,assignment]
    results = await asyncio.gather(one.take(ONE), one.take(ONE), return_exceptions=True)
    assert [type(result) for result in results] == [LimiterDown, LimiterDown]
    await one.stop()


async def test_whatever_breaks_is_down_until_a_probe_is_answered() -> None:
    """Nobody asks for what nobody foresaw a second time, and no text of it is told."""
    client, clock = FakeRedis(), FakeClock()
    client.fails = KeyError("s3cret")  # type: ignore[assignment]
    one = limiter(client, clock)
    assert str(await down(one)) == "the server could not be asked (KeyError)"
    assert not one.status().is_up
    client.fails = None
    clock.advance(PROBE_SECONDS)
    await settle()
    assert await one.take(ONE) == (-1, 0.0)
    await one.stop()


async def test_a_dead_server_is_asked_by_one_probe_alone() -> None:
    """Those that wait are refused at once, those that come later are not sent; when a probe is answered all is well."""
    client, clock = FakeRedis(), FakeClock()
    client.fails = TIMEOUT
    client.gate.clear()
    one = limiter(client, clock)
    takes = []
    for _ in range(IN_FLIGHT + 1):
        takes.append(asyncio.ensure_future(one.take(ONE)))
        await settle()
    client.gate.set()
    results = await asyncio.gather(*takes, return_exceptions=True)
    assert [getattr(result, "fault", None) for result in results] == [Fault.TIMEOUT] * len(takes)
    assert len(client.batches) == IN_FLIGHT
    assert (await down(one)).fault is Fault.TIMEOUT
    assert len(client.batches) == IN_FLIGHT
    assert one.status().problem == "the server did not answer in time"
    client.fails = None
    clock.advance(PROBE_SECONDS)
    await settle()
    assert one.status().is_up
    assert await one.take(ONE) == (-1, 0.0)
    probe = client.batches[IN_FLIGHT][0]
    assert probe.keys == ("gate:{t.acme}:probe",)
    await one.stop()


async def test_one_bad_bucket_is_the_trouble_of_its_caller_alone() -> None:
    """The others are answered and the breaker stays closed."""
    client = FakeRedis()
    bad = RedisFailed("the server answered with an error (WRONGTYPE)", Fault.ERROR, is_of_call=True)
    client.answer = lambda call: bad if "other" in call.keys[0] else yes(call)
    one = limiter(client)
    other: Checks = ((("tool", "acme", "other", "echo"), RATE),)
    results = await asyncio.gather(one.take(ONE), one.take(other), return_exceptions=True)
    assert results[0] == (-1, 0.0)
    assert isinstance(results[1], LimiterDown)
    assert one.status().is_up
    assert client.spoilt == 0


async def test_a_server_that_is_away_does_not_stop_the_start() -> None:
    """Takes are down at once; the start of one that is there is up."""
    client = FakeRedis()
    one = limiter(client)
    await one.start()
    assert one.status().is_up
    client.fails = RedisFailed("the server cannot be reached", Fault.REFUSED)
    two = limiter(client)
    await two.start()
    client.batches.clear()
    assert (await down(two)).fault is Fault.REFUSED
    assert client.batches == []
    await one.stop()
    await two.stop()


async def test_stopping_answers_whoever_waits() -> None:
    """Nobody hangs, and the client is closed."""
    client = FakeRedis()
    client.gate.clear()
    one = limiter(client)
    takes = []
    for _ in range(IN_FLIGHT + 1):
        takes.append(asyncio.ensure_future(one.take(ONE)))
        await settle()
    await one.stop()
    results = await asyncio.gather(*takes, return_exceptions=True)
    assert [type(result) for result in results] == [LimiterDown] * len(takes)
    assert client.is_closed


async def test_nothing_to_check_asks_nobody() -> None:
    """Not even when the server is down."""
    client = FakeRedis()
    client.fails = TIMEOUT
    one = limiter(client)
    await one.start()
    assert await one.take(()) == (-1, 0.0)
    await one.stop()


def test_keys_name_what_they_count() -> None:
    """Readable where names are plain."""
    assert key_of("gate", ("tool", "acme", "helper", "echo")) == "gate:{t.acme}:tool:helper:echo"
    assert key_of("gate", ("tenant", "acme")) == "gate:{t.acme}:tenant"


NAMES = st.text(alphabet=st.sampled_from("a:{}.%t/ é\x00\U0001f600"), max_size=4)


@given(st.tuples(NAMES, NAMES, NAMES), st.tuples(NAMES, NAMES, NAMES))
def test_no_names_make_two_keys_equal_or_leave_their_tenants_slot(
    one: tuple[str, str, str], two: tuple[str, str, str]
) -> None:
    """Whatever stands in them, braces and colons included. The tag of a key is the tenant's and is never empty."""
    first, second = key_of("gate", one), key_of("gate", two)
    assert (first == second) == (one == two)
    tag = first[first.index("{") + 1 : first.index("}")]
    assert first.count("{") == first.count("}") == 1
    assert tag.startswith("t.")
    assert (tag == second[second.index("{") + 1 : second.index("}")]) == (one[1] == two[1])


@given(
    per_minute=st.floats(min_value=1e-6, max_value=1e9, exclude_min=True),
    burst=st.integers(min_value=1, max_value=1_000_000_000),
)
def test_every_sum_of_a_bucket_is_exact_and_no_rate_grows(per_minute: float, burst: int) -> None:
    """Cost is a whole number of units, a full debt has less than 2^53 of them, and no call costs less than is due."""
    cost, room, unit = (Fraction(float(number)) for number in _bucket(Rate(per_minute=per_minute, burst=burst)))
    assert unit.numerator == 1 or unit.denominator == 1
    assert (unit.numerator * unit.denominator).bit_count() == 1
    assert (cost / unit).denominator == 1
    assert burst * cost / unit < 2**53
    due = Fraction(60_000_000.0 / per_minute)
    assert due <= cost <= due * (1 + Fraction(1, 2_000_000))
    assert (burst - 1) * cost <= room <= (burst - 1) * cost + cost / 512 + unit
