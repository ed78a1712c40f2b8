"""Where people look and decide, over the store."""

import hashlib
import unicodedata
from dataclasses import replace
from typing import Any

from gateway.approvals.base import Approval, ApprovalState, Approved, Decided, Verdict
from gateway.approvals.kept import KeptUnreadable, read_question
from gateway.approvals.means import Means, opened
from gateway.approvals.told import denial, shown
from gateway.call import CallerKind, Failure, Principal
from gateway.errors import Refused, RefusedKind
from gateway.store import approval_rows, approvals
from gateway.store.approval_rows import Kept, KeptDecision
from gateway.store.columns import moment_of
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.sealing import SealBroken

REASON_CHARACTERS = 2000
POLL_SECONDS = 1.0
_BROKEN = (StoreDown, SealBroken, KeptUnreadable)


class StoreDesk:
    """`Desk` over the store."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._is_ending = False

    def drain(self) -> None:
        """The gateway ends: nobody watches any more, and who watches would keep it from ending."""
        self._is_ending = True
        self._means.bell.ring()

    async def page(
        self, person: Principal, states: tuple[ApprovalState, ...], *, size: int, after: str
    ) -> tuple[list[Approval], str]:
        """What this person may see, the oldest first, and where the next page begins. A page may be shorter."""
        tenant, names = person.tenant, [state.value for state in states]
        try:
            async with self._means.database.tenant(tenant, is_read=True) as session:
                found = await approval_rows.page(session, names, after=after, limit=size + 1)
                seen = [kept for kept in found[:size] if self._is_seen(person, kept)]
                said = await approval_rows.decisions(session, [kept.approval_id for kept in seen])
            approvals_seen = [shown(kept, said.get(kept.approval_id, ())) for kept in seen]
        except (*_BROKEN, StoreRefused) as failure:
            raise _down() from failure
        return approvals_seen, found[size - 1].approval_id if len(found) > size else ""

    async def get(self, person: Principal, approval_id: str) -> Approval:
        """One whole."""
        means, tenant = self._means, person.tenant
        kept, said = await self._seen(person, approval_id)
        try:
            approval, asked = shown(kept, said), await means.asked(tenant, kept)
            preview = await means.seal.open(tenant, approval_id, kept.preview) if kept.preview else b""
        except _BROKEN as failure:
            raise _down() from failure
        # The call may be asked for in another form by now: what it was then is not kept.
        if asked is None or approval.arguments_digest != _digest_of(asked.canonical):
            return approval
        return replace(approval, reasons=asked.reasons, arguments_json=asked.canonical, preview_json=preview)

    async def decide(self, person: Principal, verdict: Verdict) -> Approval:
        """The approval after this person's decision. One denial denies."""
        kept, said = await self._seen(person, verdict.approval_id)
        role = self._entitled(person, verdict, kept, said)
        failure = None if verdict.approve else denial(verdict.reason, is_told=self._means.settings.tell_reasons)
        decision = {
            "person": person.id,
            "person_kind": person.kind.value,
            "requester": kept.requester,
            "decision": "approve" if verdict.approve else "deny",
            "role": role,
            "reason": verdict.reason.strip(),
        }
        try:
            await self._write(person.tenant, kept, decision, failure)
        except (StoreDown, SealBroken) as broken:
            raise _down() from broken
        except StoreRefused as refused:
            raise Refused(RefusedKind.CONFLICT, _DECIDED) from refused
        self._means.bell.ring()
        return await self.get(person, verdict.approval_id)

    async def edited(self, person: Principal, verdict: Verdict, arguments_json: bytes) -> Approved:
        """The same call with other arguments. This person's approval counts for it once policy has seen it."""
        kept, said = await self._seen(person, verdict.approval_id)
        self._entitled(person, verdict, kept, said)
        if not verdict.approve:
            raise Refused(RefusedKind.INVALID, "Arguments can be edited when approving and not when denying.")
        mine = Decided(
            person=person.id,
            roles=tuple(sorted(person.roles)),
            reason=verdict.reason.strip(),
            at=self._means.clock.now(),
        )
        try:
            approved = await opened(self._means, person.tenant, kept, (mine,))
        except _BROKEN as failure:
            raise _down() from failure
        return replace(approved, edited=True, request=replace(approved.request, arguments_json=arguments_json))

    async def changed(self) -> None:
        """Returns when something may have changed, and after a second in any case. Raises `Refused` when the gateway
        ends.
        """
        if not self._is_ending:
            await self._means.bell.wait(POLL_SECONDS)
        if self._is_ending:
            raise Refused(RefusedKind.UNAVAILABLE, "The gateway ends. Watch again in a moment.")

    async def _seen(self, person: Principal, approval_id: str) -> tuple[Kept, list[KeptDecision]]:
        """An approval that this person may see."""
        if not (approval_id.isascii() and approval_id.isprintable()):
            raise Refused(RefusedKind.NOT_FOUND, _NOT_FOUND)
        try:
            async with self._means.database.tenant(person.tenant, is_read=True) as session:
                kept = await approval_rows.find(session, approval_id)
                said = await approval_rows.decisions(session, (approval_id,))
            if kept is not None and self._is_seen(person, kept):
                return kept, said.get(approval_id, [])
        except (*_BROKEN, StoreRefused) as failure:
            raise _down() from failure
        raise Refused(RefusedKind.NOT_FOUND, _NOT_FOUND)

    def _is_seen(self, person: Principal, kept: Kept) -> bool:
        """Whoever may decide may look, and whoever the settings let."""
        if not person.roles.isdisjoint(self._means.settings.viewer_roles):
            return True
        return person.kind is CallerKind.HUMAN and bool(read_question(kept.terms).terms.role_of(person.roles))

    def _entitled(self, person: Principal, verdict: Verdict, kept: Kept, said: list[KeptDecision]) -> str:
        """The role under which this person may decide now. Raises `Refused`."""
        if person.kind is not CallerKind.HUMAN or person.proof == "none":
            raise Refused(RefusedKind.FORBIDDEN, "Only a person can decide, and you are known as a program.")
        if _is_requester(person, kept):
            raise Refused(RefusedKind.FORBIDDEN, "Whoever asks for an approval cannot give it; somebody else has to.")
        terms = read_question(kept.terms).terms
        role = terms.role_of(person.roles)
        if not role:
            raise Refused(RefusedKind.FORBIDDEN, f"To decide takes one of the roles {', '.join(terms.roles)}.")
        if not _is_reason(verdict.reason.strip()):
            raise Refused(RefusedKind.INVALID, f"Give a reason: plain text, at most {REASON_CHARACTERS} characters.")
        if any(_plain(one.person) == _plain(person.id) for one in said):
            raise Refused(RefusedKind.CONFLICT, "You have decided this already; nobody decides twice.")
        self._demand_open(kept)
        if verdict.arguments_digest != kept.arguments_digest:
            raise Refused(RefusedKind.CONFLICT, "This is for other arguments than those that you saw. Look again.")
        return role

    def _demand_open(self, kept: Kept) -> None:
        if kept.state != ApprovalState.OPEN:
            raise Refused(RefusedKind.CONFLICT, f"This waits for no decision any more: it is {kept.state}.")
        if kept.expires_at <= moment_of(self._means.clock.now()):
            raise Refused(RefusedKind.CONFLICT, "The time to decide this is over.")

    async def _write(self, tenant: str, kept: Kept, decision: dict[str, Any], failure: Failure | None) -> None:
        """The decision; and when it denies, how the call ended, both or neither."""
        means = self._means
        sealed = None if failure is None else await means.sealed(tenant, kept.call_id, failure)
        now = means.clock.now()
        async with means.database.tenant(tenant) as session:
            if not await approvals.decide(session, kept.approval_id, decision, now=moment_of(now)):
                raise Refused(RefusedKind.CONFLICT, "Somebody was faster: this waits for no decision any more.")
            if failure is not None:
                await approvals.finish(
                    session,
                    kept.call_id,
                    outcome=failure.code.value,
                    result=sealed,
                    now=moment_of(now),
                    until=moment_of(now + means.settings.keep_seconds),
                )


_NOT_FOUND = "There is no such approval that you may see."
_DECIDED = "You have decided this already, or may not decide it."


def _is_requester(person: Principal, kept: Kept) -> bool:
    """Whether this is who asked, in whatever spelling, or speaks for the agent that did."""
    return _plain(person.id) == _plain(kept.requester) or person.agent == kept.agent


def _plain(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _is_reason(text: str) -> bool:
    return 0 < len(text) <= REASON_CHARACTERS and all(each.isprintable() or each in "\n\t" for each in text)


def _digest_of(canonical: bytes) -> str:
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def _down() -> Refused:
    return Refused(
        RefusedKind.UNAVAILABLE, "Approvals cannot be read or written now. Look again before you decide again."
    )
