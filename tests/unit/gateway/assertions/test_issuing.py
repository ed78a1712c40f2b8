"""What is said of a call, to whom, and what is refused."""

import asyncio
import base64
import hashlib
import hmac
import io
import itertools
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jwt
import pytest
from fakes.assertions import AUDIENCE, ISSUER, TARGET, FakeTransit, decoded, facts, parts_of, verified
from fakes.clock import START, FakeClock
from fakes.principals import principal

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Secret, Target
from gateway.assertions.base import NotSigned
from gateway.assertions.issuing import SIGN_SECONDS, Assertions
from gateway.assertions.key_file import FileSigner, make_key
from gateway.assertions.keys import PublicKey
from gateway.call import CallerKind
from gateway.settings.assertions import AssertionSettings
from gateway.telemetry import configure

RFC_8037 = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}


class Desk:
    """Assertions over a key file, and what came of them."""

    def __init__(self, folder: Path, **changes: Any) -> None:
        self.path = folder / "assertions.pem"
        make_key(self.path, bytes(32))
        audiences = [{"name": AUDIENCE, "hosts": ["billing.corp.example:8443"], "tenants": ["acme"]}]
        given = {"issuer": ISSUER, "key_file": self.path, "audiences": audiences}
        self.settings = AssertionSettings.model_validate(given | changes)
        self.clock = FakeClock()
        self.signer: Any = FileSigner(self.path, self.clock.monotonic, keep_seconds=120)
        self.stream = io.StringIO()
        self.learned: list[Secret] = []
        self.assertions = self.over(self.signer)

    def over(self, signer: Any) -> Assertions:
        """The same over another signer."""
        numbers = itertools.count(1)
        return Assertions(
            self.settings,
            signer,
            clock=self.clock,
            log=configure("info", self.stream),
            new_id=lambda: f"jti-{next(numbers)}",
        )

    def ask(self, target: Target = TARGET, **changes: Any) -> Callable[[], Awaitable[Secret]]:
        """What an invocation asks by."""
        deadline = self.clock.monotonic() + 30
        return self.assertions.of(facts(**changes), target, deadline=deadline, learn=self.learned.append)

    async def token(self, target: Target = TARGET, **changes: Any) -> str:
        """A new assertion."""
        return (await self.ask(target, **changes)()).reveal()

    def check(self, token: str, **how: Any) -> Any:
        """What a service makes of it."""
        return verified(token, self.assertions.jwks_document(), now=self.clock.now(), **how)


@pytest.fixture
async def desk(tmp_path: Path) -> Desk:
    """Started."""
    made = Desk(tmp_path)
    await made.assertions.start()
    return made


async def test_what_an_assertion_says(desk: Desk) -> None:
    """Header and claims, whole: nothing of the arguments but their digest."""
    header, claims = parts_of(await desk.token())
    (key,) = desk.signer.keys()
    assert header == {"alg": "EdDSA", "kid": key.kid, "typ": "tollhouse-assertion+jwt"}
    assert claims == {
        "iss": ISSUER,
        "aud": "billing",
        "iat": int(START),
        "exp": int(START) + 60,
        "jti": "jti-1",
        "sub": "helper-1",
        "tenant": "acme",
        "agent": "helper",
        "principal_kind": "agent",
        "run": "run-7",
        "call_id": "0190c0ffee",
        "decision_id": "call:0190c0ffee",
        "tool": "refund_create",
        "side_effect": "write",
        "policy_revision": "sha256:aa",
        "arguments_digest": "sha256:bb",
    }
    assert desk.check(await desk.token())["sub"] == "helper-1"


async def test_what_an_assertion_says_of_an_approved_call_without_a_run(desk: Desk) -> None:
    """The line that holds the decision is the execution's; a run that nobody named is null."""
    who = principal(kind=CallerKind.WORKFLOW)
    claims = desk.check(await desk.token(principal=who, kind="execution", run_id=""))
    assert claims["decision_id"] == "execution:0190c0ffee"
    assert claims["run"] is None
    assert claims["principal_kind"] == "workflow"


async def test_it_is_a_secret_that_the_invocation_has_learned(desk: Desk) -> None:
    """So that it is taken out of what leaves, and dropped at the end."""
    secret = await desk.ask()()
    assert desk.learned == [secret]
    assert secret.reveal() not in repr(secret)


async def test_nothing_is_done_before_it_is_asked_for(desk: Desk) -> None:
    """A call whose adapter needs none pays for none."""
    engine = FakeTransit(START)
    desk.assertions = desk.over(engine)
    desk.ask()
    assert engine.asked == desk.learned == []


async def test_a_retry_sends_the_same_while_half_of_its_time_is_left(desk: Desk) -> None:
    """And then another; the next call has its own."""
    ask = desk.ask()
    first = await ask()
    desk.clock.advance(29)
    assert await ask() is first
    desk.clock.advance(2)
    second = await ask()
    assert parts_of(second.reveal())[1]["jti"] == "jti-2"
    assert desk.learned == [first, second]
    assert parts_of(await desk.token())[1]["jti"] == "jti-3"


async def test_it_holds_for_as_long_as_the_settings_say(tmp_path: Path) -> None:
    """Not a second longer."""
    desk = Desk(tmp_path, seconds=5)
    await desk.assertions.start()
    token = await desk.token()
    desk.clock.advance(4.9)
    assert desk.check(token)
    desk.clock.advance(0.1)
    with pytest.raises(jwt.ExpiredSignatureError):
        desk.check(token)


