"""Seals with data keys that a Vault or an OpenBao wraps. Each tenant has a key of its own there.

A data key seals for a while, in this process alone; wrapped, it stands in front of all that it sealed. So most of the
time nobody is asked, and what cannot be asked for is refused: nothing is kept in the open.
"""

import hashlib
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.sealing.envelope import KEY_BYTES, Chance, new_key, place_data, seal, unseal
from gateway.sealing.once import Once
from gateway.sealing.recent import Recent
from gateway.settings.sealing import TransitSettings
from gateway.store.sealing import SealBroken, SealDown

FORMAT = b"\x02"
MAX_KEYS = 4096
"""How many opened data keys are kept in memory."""
MAX_TENANTS = 1024
MAX_USES = 2**24
"""What one data key seals at most: its nonces are drawn by chance."""
MAX_WRAPPED_BYTES = 1024
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_LENGTH_BYTES = 2

T = TypeVar("T")


class Transit(Protocol):
    """What is asked of a vault, given a token; see `VaultClient`."""

    async def transit_encrypt(self, token: str, mount: str, key: str, plain: bytes, associated: bytes) -> str:
        """Raises `VaultFailed`."""
        ...

    async def transit_decrypt(self, token: str, mount: str, key: str, cipher: str, associated: bytes) -> bytes:
        """Raises `VaultFailed`."""
        ...


class Asking(Protocol):
    """Asks with the gateway's own token; see `VaultSession.ask`."""

    async def __call__(self, question: Callable[[str], Awaitable[T]]) -> T:
        """Raises `VaultFailed`."""
        ...


@dataclass(slots=True, eq=False)
class _DataKey:
    cipher: AESGCM = field(repr=False)
    header: bytes
    ends_at: float
    uses: int = 0


class TransitSeal:
    """`Seal`, by a transit engine."""

    def __init__(
        self,
        settings: TransitSettings,
        client: Transit,
        ask: Asking,
        monotonic: Callable[[], float],
        chance: Chance = secrets.token_bytes,
    ) -> None:
        """`ask` lends the gateway's token for a question."""
        self._settings = settings
        self._client = client
        self._ask = ask
        self._monotonic = monotonic
        self._chance = chance
        self._sealing: Recent[str, _DataKey] = Recent(MAX_TENANTS)
        self._making: Once[str, _DataKey] = Once()
        self._opening: Once[tuple[str, bytes], _DataKey] = Once()
        self._opened: Recent[tuple[str, bytes], _DataKey] = Recent(MAX_KEYS)

    async def start(self) -> None:
        """Nothing to do: a vault that is away now may be back for the first call."""

    async def stop(self) -> None:
        """Forget every data key."""
        self._sealing.clear()
        self._opened.clear()

    async def seal(self, tenant: str, place: str, plain: bytes) -> bytes:
        """Under the tenant's data key of the moment. Raises `SealDown` when there is none and nobody wraps one."""
        key = self._sealing.get(tenant)
        if key is None or key.uses >= MAX_USES or self._monotonic() >= key.ends_at:
            key = await self._making.get(tenant, lambda: self._new_key(tenant))
        key.uses += 1
        return seal(key.cipher, key.header, place_data(tenant, place), plain, self._chance)

    async def open(self, tenant: str, place: str, sealed: bytes) -> bytes:
        """Under the data key in front of it. Raises `SealBroken`, or `SealDown` when nobody unwraps that key now."""
        header, wrapped = _header_in(sealed)
        key = self._opened.get((tenant, wrapped))
        if key is None or self._monotonic() >= key.ends_at:
            key = await self._opening.get((tenant, wrapped), lambda: self._unwrapped(tenant, header, wrapped))
        return unseal(key.cipher, header, place_data(tenant, place), sealed)

    async def _new_key(self, tenant: str) -> _DataKey:
        plain, name, mount = new_key(self._chance), self._name(tenant), self._settings.mount
        try:
            text = await self._ask(
                lambda token: self._client.transit_encrypt(token, mount, name, plain, _bound_to(tenant))
            )
        except VaultFailed as failed:
            raise _down(failed.trouble) from None
        wrapped = text.encode()
        if len(wrapped) > MAX_WRAPPED_BYTES:
            raise SealDown("the vault's answer is no wrapped key")
        key = self._kept(tenant, FORMAT + len(wrapped).to_bytes(_LENGTH_BYTES, "big") + wrapped, wrapped, plain)
        self._sealing.put(tenant, key)
        return key

    async def _unwrapped(self, tenant: str, header: bytes, wrapped: bytes) -> _DataKey:
        text, name, mount = wrapped.decode("ascii", "replace"), self._name(tenant), self._settings.mount
        try:
            plain = await self._ask(
                lambda token: self._client.transit_decrypt(token, mount, name, text, _bound_to(tenant))
            )
        except VaultFailed as failed:
            if failed.trouble is Trouble.REJECTED:  # it is not for this tenant, or was changed
                raise SealBroken("the vault does not open the key that sealed it") from None
            raise _down(failed.trouble) from None
        if len(plain) != KEY_BYTES:
            raise SealBroken("what the vault opened is no key")
        return self._kept(tenant, header, wrapped, plain)

    def _kept(self, tenant: str, header: bytes, wrapped: bytes, plain: bytes) -> _DataKey:
        now = self._monotonic()
        self._opened.drop(lambda key: now >= key.ends_at)
        key = _DataKey(AESGCM(plain), header, now + self._settings.data_key_seconds)
        self._opened.put((tenant, wrapped), key)
        return key

    def _name(self, tenant: str) -> str:
        """The tenant's key. The name of one that an engine would not take as it is stands there as its digest."""
        is_plain = _PLAIN_NAME.fullmatch(tenant) is not None
        name = tenant if is_plain else f"t.{hashlib.sha256(tenant.encode()).hexdigest()[:40]}"
        return self._settings.key.replace("{tenant}", name)


def _down(trouble: Trouble) -> SealDown:
    return SealDown(f"the vault that holds the keys gives none: {trouble.sentence}")


def _bound_to(tenant: str) -> bytes:
    """What the wrapped key is bound to, lest one tenant's opens under another's name."""
    return b"tollhouse seal 2 " + tenant.encode()


def _header_in(sealed: bytes) -> tuple[bytes, bytes]:
    """The header of what was sealed, and the wrapped key in it. Raises `SealBroken`."""
    start = len(FORMAT) + _LENGTH_BYTES
    length = int.from_bytes(sealed[len(FORMAT) : start], "big")
    header = sealed[: start + length]
    if not sealed.startswith(FORMAT) or not 0 < length <= MAX_WRAPPED_BYTES or len(header) < start + length:
        raise SealBroken("it is no text that was sealed with a vault's keys")
    return header, header[start:]
