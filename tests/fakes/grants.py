"""A vendor who gives access tokens for credentials, and places where credentials are, as tests rule them."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from adapters.base import AdapterError, Clock, ErrorKind, Grant, Happened, Invocation, Secret, Target
from fakes.clock import FakeClock
from gateway.errors import Reason, Refusal
from gateway.store.sealing import SealDown

HOSTS = ("api.vendor.example", "auth.vendor.example")
REFERENCE = "vault:secret/acme/drive#oauth"


class Issuer:
    """Gives tokens named `access-1`, `access-2`, … for the one credential that is good. When it rotates, each is taken
    back by its use, and `credential-1`, … given instead. `asked` is what it was shown.
    """

    def __init__(self, clock: Clock, *, good: str = "first-credential", rotates: bool = False) -> None:
        self.clock = clock
        self.good = good
        self.rotates = rotates
        self.seconds = 3600.0
        self.asked: list[str] = []
        self.error: AdapterError | None = None
        self.gate = asyncio.Event()
        """Answers wait for it. It is open until a test closes it."""
        self.gate.set()
        self.arrived = asyncio.Event()
        self.before_answer: Callable[[], Awaitable[None]] | None = None

    async def exchange(self, credential: Secret) -> Grant:
        """An `Exchange`."""
        value = credential.reveal()
        self.asked.append(value)
        self.arrived.set()
        number = len(self.asked)
        is_good = value == self.good
        if self.rotates and is_good and self.error is None:
            self.good = f"credential-{number}"  # as soon as it was asked: whoever leaves now has lost it
        await self.gate.wait()
        if self.before_answer is not None:
            await self.before_answer()
        if self.error is not None:
            raise self.error
        if not is_good:
            raise AdapterError(ErrorKind.NEEDS_AUTHORISATION, "It is taken no more.", happened=Happened.NO)
        credential_now = f"credential-{number}" if self.rotates else None
        return Grant(
            access_token=f"access-{number}", expires_at=self.clock.now() + self.seconds, credential=credential_now
        )


@dataclass
class Places:
    """What references give, for a `Renewal`: as a `Resolver` is over its sources. Those of `vault:` can be written."""

    values: dict[str, str] = field(default_factory=lambda: {REFERENCE: "first-credential"})
    is_read_down: bool = False
    is_write_down: bool = False
    written: list[str] = field(default_factory=list)
    before_write: Callable[[], None] | None = None

    async def again(self, tenant: str, reference: str, hosts: tuple[str, ...]) -> Secret | None:
        """What is there."""
        if reference.startswith("vault-dynamic:"):
            return None
        if self.is_read_down:
            raise Refusal(Reason.CREDENTIAL_UNAVAILABLE, "It cannot be read now.")
        if reference not in self.values:
            raise Refusal(Reason.CREDENTIAL_MISSING, "It is not there.")
        return Secret(self.values[reference])

    def may_replace(self, reference: str) -> bool:
        """Of a vault alone."""
        return reference.startswith("vault:")

    async def replace(self, tenant: str, reference: str, hosts: tuple[str, ...], change: tuple[Secret, str]) -> bool:
        """Check and set."""
        if self.before_write is not None:
            self.before_write()
        if self.is_write_down:
            raise Refusal(Reason.CREDENTIAL_UNAVAILABLE, "It cannot be written now.")
        old, new = change
        if self.values.get(reference) not in (old.reveal(), new):
            return False
        self.values[reference] = new
        self.written.append(new)
        return True


class FailingSeal:
    """Around another seal. While `is_down`, whoever holds the keys cannot be asked."""

    def __init__(self, seal: object) -> None:
        self._seal = seal
        self.is_down = False

    async def seal(self, tenant: str, place: str, plain: bytes) -> bytes:
        """Unless it is down."""
        self._check()
        sealed: bytes = await self._seal.seal(tenant, place, plain)  # type: ignore[attr-defined]
        return sealed

    async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
        """Unless it is down."""
        self._check()
        plain: bytes = await self._seal.open(tenant, place, sealed)  # type: ignore[attr-defined]
        return plain

    def _check(self) -> None:
        if self.is_down:
            raise SealDown("nobody can be asked")


def invocation(
    clock: Clock,
    *,
    lent: str = "first-credential",
    account: str = "acme/drive",
    seconds: float = 30.0,
    learned: list[str] | None = None,
) -> Invocation:
    """A call that was lent this credential. `learned` takes what it is told is secret."""
    told: list[str] = [] if learned is None else learned
    return Invocation(
        arguments={},
        target=Target(name=account.partition("/")[2], account=account, hosts=HOSTS),
        credential=Secret(lent),
        deadline=clock.monotonic() + seconds,
        effect_id="eff-1",
        learn=lambda secret: told.append(secret.reveal()),
    )


class PatientClock(FakeClock):
    """Stands still while somebody sleeps: for who waits for another replica, which a test lets go on."""

    async def sleep(self, seconds: float) -> None:
        """A moment of real time."""
        self.slept.append(seconds)
        await asyncio.sleep(min(seconds, 0.005))
