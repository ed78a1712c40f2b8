"""Says to an internal service, for one call and signed, who makes it (RFC 7519): nobody has to take our word for it."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson

from adapters.base import AdapterError, Clock, ErrorKind, Fault, Happened, Secret, Target
from gateway.assertions.base import NotSigned, Signer
from gateway.assertions.keys import PublicKey, key_set, named_keys
from gateway.call import Principal
from gateway.settings.assertions import AssertionSettings, check_assertion
from gateway.telemetry import Log

SIGN_SECONDS = 3.0
"""The longest that signing may take."""

_LATER = "Who calls could not be signed now, which this service has to know, so nothing was sent. Try again later."
_NOT_ALLOWED = "The gateway may not tell this service who calls, so nothing was sent; its operator has to allow it."
_NOT_SET_UP = "The gateway cannot sign who calls, so nothing was sent; its operator has to correct how it signs."


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is said of a call."""

    principal: Principal
    kind: str
    """Of the audit line that holds the decision: `call`, or `execution` of one that was approved."""
    call_id: str
    run_id: str
    tool: str
    side_effect: str
    policy_revision: str
    arguments_digest: str


class Assertions:
    """Signs for the audiences of the settings."""

    def __init__(
        self, settings: AssertionSettings, signer: Signer, *, clock: Clock, log: Log, new_id: Callable[[], str]
    ) -> None:
        """`new_id` gives what no other assertion is called. Raises `StartError` for a former key that is none."""
        self._settings = settings
        self._signer = signer
        self._clock = clock
        self._log = log
        self._new_id = new_id
        self._former = named_keys(settings.former)
        self._published: tuple[tuple[PublicKey, ...], bytes] = ((), b"")

    async def start(self) -> None:
        """It can sign. Raises `StartError`."""
        await self._signer.start()

    async def stop(self) -> None:
        """Follow the key no longer."""
        await self._signer.stop()

    def of(
        self, facts: Facts, target: Target, *, deadline: float, learn: Callable[[Secret], None]
    ) -> Callable[[], Awaitable[Secret]]:
        """What `Invocation.assertion` is for one call. Nothing is done before it is asked."""
        return _Asserting(self, facts, target, deadline, learn)

    def jwks_document(self) -> bytes:
        """The keys that verify, as a JSON Web Key Set: the very same object until they change."""
        keys = (*self._signer.keys(), *self._former)
        if keys != self._published[0]:
            self._published = (keys, key_set(keys))
        return self._published[1]

    async def signed(self, facts: Facts, target: Target, *, deadline: float) -> tuple[str, float]:
        """An assertion for the target's audience, and until when it may be sent again. Raises `AdapterError`."""
        if check_assertion(target.audience, target.hosts, facts.principal.tenant, self._settings):
            raise AdapterError(ErrorKind.NEEDS_AUTHORISATION, _NOT_ALLOWED, happened=Happened.NO, fault=Fault.REFUSED)
        now, seconds = self._clock.now(), self._settings.seconds
        claims = self._claims(facts, target.audience, int(now))
        try:
            async with asyncio.timeout(min(SIGN_SECONDS, deadline - self._clock.monotonic())):
                return await self._signer.sign(claims), now + seconds / 2
        except TimeoutError:
            failure = NotSigned("signing took too long", fault=Fault.TIMEOUT)
        except NotSigned as failed:
            failure = failed
        self._log.limited("assertion_not_signed", "error", problem=str(failure))
        raise _not_signed(failure)

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._clock.now()

    def _claims(self, facts: Facts, audience: str, now: int) -> bytes:
        who = facts.principal
        return orjson.dumps(
            {
                "iss": self._settings.issuer,
                "aud": audience,
                "iat": now,
                "exp": now + self._settings.seconds,
                "jti": self._new_id(),
                "sub": who.id,
                "tenant": who.tenant,
                "agent": who.agent,
                "principal_kind": who.kind.value,
                "run": facts.run_id or None,
                "call_id": facts.call_id,
                "decision_id": f"{facts.kind}:{facts.call_id}",
                "tool": facts.tool,
                "side_effect": facts.side_effect,
                "policy_revision": facts.policy_revision,
                "arguments_digest": facts.arguments_digest,
            }
        )


class _Asserting:
    """Signs once for a call. A retry sends the same one while half of its time is left."""

    __slots__ = ("_assertions", "_deadline", "_facts", "_learn", "_made", "_target")

    def __init__(
        self,
        assertions: Assertions,
        facts: Facts,
        target: Target,
        deadline: float,
        learn: Callable[[Secret], None],
    ) -> None:
        self._assertions = assertions
        self._facts = facts
        self._target = target
        self._deadline = deadline
        self._learn = learn
        self._made: tuple[Secret, float] | None = None

    async def __call__(self) -> Secret:
        if self._made is not None and self._assertions.now() < self._made[1]:
            return self._made[0]
        token, good_until = await self._assertions.signed(self._facts, self._target, deadline=self._deadline)
        secret = Secret(token)
        self._learn(secret)
        self._made = secret, good_until
        return secret


def _not_signed(failure: NotSigned) -> AdapterError:
    if failure.is_for_good:
        return AdapterError(ErrorKind.NEEDS_AUTHORISATION, _NOT_SET_UP, happened=Happened.NO, fault=failure.fault)
    return AdapterError(ErrorKind.UNAVAILABLE, _LATER, happened=Happened.NO, fault=failure.fault)
