"""The form of what is sealed: a format, whatever names the key, a nonce, and AES-256-GCM over it all."""

import secrets
from collections.abc import Callable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from gateway.store.sealing import SealBroken

KEY_BYTES = 32
NONCE_BYTES = 12

Chance = Callable[[int], bytes]


def new_key(chance: Chance = secrets.token_bytes) -> bytes:
    """A key of 256 bits."""
    return chance(KEY_BYTES)


def place_data(tenant: str, place: str) -> bytes:
    """What binds a sealed text to where it is kept. No two places are written the same."""
    name = tenant.encode()
    return len(name).to_bytes(4, "big") + name + place.encode()


def seal(cipher: AESGCM, header: bytes, bound: bytes, plain: bytes, chance: Chance) -> bytes:
    """Header, nonce and cipher text. Nobody can change the header, nor move it all to another place."""
    nonce = chance(NONCE_BYTES)
    return header + nonce + cipher.encrypt(nonce, plain, header + bound)


def unseal(cipher: AESGCM, header: bytes, bound: bytes, sealed: bytes) -> bytes:
    """The text again. Raises `SealBroken`."""
    nonce, text = sealed[len(header) : len(header) + NONCE_BYTES], sealed[len(header) + NONCE_BYTES :]
    try:
        return cipher.decrypt(nonce, text, header + bound)
    except (InvalidTag, ValueError):
        pass  # not chained: there is nothing to learn from it
    raise SealBroken("it was sealed with another key or at another place, or was changed")
