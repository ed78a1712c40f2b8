"""Races of decisions and uses, and what must hold however they end.

Each case is a call that waits. Everybody who may and may not decide does so at once on two gateways, its time may
run out meanwhile, its caller may give it up, and both gateways try to run it several times: as it was approved, and
with each bound field changed.
"""

import asyncio
import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any

from sqlalchemy import select, update

from fakes.approvals import READ, SEND, Office, asking, parked, person, saying
from fakes.clock import FakeClock
from fakes.principals import principal
from gateway.approvals.base import Approval
from gateway.call import ApprovalUse, CallerKind, Principal
from gateway.errors import Refusal, Refused
from gateway.idempotency.base import Claim
from gateway.settings.approvals import ApprovalSettings
from gateway.store import approvals
from gateway.store.database import Database, Session
from gateway.store.schema import approval_decisions
from gateway.store.schema import approvals as rows

SECONDS = 100.0
AT_ONCE = 4
ROOM = ApprovalSettings(most_open_per_agent=10_000)
"""Some of the calls are never decided."""
_REQUESTER = principal(id="rita", kind=CallerKind.HUMAN)


@dataclass(frozen=True, slots=True)
class Ran:
    """An execution that was let through, and the time just before it asked."""

    use: ApprovalUse
    at: float


@dataclass(frozen=True, slots=True)
class Case:
    """One call that waits, and the gateways that may run it."""

    chance: random.Random
    clock: FakeClock
    offices: tuple[Office, Office]
    asked: Approval
    right: ApprovalUse
    key: str
    ran: list[Ran]
    decisions: list[str] = field(default_factory=list)
    """What each who wanted to decide was told: `taken`, or why not."""
    uses: list[str] = field(default_factory=list)
    """The same of each that wanted to run it: `ran` or `refused`."""

    def gateway(self) -> Office:
        """One of them."""
        return self.chance.choice(self.offices)


async def approval_races(
    database: Database, *, cases: int, seed: int = 1, keep: Callable[[dict[str, Any]], None] = lambda _record: None
) -> list[str]:
    """What was violated in so many cases, a sentence each; empty when everything held. `keep` is handed what happened
    in each, as JSON can hold it.
    """
    chance = random.Random(seed)
    found: list[str] = []
    for begin in range(0, cases, AT_ONCE):
        batch = range(begin, min(begin + AT_ONCE, cases))
        seeds = [chance.getrandbits(32) for _ in batch]
        for record in await asyncio.gather(*(_case(database, each) for each in seeds)):
            keep(record)
            found += violations_in(record)
    return found


def violations_in(record: dict[str, Any]) -> list[str]:
    """What was violated in one case, a sentence each, by nothing but its record."""
    ran, approving, denying = record["ran"], set(record["approving"]), set(record["denying"])
    rules = {
        f"it ran {len(ran)} times": len(ran) > 1,
        "it ran with a bound field changed": any(each["use"] != record["bound"] for each in ran),
        "it ran after its time": any(each["at"] >= record["expires_at"] for each in ran),
        "it ran with too few approvals": bool(ran) and len(approving) < record["count"],
        "it ran though somebody denied it": bool(ran) and bool(denying),
        "the requester decided": record["requester"] in map(str.casefold, approving | denying),
        "a program decided": not set(record["kinds"]) <= {CallerKind.HUMAN.value},
        f"it ran {len(ran)} times, and the approval is {record['state']}": bool(ran) != (record["state"] == "used"),
    }
    return [f"seed {record['seed']}: {sentence}" for sentence, is_broken in rules.items() if is_broken]


@contextlib.contextmanager
def without_binding() -> Iterator[None]:
    """The mutant: an approval is used whatever is about to run."""

    async def unbound(session: Session, approval_id: str, *, now: datetime, **_bound: Any) -> bool:
        column = rows.c
        at = (column.tenant == session.tenant, column.approval_id == approval_id)
        usable = (column.state == "approved", column.expires_at > now)
        return (await session.execute(update(rows).where(*at, *usable).values(state="used", used_at=now))).rowcount == 1

    before, approvals.use = approvals.use, unbound
    try:
        yield
    finally:
        approvals.use = before


async def _case(database: Database, seed: int) -> dict[str, Any]:
    case = await _begun(database, random.Random(seed))
    doing = [*_deciding(case), *(_running(case) for _ in range(case.chance.randint(2, 4))), _passing(case)]
    if case.chance.random() < 0.2:
        doing.append(_giving_up(case))
    case.chance.shuffle(doing)
    await asyncio.gather(*doing)
    # Most decisions come too late for those: whatever the end is, it has to hold for who comes later.
    await asyncio.gather(*(_running(case) for _ in range(3)))
    return {"seed": seed, "decisions": case.decisions, "uses": case.uses, **await _record(database, case)}


