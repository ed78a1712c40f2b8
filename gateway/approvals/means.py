"""What those who keep approvals share: the database, the seal, and how a failure of either is told."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from adapters.base import Clock, Fault
from gateway.approvals.base import Approved, Decided, Terms
from gateway.approvals.bell import Bell
from gateway.approvals.kept import Asked, KeptUnreadable, read_asked, read_principal, read_question
from gateway.call import Failure, Result
from gateway.errors import Reason, Refusal
from gateway.outcomes import encode
from gateway.settings.approvals import ApprovalSettings
from gateway.store.approval_rows import Kept
from gateway.store.calls import place_of
from gateway.store.database import Database
from gateway.store.failures import StoreDown, StoreRefused
from gateway.store.sealing import Seal, SealBroken


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What all of them work with. `writer` names this process and no other, as it does for the idempotency keys."""

    database: Database
    seal: Seal
    clock: Clock
    writer: str
    settings: ApprovalSettings
    new_id: Callable[[], str]
    bell: Bell

    @property
    def otherwise(self) -> Terms:
        """The terms where policy names none."""
        settings = self.settings
        return Terms(
            roles=tuple(sorted(settings.default_roles)), count=1, expires_in_seconds=settings.default_expires_seconds
        )

    async def sealed(self, tenant: str, call_id: str, outcome: Result | Failure) -> bytes | None:
        """The outcome as it is kept; None when it cannot be sealed, and then that it ended is all that is kept."""
        try:
            return await self.seal.seal(tenant, place_of(call_id), encode(outcome))
        except SealBroken:
            return None

    async def asked(self, tenant: str, kept: Kept) -> Asked | None:
        """What would run; None when it is not kept any more. Raises `SealBroken` and `KeptUnreadable`."""
        if kept.arguments is None:
            return None
        return read_asked(await self.seal.open(tenant, place_of(kept.call_id), kept.arguments))


async def opened(means: Means, tenant: str, kept: Kept, decisions: tuple[Decided, ...]) -> Approved:
    """What the call runs with. Raises `SealBroken` and `KeptUnreadable`."""
    asked = await means.asked(tenant, kept)
    principal = read_principal(await means.seal.open(tenant, place_of(kept.call_id), kept.principal))
    if asked is None or principal.tenant != tenant:
        raise KeptUnreadable("not a call of this tenant")
    question = read_question(kept.terms)
    return Approved(
        call_id=kept.call_id,
        effect_id=kept.effect_id,
        key=kept.key or "",
        principal=principal,
        request=asked.request,
        approval_id=kept.approval_id,
        arguments_digest=kept.arguments_digest,
        tool_version=kept.tool_version,
        connection=kept.connection,
        terms=question.terms,
        account=question.account,
        otherwise=means.otherwise,
        revision=kept.policy_revision,
        decisions=decisions,
        expires_at=kept.expires_at.timestamp(),
        age_seconds=means.clock.now() - kept.created_at.timestamp(),
    )


@contextlib.contextmanager
def told_as_refusal() -> Iterator[None]:
    """What the store, the seal or what they keep does not do is `Refusal(approvals_unavailable)`."""
    try:
        yield
    except (StoreDown, StoreRefused, SealBroken, KeptUnreadable) as failure:
        raise unavailable(failure) from failure


def unavailable(failure: Exception) -> Refusal:
    """The refusal for a part that failed."""
    fault = failure.fault if isinstance(failure, StoreDown) else Fault.ERROR
    return Refusal(
        Reason.APPROVALS_UNAVAILABLE,
        "Nobody can be asked to approve this now, and nothing was done. Try again later.",
        fault=fault,
    )
