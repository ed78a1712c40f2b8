"""A claim as a part of one transaction: key, approval and charges, all of it or nothing."""

from dataclasses import dataclass, field
from datetime import datetime

from gateway.call import Charge
from gateway.idempotency.base import Claim
from gateway.store import approvals, budgets
from gateway.store import keys as rows
from gateway.store.database import Session
from gateway.store.writers import hold


class TooMuch(Exception):  # noqa: N818 - undoes a transaction
    """A counter does not hold what the call costs."""

    def __init__(self, charge: Charge) -> None:
        super().__init__(charge.unit)
        self.charge = charge


class ApprovalUnusable(Exception):  # noqa: N818 - undoes a transaction
    """The approval is not for this, was used, or is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What is written of a claim. `arguments` are sealed."""

    writer: str
    intent: bytes = field(repr=False)
    arguments: bytes | None = field(repr=False)
    now: datetime


async def take(session: Session, claim: Claim, entry: Entry) -> rows.Kept | None:
    """None when all of it is ours once the transaction is done, or what is known of the key.

    Raises `TooMuch` and `ApprovalUnusable`, with which the transaction has to be undone.
    """
    if claim.approval is not None:
        await _use(session, claim, entry)
    else:
        kept = await _row(session, claim, entry)
        if kept is not None:
            return kept
    if claim.charges:
        short = await budgets.reserve(session, claim.effect_id, claim.charges, entry.now)
        if short is not None:
            raise TooMuch(short)
    return None


async def undo(session: Session, claim: Claim, entry: Entry, lease_until: datetime) -> None:
    """Free a key of which nobody knows whether the store gave it to us. A transaction that a slow server has still to
    end would take it after we had freed it; taking it ourselves waits for that one. An approval that it used stays
    used: better one that has to be asked for again than one that counts twice.
    """
    await hold(session, entry.writer, now=entry.now, until=lease_until)
    if claim.approval is None:
        await _row(session, claim, entry)
        await rows.free(session, claim)
    else:
        await rows.free_adopted(session, claim)
    if claim.charges:
        await budgets.undo(session, claim.effect_id, claim.charges)


async def _row(session: Session, claim: Claim, entry: Entry) -> rows.Kept | None:
    return await rows.take(
        session, claim, writer=entry.writer, intent=entry.intent, arguments=entry.arguments, now=entry.now
    )


async def _use(session: Session, claim: Claim, entry: Entry) -> None:
    """The approval is used and its key becomes the execution's."""
    use = claim.approval
    assert use is not None
    is_usable = await approvals.use(
        session,
        use.approval_id,
        call_id=claim.call_id,
        arguments_digest=use.arguments_digest,
        tool_version=use.tool_version,
        connection=use.connection,
        now=entry.now,
    )
    if not is_usable or not await approvals.adopt(
        session,
        claim.key,
        claim.call_id,
        writer=entry.writer,
        intent=entry.intent,
        arguments=entry.arguments,
        now=entry.now,
    ):
        raise ApprovalUnusable
