"""GCRA in Redis or Valkey: one count for every replica, on the server's own clock."""

import asyncio
import math
from collections.abc import Sequence
from importlib import resources
from typing import NamedTuple, Protocol
from urllib.parse import quote

from adapters.base import Clock, Fault
from gateway.clients.redis import Answer, RedisFailed, Script, ScriptCall
from gateway.ratelimit.base import Checks, Key, LimiterDown, LimiterStatus
from gateway.ratelimit.breaker import Breaker
from gateway.rows import Rate

IN_FLIGHT = 2
"""Round trips at once. What is asked meanwhile goes together into the next."""
MAX_TOGETHER = 256
"""Takes in one round trip: far fewer than a server does within the deadline."""
_MAX_KNOWN = 100_000
_SLACK_US = 1e-3
"""A billionth of a second is rounding, not a call too early."""
_PROBE_RATE = Rate(per_minute=60_000.0, burst=1000)
_Result = tuple[int, float] | LimiterDown


class Client(Protocol):
    """What is needed of `gateway.clients.redis.RedisClient`."""

    async def open(self) -> None:
        """Connect in advance. Raises `RedisFailed`."""
        ...

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Answer | RedisFailed]:
        """One answer per call. Raises `RedisFailed`."""
        ...

    def spoil(self) -> None:
        """Trust no connection any more."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class _Take(NamedTuple):
    """A caller that waits. It is handed a result always, so that nobody has to fetch an exception."""

    call: ScriptCall
    waiter: "asyncio.Future[_Result]"


class RedisLimiter:
    """Counts on a server. Takes of one turn of the loop share a round trip.

    A server that fails is not asked again by any caller until a probe in the background was answered; until then
    every take is `LimiterDown` at once. A take that was sent and has no answer may have counted: the safe side.
    Only what the script says, about this very take, lets a call pass.
    """

    def __init__(self, client: Client, clock: Clock, *, prefix: str, script: Script | None = None) -> None:
        self._client = client
        self._prefix = prefix
        self._script = script or gcra()
        self._breaker = Breaker(self._probe, clock)
        self._suspect = _tag_of(key_of(prefix, ("probe", "")))
        self._known: dict[Checks, ScriptCall] = {}
        self._queue: list[_Take] = []
        self._batches: set[asyncio.Task[None]] = set()
        self._is_due = False
        self._words = 0

    async def start(self) -> None:
        """Connect. A server that is away opens the breaker, which is all."""
        try:
            await self._probe()
        except LimiterDown as error:
            self._breaker.open(error)

    async def stop(self) -> None:
        """Whoever still waits is told `LimiterDown`."""
        await self._breaker.stop()
        self._refuse(LimiterDown("the gateway is stopping", Fault.ERROR))
        batches = tuple(self._batches)
        for batch in batches:
            batch.cancel()
        await asyncio.gather(*batches, return_exceptions=True)
        await self._client.close()

    def status(self) -> LimiterStatus:
        """Down while the breaker is open."""
        why = self._breaker.why
        return LimiterStatus(is_up=why is None, problem="" if why is None else str(why))

    async def take(self, checks: Checks) -> tuple[int, float]:
        """Take one from every key, or from none. See `Limiter`."""
        if not checks:
            return -1, 0.0
        if (why := self._breaker.why) is not None:
            raise LimiterDown(str(why), why.fault)
        loop = asyncio.get_running_loop()
        take = _Take(self._packed(checks), loop.create_future())
        self._queue.append(take)
        if not self._is_due:
            self._is_due = True
            loop.call_soon(self._send)
        answer = await take.waiter
        if isinstance(answer, LimiterDown):
            raise answer
        return answer

    def _send(self) -> None:
        """Send what waits, unless enough is under way; then the end of that does it."""
        self._is_due = False
        while self._queue and len(self._batches) < IN_FLIGHT:
            # Who has gone away meanwhile takes nothing.
            takes = [take for take in self._queue[:MAX_TOGETHER] if not take.waiter.done()]
            del self._queue[:MAX_TOGETHER]
            if takes:
                batch = asyncio.get_running_loop().create_task(self._run(takes))
                self._batches.add(batch)
                batch.add_done_callback(self._ended)

    def _ended(self, batch: asyncio.Task[None]) -> None:
        self._batches.discard(batch)
        self._send()

    async def _run(self, takes: list[_Take]) -> None:
        """One round trip. Every waiter is answered when it ends, however it does."""
        answers: list[_Result] = []
        why = LimiterDown("the gateway is stopping", Fault.ERROR)
        try:
            answers = await self._ask([take.call for take in takes])
        except RedisFailed as error:
            why = self._fail(takes[0].call, error)
        except Exception as error:  # noqa: BLE001 - whatever broke, nobody knows what was counted
            broken = RedisFailed(f"the server could not be asked ({type(error).__name__})", Fault.ERROR)
            why = self._fail(takes[0].call, broken)
        finally:
            for index, take in enumerate(takes):
                if not take.waiter.done():
                    take.waiter.set_result(answers[index] if answers else LimiterDown(str(why), why.fault))

    async def _ask(self, calls: list[ScriptCall]) -> list[_Result]:
        """What each take got. Raises `RedisFailed`."""
        first = self._words + 1
        self._words += len(calls)
        named = [ScriptCall(call.keys, (str(first + index), *call.arguments)) for index, call in enumerate(calls)]
        answers = await self._client.run(self._script, named)
        if len(answers) != len(named):
            raise _malformed()
        return [self._result(answer, call) for answer, call in zip(answers, named, strict=True)]

    def _result(self, answer: Answer | RedisFailed, call: ScriptCall) -> _Result:
        """What the script says. Anything else than exactly its form, with this call's own word, is a failure."""
        # cases: 1. all had one left  2. one is spent  3. this bucket cannot be read  4. the server is not well
        match answer:
            case [-1, 0, bytes(word)] if word.decode("latin-1") == call.arguments[0]:
                return -1, 0.0
            case [int(index), int(wait_us), bytes(word)] if (
                word.decode("latin-1") == call.arguments[0] and 0 <= index < len(call.keys) and wait_us > 0
            ):
                return index, wait_us / 1e6
            case RedisFailed(is_of_call=True):
                return LimiterDown(str(answer), answer.fault)
        return self._fail(call, answer if isinstance(answer, RedisFailed) else _malformed())

    def _fail(self, call: ScriptCall, error: RedisFailed) -> LimiterDown:
        """Ask nothing more, and refuse whoever waits. The probe will ask for the same slot as what failed."""
        why = LimiterDown(str(error), error.fault)
        self._client.spoil()
        self._suspect = _tag_of(call.keys[0])
        self._breaker.open(why)
        self._refuse(why)
        return why

    def _refuse(self, why: LimiterDown) -> None:
        waiting, self._queue = self._queue, []
        for take in waiting:
            if not take.waiter.done():
                take.waiter.set_result(LimiterDown(str(why), why.fault))

    async def _probe(self) -> None:
        """A take of nobody's, which writes as every take does. Raises `LimiterDown`."""
        call = ScriptCall((f"{self._suspect}:probe",), ("0", *_bucket(_PROBE_RATE)))
        try:
            await self._client.open()
            answers = await self._client.run(self._script, [call])
        except RedisFailed as error:
            raise LimiterDown(str(error), error.fault) from error
        if isinstance(result := self._result(answers[0], call), LimiterDown):
            raise result

    def _packed(self, checks: Checks) -> ScriptCall:
        """The checks as the script takes them; made once for those that come again."""
        call = self._known.get(checks)
        if call is None:
            if len(self._known) >= _MAX_KNOWN:
                self._known.clear()
            keys = tuple(key_of(self._prefix, key) for key, _ in checks)
            call = ScriptCall(keys, tuple(number for _, rate in checks for number in _bucket(rate)))
            self._known[checks] = call
        return call


