"""Which version of a transit key signs, and what an engine that does not answer comes to. A real one is asked in
tests/integration/test_assertions_transit.py.
"""

import asyncio
import io
import json

import jwt
import pytest
from fakes.assertions import FakeTransit
from fakes.clock import START, FakeClock

from adapters.base import Fault
from gateway.assertions.base import NotSigned
from gateway.assertions.keys import PublicKey
from gateway.assertions.transit import AHEAD_SECONDS, LOOK_SECONDS, TransitSigner
from gateway.clients.vault_answers import Trouble, VaultFailed
from gateway.errors import StartError
from gateway.settings.assertions import AssertionTransitSettings
from gateway.surfaces.jwks import MAX_AGE_SECONDS
from gateway.telemetry import configure

OLD = START - 86_400
CLAIMS = b'{"sub":"helper-1"}'


def _signer(engine: FakeTransit, clock: FakeClock, stream: io.StringIO | None = None) -> TransitSigner:
    log = configure("info", stream or io.StringIO())
    return TransitSigner(AssertionTransitSettings(), engine, engine.ask, clock=clock, log=log)


def _key(version: int) -> PublicKey:
    return PublicKey(FakeTransit.private(version).public_key().public_bytes_raw())


async def _kid(signer: TransitSigner) -> str:
    kid: str = jwt.get_unverified_header(await signer.sign(CLAIMS))["kid"]
    return kid


def test_a_version_is_published_everywhere_before_it_signs() -> None:
    """By every replica, and in every copy that a service may keep."""
    assert AHEAD_SECONDS > LOOK_SECONDS + MAX_AGE_SECONDS


async def test_the_only_version_signs_at_once() -> None:
    """With one request; what comes verifies by the key that is handed out."""
    engine, clock = FakeTransit(START), FakeClock()
    signer = _signer(engine, clock)
    await signer.start()
    token = await signer.sign(CLAIMS)
    assert engine.asked == ["keys", "sign 1"]
    assert signer.keys() == (_key(1),)
    assert jwt.api_jws.decode(token, jwt.PyJWK(_key(1).jwk()).key, algorithms=["EdDSA"]) == CLAIMS
    await signer.stop()


async def test_a_new_version_is_published_first_and_signs_later() -> None:
    """When it is old enough that nobody is surprised."""
    engine, clock = FakeTransit(OLD), FakeClock()
    signer = _signer(engine, clock)
    await signer.start()
    await asyncio.sleep(0)
    engine.made_at.append(START)
    clock.advance(LOOK_SECONDS)
    await asyncio.sleep(0)
    assert signer.keys() == (_key(2), _key(1))
    assert await _kid(signer) == _key(1).kid
    clock.advance(AHEAD_SECONDS)
    assert await _kid(signer) == _key(2).kid
    await signer.stop()


async def test_a_version_that_may_sign_no_more_is_left_at_the_first_refusal() -> None:
    """Who rotates in a hurry need not wait, nor restart anything."""
    engine, clock = FakeTransit(OLD), FakeClock()
    signer = _signer(engine, clock)
    await signer.start()
    engine.made_at.append(START)
    engine.signs_from = 2
    assert await _kid(signer) == _key(2).kid
    assert engine.asked == ["keys", "sign 1", "keys", "sign 2"]
    await signer.stop()


async def test_a_version_that_verifies_no_more_is_taken_out() -> None:
    """Within the time between two looks."""
    engine, clock = FakeTransit(OLD, OLD), FakeClock()
    signer = _signer(engine, clock)
    await signer.start()
    await asyncio.sleep(0)
    engine.verifies_from = 2
    clock.advance(LOOK_SECONDS)
    await asyncio.sleep(0)
    assert signer.keys() == (_key(2),)
    await signer.stop()


@pytest.mark.parametrize(
    ("trouble", "fault", "is_for_good"),
    [
        (Trouble.UNREACHABLE, Fault.RESET, False),
        (Trouble.TIMEOUT, Fault.TIMEOUT, False),
        (Trouble.SEALED, Fault.ERROR, False),
        (Trouble.DENIED, Fault.REFUSED, True),
        (Trouble.REJECTED, Fault.ERROR, True),
        (Trouble.ABSENT, Fault.ERROR, True),
    ],
)
async def test_an_engine_that_does_not_sign_is_a_failure(trouble: Trouble, fault: Fault, is_for_good: bool) -> None:
    """It is told apart whether waiting helps; the keys stay published."""
    engine = FakeTransit(OLD)
    signer = _signer(engine, FakeClock())
    await signer.start()
    engine.failure = VaultFailed(trouble)
    with pytest.raises(NotSigned, match="Vault does not sign") as caught:
        await signer.sign(CLAIMS)
    assert (caught.value.fault, caught.value.is_for_good) == (fault, is_for_good)
    assert signer.keys() == (_key(1),)
    await signer.stop()


async def test_a_look_in_vain_is_logged_and_followed_by_another() -> None:
    """What is known stays known meanwhile."""
    engine, clock, stream = FakeTransit(OLD), FakeClock(), io.StringIO()
    signer = _signer(engine, clock, stream)
    await signer.start()
    await asyncio.sleep(0)
    engine.failure = VaultFailed(Trouble.UNREACHABLE)
    clock.advance(LOOK_SECONDS)
    await asyncio.sleep(0)
    assert json.loads(stream.getvalue())["event"] == "assertion_keys_unknown"
    assert signer.keys() == (_key(1),)
    engine.failure = None
    engine.made_at.append(START)
    clock.advance(LOOK_SECONDS)
    await asyncio.sleep(0)
    assert signer.keys() == (_key(2), _key(1))
    await signer.stop()
    assert clock.sleepers == 0


async def test_without_a_key_it_does_not_start() -> None:
    """And says which rights are needed."""
    engine = FakeTransit(OLD)
    engine.failure = VaultFailed(Trouble.DENIED)
    with pytest.raises(StartError, match="read on transit/keys/tollhouse-assertions and update on"):
        await _signer(engine, FakeClock()).start()
