"""A lease, as this gateway holds it."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gateway.clients.vault_answers import Lease
from gateway.credentials.vault_cache import Held

REUSE_UNTIL = 2 / 3
"""Of its time: so long a lease may be given to more calls."""
_ENDLESS_REUSE_SECONDS = 3600.0


class Role(NamedTuple):
    """What credentials are made by, for one tenant."""

    tenant: str
    namespace: str
    engine: str
    name: str


@dataclass(slots=True, eq=False)
class Loan:
    """A lease that the server has made and that was not revoked yet."""

    role: Role
    id: str
    held: Held = field(repr=False)
    token: str = field(repr=False)
    """What it was made with, and dies with."""
    is_renewable: bool
    seconds: float
    counts_from: float
    ends_at: float
    reuse_until: float
    borrowers: int = 0
    needed_until: float = 0.0
    is_over: bool = False
    is_renewing: bool = False
    tasks: "set[asyncio.Task[None]]" = field(default_factory=set, repr=False)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Let this go on beside the calls, until it is done or the lease is over."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


def loan_of(role: Role, lease: Lease, *, token: str, began: float) -> Loan:
    """The lease that was asked for with this token, at this time."""
    return Loan(
        role=role,
        id=lease.id,
        held=Held(lease.values),
        token=token,
        is_renewable=lease.is_renewable,
        seconds=lease.seconds,
        counts_from=began,
        ends_at=began + lease.seconds if lease.seconds else float("inf"),
        reuse_until=began + (lease.seconds * REUSE_UNTIL or _ENDLESS_REUSE_SECONDS),
    )
