"""Pauses that vendors asked for, in Redis or Valkey: one for every replica, on the server's own clock."""

from collections.abc import Sequence
from typing import Protocol
from urllib.parse import quote

from adapters.base import Clock, Fault, Pauses
from gateway.clients.redis import Answer, RedisFailed, Script, ScriptCall
from gateway.ratelimit.base import LimiterDown
from gateway.ratelimit.breaker import Breaker

MOST_SECONDS = 86_400.0
"""No vendor is left alone for longer at once."""
LEFT = Script("return redis.call('PTTL', KEYS[1])")
PAUSE = Script("""
local left = redis.call('PTTL', KEYS[1])
if left < tonumber(ARGV[1]) then redis.call('SET', KEYS[1], '', 'PX', ARGV[1]) end
return left
""")


class Client(Protocol):
    """What is needed of `gateway.clients.redis.RedisClient`."""

    async def open(self) -> None:
        """Connect in advance. Raises `RedisFailed`."""
        ...

    async def run(self, script: Script, calls: Sequence[ScriptCall]) -> list[Answer | RedisFailed]:
        """One answer per call. Raises `RedisFailed`."""
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...


class RedisPauses:
    """`Pauses` over a server. What this process was told itself it also knows itself: while the server is away that
    is all, and nobody waits for it but a probe in the background. Use it on one loop.
    """

    def __init__(self, client: Client, local: Pauses, clock: Clock, *, prefix: str) -> None:
        """The client becomes its own, to close. `local` is what this process knows."""
        self._client = client
        self._local = local
        self._prefix = prefix
        self._breaker = Breaker(self._probe, clock)

    async def start(self) -> None:
        """Connect in advance. A server that is away is no error."""
        try:
            await self._probe()
        except LimiterDown as down:
            self._breaker.open(down)

    async def stop(self) -> None:
        """Close every connection."""
        await self._breaker.stop()
        await self._client.close()

    @property
    def is_shared(self) -> bool:
        """Whether replicas know of each other's pauses now."""
        return self._breaker.why is None

    async def seconds_left(self, names: Sequence[str]) -> float:
        """How long the longest of these pauses still is; 0.0 when there is none. Never raises."""
        answers = await self._asked(LEFT, [ScriptCall((self.key_of(name),), ()) for name in names])
        told = (answer / 1000 for answer in answers if isinstance(answer, int) and answer > 0)
        return max(await self._local.seconds_left(names), *told, 0.0)

    async def pause(self, name: str, seconds: float) -> None:
        """Leave this alone for so long, a day at most; a longer pause that is known already stays. Never raises."""
        await self._local.pause(name, seconds)
        milliseconds = round(min(seconds, MOST_SECONDS) * 1000) if seconds > 0 else 0
        if milliseconds:
            await self._asked(PAUSE, [ScriptCall((self.key_of(name),), (str(milliseconds),))])

    def key_of(self, name: str) -> str:
        """`PREFIX:pause:{NAME}`, the name quoted, so that no two names make one key."""
        return f"{self._prefix}:pause:{{{quote(name, safe='', errors='surrogatepass')}}}"

    async def _asked(self, script: Script, calls: list[ScriptCall]) -> Sequence[Answer | RedisFailed]:
        """The answers; none while the server is away."""
        if not calls or self._breaker.why is not None:
            return ()
        try:
            answers = await self._client.run(script, calls)
        except RedisFailed as failed:
            self._breaker.open(LimiterDown(str(failed), failed.fault))
            return ()
        except Exception as error:  # noqa: BLE001 - a vendor who is asked too early says so again
            self._breaker.open(LimiterDown(f"the server could not be asked ({type(error).__name__})", Fault.ERROR))
            return ()
        return answers

    async def _probe(self) -> None:
        """Raises `LimiterDown`."""
        try:
            await self._client.open()
            answers = await self._client.run(LEFT, [ScriptCall((self.key_of(""),), ())])
        except RedisFailed as failed:
            raise LimiterDown(str(failed), failed.fault) from failed
        if not all(isinstance(answer, int) for answer in answers):
            raise LimiterDown("the answer is not what the script says", Fault.MALFORMED)