async def test_another_service_does_not_take_it(desk: Desk) -> None:
    """An assertion is for one."""
    with pytest.raises(jwt.InvalidAudienceError):
        desk.check(await desk.token(), audience="ledger")


async def test_every_changed_character_is_noticed(desk: Desk) -> None:
    """In the header, the claims and the signature: none of them can be exchanged for anything."""
    token = await desk.token()
    for at, old in enumerate(token):
        new = token[:at] + ("A" if old != "A" else "B") + token[at + 1 :]
        # the last character of each part has bits that stand for nothing; a library may read over them
        if old == "." or [decoded(part) for part in new.split(".")] != [decoded(part) for part in token.split(".")]:
            with pytest.raises((jwt.PyJWTError, KeyError, ValueError)):
                desk.check(new)


def _forged(token: str, document: bytes, header: dict[str, Any], key: bytes | None) -> str:
    """The claims of a token under another header, signed with what is public."""
    head = base64.urlsafe_b64encode(json.dumps(parts_of(token)[0] | header).encode()).rstrip(b"=").decode()
    signed = f"{head}.{token.split('.')[1]}"
    mac = hmac.digest(key, signed.encode(), hashlib.sha256) if key is not None else b""
    return f"{signed}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256"])
async def test_what_an_attacker_says_of_the_algorithm_is_not_believed(desk: Desk, algorithm: str) -> None:
    """Neither that there is none, nor that the public key is a password."""
    token, document = await desk.token(), desk.assertions.jwks_document()
    public = decoded(json.loads(document)["keys"][0]["x"])
    for key in (None, b"", public, json.loads(document)["keys"][0]["x"].encode()):
        with pytest.raises(jwt.PyJWTError):
            desk.check(_forged(token, document, {"alg": algorithm}, key))


async def test_former_keys_of_the_settings_are_published(tmp_path: Path) -> None:
    """After those that sign; the document is the same object until something changes."""
    desk = Desk(tmp_path, former=[RFC_8037])
    await desk.assertions.start()
    document = desk.assertions.jwks_document()
    assert [one["x"] for one in json.loads(document)["keys"]][1] == RFC_8037["x"]
    assert desk.assertions.jwks_document() is document


async def test_a_key_is_rotated_while_calls_are_on_their_way(desk: Desk) -> None:
    """The old assertion and the new one verify by one and the same set; a while later the old key is gone."""
    before, document = await desk.token(), desk.assertions.jwks_document()
    make_key(desk.path.with_name("new"), bytes([1]) * 32)
    desk.path.with_name("new").replace(desk.path)
    desk.clock.advance(1)
    after = await desk.token()
    assert desk.assertions.jwks_document() is not document
    assert desk.check(before)["jti"] != desk.check(after)["jti"]
    with pytest.raises(KeyError):
        verified(after, document, now=desk.clock.now())
    desk.clock.advance(121)
    with pytest.raises(KeyError):
        desk.check(before)


@pytest.mark.parametrize(
    ("target", "tenant"),
    [
        (replace(TARGET, hosts=("evil.example",)), "acme"),
        (replace(TARGET, hosts=("billing.corp.example:8443", "evil.example")), "acme"),
        (replace(TARGET, hosts=()), "acme"),
        (replace(TARGET, audience="ledger"), "acme"),
        (TARGET, "globex"),
    ],
)
async def test_what_the_settings_do_not_allow_is_not_signed(desk: Desk, target: Target, tenant: str) -> None:
    """Whatever a row says, and though it was loaded."""
    with pytest.raises(AdapterError) as caught:
        await desk.ask(target, principal=principal(tenant=tenant))()
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert desk.learned == []


class Stuck:
    """A `Signer` that never answers, or that fails."""

    def __init__(self, failure: NotSigned | None = None) -> None:
        self.failure = failure

    def keys(self) -> tuple[PublicKey, ...]:
        """None."""
        return ()

    async def sign(self, claims: bytes) -> str:
        """Fail, or wait for good."""
        if self.failure is not None:
            raise self.failure
        await asyncio.Event().wait()
        return ""


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (NotSigned("Vault does not sign: no server can be reached", fault=Fault.RESET), ErrorKind.UNAVAILABLE),
        (
            NotSigned("Vault does not sign: not allowed", fault=Fault.REFUSED, is_for_good=True),
            ErrorKind.NEEDS_AUTHORISATION,
        ),
    ],
)
async def test_who_cannot_sign_sends_nothing(desk: Desk, failure: NotSigned, kind: ErrorKind) -> None:
    """The agent is told in our words, the operator in the log."""
    desk.assertions = desk.over(Stuck(failure))
    with pytest.raises(AdapterError) as caught:
        await desk.ask()()
    error = caught.value
    assert (error.kind, error.happened, error.fault) == (kind, Happened.NO, failure.fault)
    assert "nothing was sent" in error.message
    assert "Vault" not in error.message
    assert json.loads(desk.stream.getvalue())["problem"] == str(failure)


@pytest.mark.parametrize("seconds", [0.05, -1.0])
async def test_signing_ends_before_the_call_has_to(desk: Desk, seconds: float) -> None:
    """Also when its time is over already."""
    assert SIGN_SECONDS < 30
    assertions = desk.over(Stuck())
    deadline = desk.clock.monotonic() + seconds
    with pytest.raises(AdapterError) as caught:
        await assertions.of(facts(), TARGET, deadline=deadline, learn=desk.learned.append)()
    assert (caught.value.kind, caught.value.fault) == (ErrorKind.UNAVAILABLE, Fault.TIMEOUT)
