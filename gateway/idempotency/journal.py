"""Idempotency keys in memory, over a journal that survives the process.

The intent is durable before anything is sent, so after a crash a key is at worst taken without need,
never free without reason. Results are held in memory alone: after a restart, or when there is no more
room, a key that is done is known as done without its result.
"""

from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import orjson

from adapters.base import Binary, Clock
from gateway.call import Known, Result, Standing
from gateway.idempotency.base import Claim
from gateway.idempotency.keys import is_own_key

KEEP_SECONDS = 24 * 60 * 60.0
RESULT_BYTES = 64 * 1024 * 1024


class Book(Protocol):
    """What is needed of the journal."""

    async def intent(self, record: dict[str, Any]) -> None:
        """The record is on stable storage. Raises `Refusal(journal_unavailable)`."""
        ...

    def note(self, record: dict[str, Any]) -> None:
        """Append without waiting. Never raises."""
        ...


class JournalKeys:
    """`Keys` over a journal. Everything but the intent is decided in one turn of the loop."""

    def __init__(
        self,
        book: Book,
        *,
        clock: Clock,
        remembered: Iterable[Mapping[str, Any]] = (),
        keep_seconds: float = KEEP_SECONDS,
        result_bytes: int = RESULT_BYTES,
    ) -> None:
        self._book = book
        self._clock = clock
        self._keep_seconds = keep_seconds
        self._known: dict[str, Known] = {}
        self._done: deque[tuple[float, str, str]] = deque()
        """Until when, key and call id of those that are done, in the order in which they are forgotten."""
        self._sizes: OrderedDict[str, int] = OrderedDict()
        """The sizes of the results that are held, oldest first."""
        self._most = self._room = result_bytes
        for record in sorted(remembered, key=lambda record: record.get("until", 0.0)):
            self._remember(record)

    async def look(self, key: str) -> Known | None:
        """What is known of the key; None when it is free."""
        self._forget_old()
        return self._known.get(key)

    async def claim(self, claim: Claim, intent: bytes) -> Known | None:
        """Take the key and make the intent (a JSON object) durable.

        None when the key is ours, or what is known when somebody was faster. Raises
        `Refusal(journal_unavailable)`; nothing may be sent then, and the key is free.
        """
        self._forget_old()
        known = self._known.get(claim.key)
        if known is not None:
            return known
        record = _record("intent", claim)
        record["fields"] = orjson.loads(intent)
        self._known[claim.key] = _as_known(claim, Standing.IN_PROGRESS)
        try:
            await self._book.intent(record)
        except BaseException:  # a cancelled caller as well: nothing was sent, whatever reached the disk
            await self.release(claim)
            raise
        return None

    async def settle(self, claim: Claim, result: Result | None) -> None:
        """The effect happened; a repeated key gets this result, if there is one and while there is room for it.

        A key that nobody can repeat is forgotten at once: a day of them would fill the memory.
        """
        if not self._is_ours(claim):
            return
        until = self._clock.now()
        if is_own_key(claim.key, claim.call_id):
            del self._known[claim.key]
        else:
            until += self._keep_seconds
            self._done.append((until, claim.key, claim.call_id))
            self._known[claim.key] = _as_known(claim, Standing.DONE, self._hold(claim.key, result))
        self._book.note({**_record("settled", claim), "until": until})

    async def release(self, claim: Claim) -> None:
        """It is certain that nothing happened: the key is free again."""
        if self._is_ours(claim):
            del self._known[claim.key]
            self._book.note(_record("released", claim))

    async def leave_unknown(self, claim: Claim) -> None:
        """Nobody knows whether it happened: the key stays taken."""
        if self._is_ours(claim):
            self._known[claim.key] = _as_known(claim, Standing.UNKNOWN)
            self._book.note(_record("unknown", claim))

    def _is_ours(self, claim: Claim) -> bool:
        known = self._known.get(claim.key)
        return known is not None and known.call_id == claim.call_id and known.standing is not Standing.DONE

    def _hold(self, key: str, result: Result | None) -> Result | None:
        """The result when there is room for it; older ones make room."""
        if result is None:
            return None
        size = _size(result)
        if size > self._most:
            return None
        while size > self._room:
            self._drop_result(next(iter(self._sizes)))
        self._sizes[key] = size
        self._room -= size
        return result

    def _drop_result(self, key: str) -> None:
        self._room += self._sizes.pop(key)
        known = self._known[key]
        self._known[key] = Known(
            standing=known.standing,
            call_id=known.call_id,
            effect_id=known.effect_id,
            arguments_digest=known.arguments_digest,
        )

    def _forget_old(self) -> None:
        now = self._clock.now()
        while self._done and self._done[0][0] <= now:
            _until, key, call_id = self._done.popleft()
            known = self._known.get(key)
            if known is None or known.call_id != call_id:
                continue
            if key in self._sizes:
                self._room += self._sizes.pop(key)
            del self._known[key]

    def _remember(self, record: Mapping[str, Any]) -> None:
        standing = Standing(record["standing"])
        self._known[record["key"]] = Known(
            standing=standing,
            call_id=record["call_id"],
            effect_id=record["effect_id"],
            arguments_digest=record["arguments_digest"],
        )
        if standing is Standing.DONE:
            self._done.append((record["until"], record["key"], record["call_id"]))


def _record(kind: str, claim: Claim) -> dict[str, Any]:
    return {
        "type": kind,
        "key": claim.key,
        "call_id": claim.call_id,
        "effect_id": claim.effect_id,
        "arguments_digest": claim.arguments_digest,
    }


def _as_known(claim: Claim, standing: Standing, result: Result | None = None) -> Known:
    return Known(
        standing=standing,
        call_id=claim.call_id,
        effect_id=claim.effect_id,
        arguments_digest=claim.arguments_digest,
        result=result,
    )


def _size(result: Result) -> int:
    """About what the result takes in memory, in bytes."""
    blocks = sum(len(block.data) if isinstance(block, Binary) else 4 * len(block.text) for block in result.content)
    return blocks + len(result.structured_json) + 4 * len(result.receipt) + 512