async def _begun(database: Database, chance: random.Random) -> Case:
    clock = FakeClock()
    first, second = (Office(database, clock, writer, ROOM) for writer in ("w1", "w2"))
    is_write = chance.random() < 0.7
    waiting = parked(
        clock,
        principal=_REQUESTER,
        tool=SEND if is_write else READ,
        decision=asking(count=chance.randint(1, 2), seconds=int(SECONDS)),
    )
    waiting = waiting if is_write else replace(waiting, key="")
    pending = await first.approvals.park(waiting)
    asked = await first.desk.get(person(), pending.approval_id)
    right = ApprovalUse(
        approval_id=asked.approval_id,
        arguments_digest=asked.arguments_digest,
        tool_version=asked.tool_version,
        connection=asked.connection,
    )
    return Case(chance, clock, (first, second), asked, right, waiting.key, [])


def _deciding(case: Case) -> Iterator[Any]:
    """Everybody at once, some more than once."""
    nobody = person("rita"), person("RITA"), person("helper-1", kind=CallerKind.AGENT), person("dan", "clerk")
    everybody = [person("ann"), person("ann"), person("bob"), person("cid"), *case.chance.sample(nobody, 2)]
    case.chance.shuffle(everybody)
    is_denied = case.chance.random() < 0.15
    for number, who in enumerate(everybody):
        yield _decide(case, who, approve=not (is_denied and number == 0))


async def _decide(case: Case, who: Principal, *, approve: bool) -> None:
    await _later(case)
    text = "hello" if case.chance.random() < 0.9 else "other"
    told = "taken"
    try:
        await case.gateway().desk.decide(who, saying(case.asked.approval_id, approve=approve, text=text))
    except Refused as refused:
        told = refused.kind.value
    case.decisions.append(f"{who.id} {'approve' if approve else 'deny'}: {told}")


async def _running(case: Case) -> None:
    """A gateway runs the call once it is approved, as it was or changed."""
    await _later(case)
    office = case.gateway()
    use = case.right
    if case.chance.random() < 0.5:
        changed = case.chance.choice(("arguments_digest", "tool_version", "connection"))
        use = replace(use, **{changed: "changed"})
    at = case.clock.now()
    is_let_through = await _is_let_through(case, office, use)
    case.uses.append("ran" if is_let_through else "refused")
    if is_let_through:
        case.ran.append(Ran(use, at))


async def _is_let_through(case: Case, office: Office, use: ApprovalUse) -> bool:
    try:
        if not case.key:
            approved = await office.approvals.approved("acme", case.asked.approval_id)
            if approved is None:
                return False
            await office.approvals.use(approved, use, case.clock.now())
            return True
        call_id = case.asked.call_id
        claim = Claim(
            key=case.key,
            call_id=call_id,
            effect_id=call_id,
            arguments_digest=use.arguments_digest,
            approval=use,
            kind="execution",
        )
        return await office.keys.of("acme").claim(claim, b"{}") is None
    except Refusal:
        return False


async def _passing(case: Case) -> None:
    """The time passes, sometimes all of it."""
    await _later(case)
    case.clock.advance(case.chance.choice((0.0, 1.0, SECONDS - 1, SECONDS, SECONDS + 1)))


async def _giving_up(case: Case) -> None:
    await _later(case)
    await case.gateway().approvals.withdraw("acme", case.asked.approval_id)


async def _later(case: Case) -> None:
    """After some turns of the loop, and so at any point of what the others do."""
    for _ in range(case.chance.randint(0, 30)):
        await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class _End:
    """How a case ended, as the store has it."""

    state: str
    approving: frozenset[str]
    denying: frozenset[str]
    kinds: frozenset[str]


async def _end(database: Database, approval_id: str) -> _End:
    row, said = rows.c, approval_decisions.c
    async with database.tenant("acme", is_read=True) as session:
        state = await session.execute(select(row.state).where(row.approval_id == approval_id))
        decided = await session.execute(
            select(said.person, said.person_kind, said.decision).where(said.approval_id == approval_id)
        )
        found = list(decided)
        return _End(
            state=state.scalar_one(),
            approving=frozenset(each.person for each in found if each.decision == "approve"),
            denying=frozenset(each.person for each in found if each.decision == "deny"),
            kinds=frozenset(each.person_kind for each in found),
        )


async def _record(database: Database, case: Case) -> dict[str, Any]:
    asked, end = case.asked, await _end(database, case.asked.approval_id)
    return {
        "approval_id": asked.approval_id,
        "requester": _REQUESTER.id,
        "bound": asdict(case.right),
        "count": asked.terms.count,
        "expires_at": asked.expires_at,
        "state": end.state,
        "approving": sorted(end.approving),
        "denying": sorted(end.denying),
        "kinds": sorted(end.kinds),
        "ran": [{"use": asdict(each.use), "at": each.at} for each in case.ran],
    }
