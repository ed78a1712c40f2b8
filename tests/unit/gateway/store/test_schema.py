"""States that must not be cannot be written, by whatever code."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fakes.claims import LATER, NOW, access_token, approval, budget, connection, decision, event, event_id, parked, put
from real.stores import opened, sqlite_settings
from sqlalchemy import Insert, LargeBinary, Update, inspect, update

from gateway.store.columns import metadata
from gateway.store.failures import StoreRefused
from gateway.store.schema import (
    APPEND_ONLY,
    KEPT,
    TENANT_TABLES,
    access_tokens,
    approval_decisions,
    approvals,
    budgets,
    calls,
    connections,
    event_heads,
    event_ids,
    events,
    idempotency,
    reservations,
    writers,
)


def _key(**more: Any) -> dict[str, Any]:
    claimed = {"call_id": "c9", "effect_id": "e", "arguments_digest": "sha256:aa", "writer": "w1", "claimed_at": NOW}
    return {"tenant": "acme", "key": "k", "standing": "in_progress", "intent": b"{}"} | claimed | more


DONE = {"standing": "done", "intent": None, "settled_at": NOW, "expires_at": LATER}
WRONG = {
    "a standing that there is not": idempotency.insert().values(_key(standing="lost")),
    "open without an intent": idempotency.insert().values(_key(intent=None)),
    "open with a result": idempotency.insert().values(_key(result=b"x")),
    "open with an end": idempotency.insert().values(_key(expires_at=LATER)),
    "done without an end": idempotency.insert().values(_key(**DONE | {"expires_at": None})),
    "done without a time": idempotency.insert().values(_key(**DONE | {"settled_at": None})),
    "unknown with an end": idempotency.insert().values(_key(standing="unknown", expires_at=LATER)),
    "claimed by nobody": idempotency.insert().values(_key(writer="nobody")),
    "a call that is parked with nothing to run": calls.insert().values(parked("acme", "c2", arguments=None)),
    "a call that is over without an outcome": calls.insert().values(parked("acme", "c2", state="finished")),
    "a call with a result that is not over": calls.insert().values(parked("acme", "c2", result=b"x")),
    "two calls parked with one key": calls.insert().values(
        [parked("acme", "c2", key="k"), parked("acme", "c3", key="k")]
    ),
    "an approval by nobody": approvals.insert().values(approval("acme", "a2", needed=0)),
    "an approval that is over before it began": approvals.insert().values(approval("acme", "a2", expires_at=NOW)),
    "an approval used undecided": approvals.insert().values(approval("acme", "a2", state="used", used_at=NOW)),
    "an approval decided too late": approvals.insert().values(
        approval("acme", "a2", state="approved", decided_at=LATER)
    ),
    "an approval used too late": approvals.insert().values(
        approval("acme", "a2", state="used", decided_at=NOW, used_at=LATER + timedelta(seconds=1))
    ),
    "two approvals open for one call": approvals.insert().values(approval("acme", "a2")),
    "a decision by the requester": approval_decisions.insert().values(decision("acme", person="helper-1")),
    "a decision by the requester under another's name": approval_decisions.insert().values(
        decision("acme", person="bob", requester="somebody")
    ),
    "a decision by an agent": approval_decisions.insert().values(decision("acme", person="bot", person_kind="agent")),
    "a second decision by one person": approval_decisions.insert().values(decision("acme", decision="deny")),
    "a decision without a reason": approval_decisions.insert().values(decision("acme", person="bob", reason="")),
    "a budget below nothing": budgets.insert().values(budget("acme", name="other", reserved=-1)),
    "a reservation of no budget": reservations.insert().values(
        tenant="acme", effect_id="e", scope="run", name="r", unit="EUR", period="", amount=1, reserved_at=NOW
    ),
    "a row without a version": connections.insert().values(connection("acme", "other") | {"version": 0}),
    "an access token that never ends": access_tokens.insert().values(
        access_token("acme", connection="other", expires_at=None)
    ),
    "a lease of nobody's": access_tokens.insert().values(access_token("acme", connection="other", lease_until=LATER)),
    "a credential that is owed and is not there": access_tokens.insert().values(
        access_token("acme", connection="other", sealed=None, expires_at=None, is_owed=True)
    ),
    "two events of one id": events.insert().values(event("acme", number=2)),
    "two events of one number": events.insert().values(event("acme", event_id="v2")),
    "an event without a number": events.insert().values(event("acme", number=0, event_id="v2")),
    "an event that was never seen": events.insert().values(event("acme", number=2, event_id="v3")),
    "an event without an id": event_ids.insert().values(event_id("acme", "")),
    "an event of a tenant without a head": events.insert().values(event("none", event_id="v2")),
    "events that are forgotten before they came": update(event_heads).values(floor=2),
    "a writer of no tenant": writers.insert().values(tenant="none", writer="w", started_at=NOW, lease_until=LATER),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_what_must_not_be_cannot_be_written(tmp_path: Path, wrong: Insert | Update) -> None:
    """The database refuses it."""
    async with opened(await sqlite_settings(tmp_path)) as database:
        async with database.tenant("acme") as session:
            await put(session, is_asked=True)
        with pytest.raises(StoreRefused):
            async with database.tenant("acme") as session:
                await session.execute(wrong)


async def test_what_may_be_can_be_written(tmp_path: Path) -> None:
    """The same rows with the one thing put right."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await put(session, is_asked=True)
        await session.execute(idempotency.insert().values(_key()))
        await session.execute(idempotency.insert().values(_key(key="k2", call_id="c8", **DONE, result=b"x")))
        await session.execute(calls.insert().values(parked("acme", "c2", key="k")))
        await session.execute(approvals.insert().values(approval("acme", "a2", call_id="c2")))
        await session.execute(approval_decisions.insert().values(decision("acme", person="bob", decision="deny")))


def test_what_is_hashed_or_sealed_is_bytes() -> None:
    """No column is JSON, which a database would write anew."""
    kinds = {type(column.type).__name__ for table in metadata.tables.values() for column in table.columns}
    assert kinds == {"Text", "LargeBinary", "BigInteger", "Boolean", "Moment"}
    assert isinstance(inspect(idempotency).columns["intent"].type, LargeBinary)


def test_the_lists_of_tables_name_tables() -> None:
    """Those that only grow, and those that nothing is taken out of."""
    assert set(TENANT_TABLES) == set(metadata.tables)
    assert set(TENANT_TABLES) >= APPEND_ONLY | KEPT
