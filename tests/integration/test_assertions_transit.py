"""Assertions signed by a real OpenBao, whose key the gateway never has."""

import base64
import io
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
from fakes.assertions import AUDIENCE, ISSUER, TARGET, decoded, facts, parts_of, verified
from fakes.clock import FakeClock
from real.bao import Bao, running
from typer.testing import CliRunner

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Secret
from gateway.assertions.issuing import SIGN_SECONDS, Assertions
from gateway.assertions.signers import signer_of
from gateway.assertions.transit import AHEAD_SECONDS
from gateway.cli.assertions import app
from gateway.clients.vault import VaultClient
from gateway.clock import SystemClock
from gateway.credentials.vault import VaultSource
from gateway.errors import StartError
from gateway.settings.assertions import AssertionSettings, AssertionTransitSettings, AudienceGrant
from gateway.settings.vault import TokenAuth, VaultMount, VaultSettings
from gateway.telemetry import configure

KEY = "tollhouse-assertions"

SETTINGS = """
listeners:
  - {name: agent, address: "unix:g.sock", identity: {kind: fixed, tenant: acme, agent: helper}}
vault:
  addresses: [ADDRESS]
  auth: {kind: token, token_file: token}
  mounts: [{path: secret, version: 2}]
assertions:
  issuer: https://tollhouse.corp.example
  transit: {}
  audiences: [{name: billing, hosts: ["billing.corp.example:8443"]}]
"""


@pytest.fixture(scope="module")
def bao(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bao]:
    """One whose gateway may sign, and no more."""
    with running(tmp_path_factory.mktemp("bao")) as server:
        server.root.sys.enable_secrets_engine("transit")
        transit = server.root.secrets.transit
        for name in (KEY, "rotated", "hurried"):
            transit.create_key(name, key_type="ed25519")
        transit.create_key("other", key_type="ecdsa-p256")
        rights = {"transit/keys/*": '"read"', "transit/sign/*": '"update"'}
        rules = "\n".join(f'path "{path}" {{ capabilities = [{right}] }}' for path, right in rights.items())
        server.root.sys.create_or_update_policy("signs", rules)
        server.allow("reads", "transit/keys/*")
        yield server


Made = Callable[..., Awaitable[Assertions]]


@pytest.fixture
async def made(bao: Bao, tmp_path: Path) -> AsyncIterator[Made]:
    """Makes what asserts, started, each as a process of its own; and ends it."""
    started: list[tuple[Assertions, VaultSource]] = []

    async def make(key: str = KEY, *, policy: str = "signs", clock: FakeClock | None = None) -> Assertions:
        (tmp_path / policy).write_text(bao.token(policy))
        vault = VaultSettings(
            addresses=(bao.address,),
            auth=TokenAuth(kind="token", token_file=tmp_path / policy),
            mounts=(VaultMount(path="secret", version=2),),
        )
        client = VaultClient(vault.addresses, timeout_seconds=1.0)
        source = VaultSource(vault, client, clock=SystemClock(), chance=lambda: 0.0)
        settings = AssertionSettings(
            issuer=ISSUER,
            transit=AssertionTransitSettings(key=key),
            audiences=(AudienceGrant(name=AUDIENCE, hosts=TARGET.hosts),),
        )
        used, log = clock or FakeClock(now=time.time()), configure("error", io.StringIO())
        signer = signer_of(settings, client, source.session.ask, clock=used, log=log)
        assertions = Assertions(settings, signer, clock=used, log=log, new_id=lambda: "jti-1")
        started.append((assertions, source))
        await assertions.start()
        return assertions

    yield make
    for assertions, source in started:
        await assertions.stop()
        await source.stop()


async def _token(assertions: Assertions) -> str:
    learned: list[Secret] = []
    ask = assertions.of(facts(), TARGET, deadline=math.inf, learn=learned.append)
    return (await ask()).reveal()


