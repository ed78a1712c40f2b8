"""The rows of approvals change state by state, each change by one alone."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fakes.claims import LATER, NOW, approval, decision, parked, put
from real.stores import opened, sqlite_settings
from sqlalchemy import select, update

from gateway.store import approvals, calls
from gateway.store.database import Session
from gateway.store.failures import StoreRefused
from gateway.store.schema import approvals as rows
from gateway.store.schema import calls as call_rows
from gateway.store.schema import idempotency

BOUND = {"call_id": "c1", "arguments_digest": "sha256:aa", "tool_version": "1", "connection": "mail"}


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    """A transaction, and a parked call with an open approval."""
    async with opened(await sqlite_settings(tmp_path)) as database, database.tenant("acme") as session:
        await put(session)
        await session.execute(call_rows.insert().values(parked("acme", key="k")))
        await session.execute(rows.insert().values(approval("acme")))
        yield session


def _said(person: str = "ann", **more: Any) -> dict[str, Any]:
    made = decision("acme", person=person, **more)
    return {name: value for name, value in made.items() if name not in ("tenant", "approval_id", "decided_at")}


async def _state(session: Session) -> str:
    return (await session.execute(select(rows.c.state).where(rows.c.approval_id == "a1"))).scalar_one()


async def _approved(session: Session) -> None:
    assert await approvals.decide(session, "a1", _said(), now=NOW) == "approved"


async def test_an_approval_is_used_once_for_what_it_is_bound_to(session: Session) -> None:
    """Before it was given, not at all."""
    assert not await approvals.use(session, "a1", **BOUND, now=NOW)
    await _approved(session)
    for name in BOUND:
        assert not await approvals.use(session, "a1", **(BOUND | {name: "other"}), now=NOW)
    assert not await approvals.use(session, "a2", **BOUND, now=NOW)
    assert not await approvals.use(session, "a1", **BOUND, now=LATER)
    assert await approvals.use(session, "a1", **BOUND, now=LATER - timedelta(microseconds=1))
    assert not await approvals.use(session, "a1", **BOUND, now=NOW)
    assert await _state(session) == "used"


async def test_it_is_used_no_earlier_than_it_was_given(session: Session) -> None:
    """By whatever clock."""
    await _approved(session)
    assert await approvals.use(session, "a1", **BOUND, now=NOW - timedelta(seconds=5))
    assert (await session.execute(select(rows.c.used_at))).scalar_one() == NOW


async def test_a_parked_key_is_adopted_by_its_own_call(session: Session) -> None:
    """Once, and the call runs from then on under that writer."""
    row = {"key": "k", "call_id": "c1", "effect_id": "c1", "arguments_digest": "d", "standing": "parked"}
    more = {"writer": "w1", "intent": b"{}", "approval_id": "a1", "claimed_at": NOW}
    await session.execute(idempotency.insert().values(tenant="acme", **row, **more))
    claim = {"writer": "w1", "intent": b'{"a":1}', "arguments": b"sealed", "now": NOW}
    assert not await approvals.adopt(session, "k", "c2", **claim)
    assert not await approvals.adopt(session, "other", "c1", **claim)
    assert await approvals.adopt(session, "k", "c1", **claim)
    assert not await approvals.adopt(session, "k", "c1", **claim)
    kept = (await session.execute(idempotency.select())).one()
    assert (kept.standing, kept.intent, kept.arguments) == ("in_progress", b'{"a":1}', b"sealed")
    assert (await session.execute(select(call_rows.c.state))).scalar_one() == calls.RUNNING


async def test_a_denial_denies_and_nothing_is_decided_after_it(session: Session) -> None:
    """Or once it is over."""
    assert await approvals.decide(session, "a1", _said(), now=LATER) == ""
    assert await approvals.decide(session, "a1", _said(decision="deny"), now=NOW) == "denied"
    assert await approvals.decide(session, "a1", _said("bob"), now=NOW) == ""
    assert await approvals.decide(session, "none", _said("bob"), now=NOW) == ""


@pytest.mark.parametrize("wrong", [{"person": "helper-1"}, {"person_kind": "agent"}, {"requester": "another"}])
async def test_the_database_refuses_who_may_not_decide(session: Session, wrong: dict[str, str]) -> None:
    """Whatever asks for it."""
    with pytest.raises(StoreRefused):
        await approvals.decide(session, "a1", _said() | wrong, now=NOW)


async def test_what_waits_can_be_closed_and_what_is_over_expires(session: Session) -> None:
    """Each once."""
    assert not await approvals.expire(session, "a1", now=NOW)
    assert not await approvals.close(session, "a1", "withdrawn", starting=("approved",))
    assert await approvals.expire(session, "a1", now=LATER)
    assert not await approvals.expire(session, "a1", now=LATER)
    assert not await approvals.close(session, "a1", "withdrawn")


async def test_a_call_ends_once_for_whoever_has_it(session: Session) -> None:
    """While it is parked for whoever decides; later for the writer that runs it, though it was called unknown."""
    end = {"outcome": "ok", "result": b"sealed", "now": NOW, "until": LATER}
    assert not await approvals.finish(session, "c1", **end, writer="w1")
    assert await calls.resume(session, "c1", writer="w1")
    assert not await approvals.finish(session, "c1", **end)
    assert not await approvals.leave_unknown(session, "c1", writer="w2", until=LATER)
    assert await approvals.leave_unknown(session, "c1", writer="w1", until=LATER)
    assert not await approvals.finish(session, "c1", **end, writer="w2")
    assert await approvals.finish(session, "c1", **end, writer="w1")
    assert not await approvals.finish(session, "c1", **end, writer="w1")


async def test_what_is_old_is_forgotten_and_the_approval_stays(session: Session) -> None:
    """Its key is free and its preview gone."""
    row = {"key": "k", "call_id": "c1", "effect_id": "c1", "arguments_digest": "d", "standing": "parked"}
    more = {"writer": "w1", "intent": b"{}", "approval_id": "a1", "claimed_at": NOW}
    await session.execute(idempotency.insert().values(tenant="acme", **row, **more))
    await session.execute(update(rows).values(preview=b"sealed"))
    await approvals.finish(session, "c1", outcome="ok", result=None, now=NOW, until=LATER)
    await approvals.forget(session, NOW)
    assert (await session.execute(idempotency.select())).first() is not None
    await approvals.forget(session, LATER)
    assert (await session.execute(idempotency.select())).first() is None
    assert (await session.execute(select(rows.c.preview))).scalar_one() is None
