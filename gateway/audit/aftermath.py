"""What a gateway left behind when it was killed, or was gone for too long: each of its calls gets its one line.

Who closes the claim of a gateway that is gone writes the line of its call. The closing begins in the journal
before it is done in the store, and its line is written after that, so that a crash in between leaves enough to go on:

1. In the journal and no closing in the store: of a call of our own, it is closed now; of one that we had only
   adopted, nothing was done, and it is forgotten.
2. A closing of ours: the line is written now.
3. A closing of another's: that one has written it, and the call is forgotten here.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import orjson

from adapters.base import Clock, Happened
from gateway.audit.base import Begin, Line, Sink
from gateway.audit.journal import FileJournal
from gateway.audit.recovery import CutOff, begin_of, happened_by, line_of
from gateway.call import Standing
from gateway.errors import Refusal
from gateway.store import keys, writers
from gateway.store.columns import moment_of
from gateway.store.database import Database
from gateway.store.failures import StoreRefused
from gateway.store.writers import OpenClaim, Stand

LAPSED_SECONDS = 30.0
"""How long a lease must be over before others close the claims under it: clocks differ."""
KEEP_CLOSINGS_SECONDS = 30 * 24 * 60 * 60.0
"""How long a gateway may be away and still be told that its calls were closed."""

_HAPPENED = {
    Standing.DONE: Happened.YES,
    Standing.IN_PROGRESS: Happened.UNKNOWN,
    Standing.UNKNOWN: Happened.UNKNOWN,
    Standing.PARKED: None,
}
FindLines = Callable[[Collection[str]], Iterable[Mapping[str, Any]]]
"""The lines of these calls, as far as this state directory has any. Reads files."""


class Aftermath:
    """Closes what was left open. `family` names the state directory's writer, and `writer` this process."""

    def __init__(  # noqa: PLR0913 - its parts, each named at the call
        self,
        *,
        journal: FileJournal,
        sink: Sink,
        database: Database,
        family: str,
        writer: str,
        clock: Clock,
        find_lines: FindLines,
    ) -> None:
        self._journal = journal
        self._sink = sink
        self._database = database
        self._family = family
        self._writer = writer
        self._clock = clock
        self._find_lines = find_lines
        self.closed = 0
        """How many calls of gateways that are gone were closed here since the start."""
        self._doubtful: dict[tuple[str, str], OpenClaim] = {}
        """By tenant and call: closed for all that we know, and then their lines are ours to write."""

    async def own(self, cut: Collection[CutOff], tenants: Iterable[str]) -> int:
        """How many calls of our own, from before a crash, were given their line. Every one has it then.

        Raises `StoreDown`, `StoreRefused` and `Refusal`; what is not done then is done by the next start.
        """
        ended = 0
        for tenant in {*tenants, *(one.tenant for one in cut)}:
            ended += await self._begun(tenant, [one for one in cut if one.tenant == tenant])
            ended += await self._lost(tenant, {one.call_id for one in cut})
        return ended

    async def of_others(self, tenant: str) -> int:
        """How many calls of gateways that are gone were closed, each with its line. Raises the same, once each of them
        had its turn. Calls of this very process end by themselves, however long it was away.
        """
        before = moment_of(self._clock.now() - LAPSED_SECONDS)
        async with self._database.tenant(tenant, is_read=True) as session:
            lapsed = await writers.lapsed_claims(session, before)
        doubtful = [claim for (of, _), claim in self._doubtful.items() if of == tenant]
        claims = {claim.call_id: claim for claim in (*doubtful, *lapsed) if claim.writer != self._writer}
        count, refusals = 0, []
        for claim in claims.values():
            try:
                closed = await self._close(tenant, claim)
            except (StoreRefused, Refusal) as refusal:
                refusals.append(refusal)
                continue
            self.closed += closed
            count += closed
        if refusals:
            raise refusals[0]
        return count

    async def forget(self, tenant: str) -> None:
        """Closings that nobody will ask for any more are gone."""
        before = moment_of(self._clock.now() - KEEP_CLOSINGS_SECONDS)
        async with self._database.tenant(tenant) as session:
            await writers.forget_closings(session, before)

    async def _begun(self, tenant: str, cut: Collection[CutOff]) -> int:
        """Those that the journal knows of."""
        if not cut:
            return 0
        now = moment_of(self._clock.now())
        async with self._database.tenant(tenant) as session:
            open_claims = {claim.call_id: claim for claim in await writers.claims_of(session, self._family, but="")}
            stands = await writers.standings(session, [one.call_id for one in cut])
            for one in cut:
                claim = open_claims.get(one.call_id)
                if claim is not None and not one.is_adopted and _kind(claim) == one.kind:
                    await writers.close(session, claim, one.kind, closed_by=self._family, now=now)
            closed_by = await writers.closed_by(session, [one.call for one in cut])
        return sum([await self._end(one, closed_by.get(one.call), stands) for one in cut])

    async def _end(self, one: CutOff, closed_by: str | None, stands: Mapping[str, Stand]) -> int:
        if (closed_by is None and one.is_adopted) or closed_by not in {None, self._family}:
            self._journal.forget(one.kind, one.call_id)
            return 0
        stand = stands.get(one.call_id)
        if stand is None or not (one.is_adopted or self._is_ours(stand.writer)):
            # Another gateway's run of an approved call tells of the effect itself.
            await self._sink.append(line_of(one.begin, {}, None))
            return 1
        await self._sink.append(line_of(one.begin, _read(stand.intent), _HAPPENED[stand.standing]))
        return 1

    def _is_ours(self, writer: str) -> bool:
        return writer == self._family or writer.startswith(f"{self._family}.")

    async def _lost(self, tenant: str, known: Collection[str]) -> int:
        """Claims of ours of which the journal knows nothing: it was told and not synced when the machine crashed, or
        the call has its line and the store was never told what came of it.
        """
        async with self._database.tenant(tenant, is_read=True) as session:
            left = await writers.claims_of(session, self._family, but=self._writer)
        left = [claim for claim in left if claim.call_id not in known]
        if not left:
            return 0
        kinds = {(_kind(claim), claim.call_id): claim for claim in left}
        lines = {(line["kind"], line["call_id"]): line for line in self._find_lines({one.call_id for one in left})}
        for call in kinds.keys() & lines.keys():
            await self._tell(tenant, kinds[call], happened_by(lines[call]))
        return sum([await self._close(tenant, claim) for call, claim in kinds.items() if call not in lines])

    async def _tell(self, tenant: str, claim: OpenClaim, happened: Happened) -> None:
        """The store hears what the line says. What it reserved stays reserved when that is not known."""
        now = self._clock.now()
        async with self._database.tenant(tenant) as session:
            await keys.end(session, claim, happened, now=moment_of(now), until=moment_of(now + keys.KEEP_SECONDS))

    async def _close(self, tenant: str, claim: OpenClaim) -> int:
        """Close one claim and write its line. 0 when somebody was faster.

        When nobody knows whether the store has closed it, it is asked again until it says so: only a start would
        write the line otherwise.
        """
        begin = _begin(claim, tenant)
        self._journal.begin(begin, is_adopted=True)
        self._doubtful[tenant, claim.call_id] = claim
        is_ours = await self._is_closed(tenant, claim, begin.kind.value)
        del self._doubtful[tenant, claim.call_id]
        if not is_ours:
            self._journal.forget(begin.kind.value, begin.call_id)
            return 0
        await self._sink.append(self._line(begin, claim))
        return 1

    async def _is_closed(self, tenant: str, claim: OpenClaim, kind: str) -> bool:
        """Whether it is closed by us, now or by a transaction of which we had not heard."""
        now, call = moment_of(self._clock.now()), (kind, claim.call_id)
        async with self._database.tenant(tenant) as session:
            if await writers.close(session, claim, kind, closed_by=self._family, now=now):
                return True
            return (await writers.closed_by(session, [call])).get(call) == self._family

    @staticmethod
    def _line(begin: Begin, claim: OpenClaim) -> Line:
        return line_of(begin._asdict(), _read(claim.intent), Happened.UNKNOWN)


def _read(intent: bytes | None) -> dict[str, Any]:
    """What an intent says; nothing when there is none, or it cannot be read: the line must be written."""
    try:
        found = orjson.loads(intent or b"{}")
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, dict) else {}


def _kind(claim: OpenClaim) -> str:
    return str(_read(claim.intent).get("kind", "call"))


def _begin(claim: OpenClaim, tenant: str) -> Begin:
    """The beginning of a call of which there is but its intent."""
    try:
        return begin_of(_read(claim.intent))
    except (KeyError, ValueError):
        unknown = dict.fromkeys(Begin._fields, "")
        return begin_of({**unknown, "kind": "call", "call_id": claim.call_id, "tenant": tenant})
