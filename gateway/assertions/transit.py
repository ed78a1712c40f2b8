"""Signs with an Ed25519 key that a Vault or an OpenBao holds and does not give away: one request for each assertion.

A version that was just made is published at once and signs a while later: by then every replica publishes it, and
whoever keeps a copy of the key set has asked for it again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from adapters.base import Clock, Fault
from gateway.assertions.base import NotSigned, compact, signing_input
from gateway.assertions.keys import PublicKey
from gateway.background import end
from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.clients.vault_signatures import SigningKeys, SigningVersion
from gateway.errors import StartError
from gateway.settings.assertions import AssertionTransitSettings
from gateway.telemetry import Log

LOOK_SECONDS = 120.0
"""How often the engine is asked which versions there are."""
AHEAD_SECONDS = 300.0
"""How old a version is before it signs, when there is an older one: more than `LOOK_SECONDS` and the time for which
the published set may be kept together.
"""

T = TypeVar("T")


class Transit(Protocol):
    """What a transit engine is asked (`clients.vault.VaultClient`). Both raise `VaultFailed`."""

    async def transit_signing_keys(self, token: str, mount: str, key: str) -> SigningKeys:
        """Every version of an Ed25519 key that still verifies."""
        ...

    async def transit_sign(
        self, token: str, mount: str, key: str, version: int, messages: Sequence[bytes]
    ) -> list[bytes]:
        """A signature of each message by this version."""
        ...


class Asking(Protocol):
    """Asks with the gateway's own token (`credentials.vault_session.VaultSession.ask`)."""

    async def __call__(self, question: Callable[[str], Awaitable[T]]) -> T:
        """Raises `VaultFailed`."""
        ...


class TransitSigner:
    """`Signer`, by a transit engine."""

    def __init__(
        self, settings: AssertionTransitSettings, client: Transit, ask: Asking, *, clock: Clock, log: Log
    ) -> None:
        self._mount, self._name = settings.mount, settings.key
        self._client = client
        self._ask = ask
        self._clock = clock
        self._log = log
        self._found = SigningKeys((), 0)
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Ask for the public keys, now and every while. Raises `StartError`."""
        where, name = self._mount, self._name
        try:
            await self._look()
        except VaultFailed as failed:
            raise StartError(
                f"assertions cannot be signed by {where}/{name}: {failed}; it has to be an ed25519 key, "
                f"and the gateway's policy needs read on {where}/keys/{name} and update on {where}/sign/{name}"
            ) from failed
        self._following = asyncio.create_task(self._follow(), name="assertion keys")

    async def stop(self) -> None:
        """Ask no more."""
        following, self._following = self._following, None
        await end(following)

    def keys(self) -> tuple[PublicKey, ...]:
        """Every version that the engine verifies by, the newest first."""
        return tuple(PublicKey(one.public) for one in reversed(self._found.versions))

    async def sign(self, claims: bytes) -> str:
        """By one request; by some more when the version that signed so far may not any longer. Raises `NotSigned`."""
        try:
            try:
                return await self._signed(claims)
            except VaultFailed as failed:
                if failed.trouble is not Trouble.REJECTED:
                    raise
            await self._look()
            return await self._signed(claims)
        except VaultFailed as failed:
            fault, is_for_good = failed.trouble.fault or Fault.ERROR, not failed.trouble.may_be_stale
            raise NotSigned(f"Vault does not sign: {failed}", fault=fault, is_for_good=is_for_good) from failed

    async def _signed(self, claims: bytes) -> str:
        one, client, mount, name = self._chosen(), self._client, self._mount, self._name
        signed = signing_input(PublicKey(one.public), claims)
        (signature,) = await self._ask(lambda token: client.transit_sign(token, mount, name, one.version, [signed]))
        return compact(signed, signature)

    def _chosen(self) -> SigningVersion:
        """The newest that everybody has heard of, among those that may sign."""
        may_sign = [one for one in self._found.versions if one.version >= self._found.signs_from]
        known = [one for one in may_sign if one.made_at <= self._clock.now() - AHEAD_SECONDS]
        return known[-1] if known else may_sign[0]

    async def _look(self) -> None:
        client, mount, name = self._client, self._mount, self._name
        self._found = await self._ask(lambda token: client.transit_signing_keys(token, mount, name))

    async def _follow(self) -> None:
        """What is known stays known while nobody answers: a public key is no secret that anybody could take back."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except VaultFailed as failed:
                self._log.limited("assertion_keys_unknown", problem=str(failed))