def _kid(token: str) -> str:
    kid: str = parts_of(token)[0]["kid"]
    return kid


async def test_what_it_signs_verifies_by_what_is_published(bao: Bao, made: Made) -> None:
    """One request each; the claims are those of a key file."""
    assertions = await made()
    before = bao.asked()
    token = await _token(assertions)
    claims = verified(token, assertions.jwks_document(), now=time.time())
    assert (claims["tenant"], claims["aud"], claims["decision_id"]) == ("acme", AUDIENCE, "call:0190c0ffee")
    assert bao.asked()[len(before) :] == [("update", f"transit/sign/{KEY}")]


async def test_a_rotated_key_is_published_at_once_and_signs_later(bao: Bao, made: Made) -> None:
    """Both versions verify; what was signed before still does when the new one signs."""
    clock = FakeClock(now=time.time())
    await made("rotated", clock=clock)
    bao.root.secrets.transit.rotate_key("rotated")
    assertions = await made("rotated", clock=clock)
    before = await _token(assertions)
    clock.advance(AHEAD_SECONDS + 5)
    after = await _token(assertions)
    assert _kid(before) != _kid(after)
    for token, now in ((before, clock.now() - AHEAD_SECONDS - 5), (after, clock.now())):
        assert verified(token, assertions.jwks_document(), now=now)


async def test_a_version_that_may_sign_no_more_is_left_at_once(bao: Bao, made: Made) -> None:
    """The engine's no is heard, and its newest version asked in the same call."""
    assertions = await made("hurried")
    first = _kid(await _token(assertions))
    transit = bao.root.secrets.transit
    transit.rotate_key("hurried")
    transit.update_key_configuration("hurried", min_encryption_version=2)
    token = await _token(assertions)
    assert _kid(token) != first
    assert verified(token, assertions.jwks_document(), now=time.time())


@pytest.mark.parametrize("key", ["absent", "other"])
async def test_a_key_that_cannot_sign_stops_the_start(made: Made, key: str) -> None:
    """In a sentence that names the rights and the kind of key."""
    with pytest.raises(StartError, match=rf"transit/{key}: .*it has to be an ed25519 key"):
        await made(key)


async def test_who_may_not_sign_is_told_to_mend_it(made: Made) -> None:
    """Trying again would not help."""
    assertions = await made(policy="reads")
    with pytest.raises(AdapterError) as caught:
        await _token(assertions)
    assert (caught.value.kind, caught.value.fault) == (ErrorKind.NEEDS_AUTHORISATION, Fault.REFUSED)


async def test_a_server_that_is_down_or_frozen_fails_the_call_in_time(bao: Bao, made: Made) -> None:
    """Nothing is sent; the keys stay published, and it signs again when the server is back."""
    assertions = await made()
    document = assertions.jwks_document()
    for stop, start in ((bao.daemon.freeze, bao.daemon.thaw), (bao.daemon.kill, bao.start)):
        stop()
        began = time.monotonic()
        with pytest.raises(AdapterError) as caught:
            await _token(assertions)
        assert time.monotonic() - began < SIGN_SECONDS
        assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
        assert assertions.jwks_document() is document
        start()
        assert verified(await _token(assertions), document, now=time.time())


def test_the_command_prints_what_the_gateway_publishes(bao: Bao, tmp_path: Path) -> None:
    """It logs in as the gateway does, and needs no gateway."""
    (tmp_path / "token").write_text(bao.token("signs"))
    (tmp_path / "tollhouse.yaml").write_text(SETTINGS.replace("ADDRESS", bao.address))
    done = CliRunner().invoke(app, ["key", "--config", str(tmp_path / "tollhouse.yaml"), "--json"])
    assert done.exit_code == 0, done.exception
    made = bao.root.secrets.transit.read_key(KEY)["data"]["keys"]["1"]["public_key"]
    (key,) = json.loads(done.stdout)["keys"]
    assert decoded(key["x"]) == base64.b64decode(made)
