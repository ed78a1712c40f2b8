"""Keys in a file: made once, rotated, and refused when others can read them."""

import base64
from pathlib import Path

import pytest

from gateway.errors import StartError
from gateway.sealing.key_file import MAX_TENANTS, KeyFileSeal
from gateway.sealing.key_lines import key_line
from gateway.store.sealing import SealBroken, SealDown

NEW, OLD = bytes(range(32)), bytes(range(32, 64))


class Kit:
    """A seal over a file, and the time that passes."""

    def __init__(self, folder: Path, *keys: bytes) -> None:
        self.path = folder / "seal.key"
        self.now = 0.0
        self.write("".join(map(key_line, keys)))
        self.seal = KeyFileSeal(self.path, lambda: self.now)

    def write(self, text: str, mode: int = 0o600) -> None:
        """Put another file in its place; it is looked at from now on."""
        new = self.path.with_suffix(".new")
        new.write_text(text)
        new.chmod(mode)
        new.replace(self.path)
        self.now += 10.0


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    """A file with one key."""
    return Kit(tmp_path, NEW)


async def test_the_first_key_seals_and_every_key_opens(kit: Kit) -> None:
    """So keys are rotated without a restart: what the old one sealed opens as long as it is there."""
    kit.write(key_line(OLD))
    before = await kit.seal.seal("acme", "k", b"private")
    kit.write(key_line(NEW) + key_line(OLD))
    after = await kit.seal.seal("acme", "k", b"private")
    assert await kit.seal.open("acme", "k", before) == await kit.seal.open("acme", "k", after) == b"private"
    kit.write(key_line(NEW))
    assert await kit.seal.open("acme", "k", after) == b"private"
    with pytest.raises(SealBroken, match="does not hold the key") as caught:
        await kit.seal.open("acme", "k", before)
    assert not isinstance(caught.value, SealDown)


async def test_a_changed_byte_breaks_it(kit: Kit) -> None:
    """Wherever it is."""
    sealed = await kit.seal.seal("acme", "k", b"private")
    for index in range(len(sealed)):
        with pytest.raises(SealBroken):
            await kit.seal.open("acme", "k", sealed[:index] + bytes([sealed[index] ^ 1]) + sealed[index + 1 :])


@pytest.mark.parametrize(
    "text",
    [
        NEW.hex() + "\n",
        NEW.hex().upper(),
        base64.b64encode(NEW).decode(),
        f"\n{base64.b64encode(NEW).decode()}\r\n\n",
    ],
)
async def test_keys_in_hex_and_base64(kit: Kit, text: str) -> None:
    """The same key however it is written."""
    sealed = await kit.seal.seal("acme", "k", b"private")
    kit.write(text)
    assert await kit.seal.open("acme", "k", sealed) == b"private"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "s3cr3t-passphrase",
        NEW.hex()[:-2],
        base64.b64encode(NEW[:16]).decode(),
        base64.b64encode(NEW + NEW).decode(),
        "00" * 32,
        "zz" * 32,
        key_line(NEW) + "s3cr3t-passphrase",
        "ä" * 32,
    ],
)
async def test_what_is_no_key_is_refused_at_start_and_repeated_nowhere(kit: Kit, text: str) -> None:
    """One wrong line is enough: a key that is passed over would be missed later."""
    kit.write(text)
    with pytest.raises(StartError, match=f"base64 or hex; make one with: tollhouse seal new-key {kit.path}") as caught:
        await kit.seal.start()
    assert "s3cr3t" not in f"{caught.value!r}{caught.value.__cause__!r}"
    with pytest.raises(SealDown) as down:
        await kit.seal.seal("acme", "k", b"private")
    assert "s3cr3t" not in repr(down.value)


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644, 0o666])
async def test_a_file_that_others_may_touch_is_refused_with_what_to_do(kit: Kit, mode: int) -> None:
    """Whoever can read it can read everything."""
    kit.write(key_line(NEW), mode)
    with pytest.raises(StartError, match=f"chmod 0600 {kit.path}"):
        await kit.seal.start()
    with pytest.raises(SealDown):
        await kit.seal.seal("acme", "k", b"private")


async def test_a_file_that_is_away_seals_and_opens_nothing_until_it_is_back(kit: Kit) -> None:
    """What was read before is forgotten."""
    await kit.seal.start()
    sealed = await kit.seal.seal("acme", "k", b"private")
    kit.path.unlink()
    kit.now += 10.0
    for asked in (kit.seal.seal("acme", "k", b"private"), kit.seal.open("acme", "k", sealed)):
        with pytest.raises(SealDown):
            await asked
    with pytest.raises(StartError, match="No such file"):
        await kit.seal.start()
    kit.write(key_line(NEW))
    assert await kit.seal.open("acme", "k", sealed) == b"private"


async def test_each_tenant_has_a_key_of_its_own(kit: Kit) -> None:
    """And no more of them are kept than a bound allows."""
    for number in range(MAX_TENANTS + 5):
        await kit.seal.seal(f"tenant-{number}", "k", b"")
    assert len(kit.seal._ciphers) == MAX_TENANTS
    await kit.seal.stop()
    assert len(kit.seal._ciphers) == 0


async def test_no_key_is_found_in_what_is_sealed_or_printed(kit: Kit) -> None:
    """The key's id tells nothing of it."""
    sealed = await kit.seal.seal("acme", "k", b"private")
    assert NEW[:8] not in sealed
    assert NEW.hex() not in repr(vars(kit.seal)["_ciphers"])