def gcra() -> Script:
    """The script that every gateway of a deployment runs."""
    return Script(resources.files("gateway.ratelimit").joinpath("gcra.lua").read_text("utf-8"))


def key_of(prefix: str, key: Key) -> str:
    """`PREFIX:{TENANT}:NAME:…`, every part quoted, so that no choice of names makes two keys equal.

    A cluster places a key by what stands in the braces: all keys of one tenant are on one server, and no name can
    add a brace of its own. The tenant is never empty there, which would place the key by all of it.
    """
    name, tenant, *rest = (quote(part, safe="") for part in key)
    return ":".join((prefix, f"{{t.{tenant}}}", name, *rest))


def _malformed() -> RedisFailed:
    return RedisFailed("the answer is not what the script says", Fault.MALFORMED)


def _tag_of(key: str) -> str:
    return key[: key.index("}") + 1]


def _bucket(rate: Rate) -> tuple[str, str, str]:
    """Cost of one call, room for the others of a burst, and the unit of both, in microseconds.

    The unit is the power of two of which a whole burst has less than 2^52, so that doubles add and subtract
    exactly. The cost is rounded up to it: over a burst of a billion that makes a rate smaller by one part in two
    million at most, and never larger.
    """
    interval_us = 60e6 / rate.per_minute
    _, exponent = math.frexp(interval_us * rate.burst)
    unit = math.ldexp(1.0, exponent - 52)
    cost = math.ceil(interval_us / unit) * unit
    room = (rate.burst - 1) * cost + min(_SLACK_US, cost / 1024)
    return repr(cost), repr(room), repr(unit)
