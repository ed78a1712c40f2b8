"""A service in Go that knows nobody but by the assertion that it verifies, called as tools."""

import io
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fakes.assertions import facts
from fakes.grpc_service.compiled import compiled
from fakes.principals import principal
from fakes.resolver import FakeResolver
from fakes.vendor import Said, vendor_server
from vendors.servers.grpc_go.built import HERE, PROTO, running

from adapters.base import AdapterError, ErrorKind, Happened, Invocation, Output, Secret, SideEffect, Target
from adapters.grpc_upstream.adapter import GrpcUpstreamAdapter
from adapters.grpc_upstream.offers import offers_of
from adapters.recipes import Offer, Recipe
from adapters.transport.guard import Guard
from gateway.assertions.issuing import Assertions
from gateway.assertions.key_file import FileSigner, make_key
from gateway.assertions.keys import PublicKey
from gateway.clock import SystemClock
from gateway.settings.assertions import AssertionSettings, AudienceGrant
from gateway.telemetry import configure

ISSUER, AUDIENCE = "https://tollhouse.acme.example", "crm"
GET, ADD = "acme.crm.v1.CustomerService/GetCustomer", "acme.crm.v1.CustomerService/AddNote"
SEED, OTHER_SEED = b"a" * 32, b"b" * 32


class Gateway:
    """What signs and publishes for the gateway, as it is wired in it."""

    def __init__(self, folder: Path) -> None:
        key_file = folder / "assertions.pem"
        make_key(key_file, SEED)
        audiences = (AudienceGrant(name=AUDIENCE, hosts=("127.0.0.1",)),)
        settings = AssertionSettings(issuer=ISSUER, key_file=key_file, audiences=audiences)
        clock = SystemClock()
        signer = FileSigner(key_file, clock.monotonic, keep_seconds=120)
        log, numbers = configure("info", io.StringIO()), itertools.count(1)
        self._assertions = Assertions(settings, signer, clock=clock, log=log, new_id=lambda: f"jti-{next(numbers)}")

    def published(self) -> Any:
        """The verification keys."""
        return json.loads(self._assertions.jwks_document())

    def asserting(self, target: Target, tenant: str) -> Callable[[], Awaitable[Secret]]:
        """Who calls: an agent of this tenant."""
        who = facts(principal=principal(tenant=tenant, agent="support"))
        return self._assertions.of(who, target, deadline=SystemClock.monotonic() + 20, learn=lambda _secret: None)


def forged(*, seed: bytes = SEED, key: str | None = None, kind: str = "tollhouse-assertion+jwt", **more: Any) -> str:
    """An assertion that nobody would sign, with some claims being others."""
    private = Ed25519PrivateKey.from_private_bytes(seed)
    kid = PublicKey(Ed25519PrivateKey.from_private_bytes(SEED).public_key().public_bytes_raw()).kid
    headers = {"kid": kid if key is None else key, "typ": kind}
    return jwt.encode(claims(**more), private, algorithm="EdDSA", headers=headers)


def claims(**more: Any) -> dict[str, Any]:
    """What is said in a good one."""
    now = int(time.time())
    return {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 60, "tenant": "acme", "agent": "support", **more}


def unsigned() -> str:
    """One that says that it needs no signature."""
    return jwt.encode(claims(), None, algorithm="none", headers={"typ": "tollhouse-assertion+jwt"})


def offers(folder: Path) -> dict[str, Offer]:
    """What the service's own `.proto` file declares, without asking it."""
    return {offer.name: offer for offer in offers_of(compiled(HERE / "proto", folder / "set.bin", PROTO))}


@dataclass
class Service:
    """The service, and the adapter before it."""

    port: int
    adapter: GrpcUpstreamAdapter
    offered: dict[str, Offer]
    connection: dict[str, Any]
    """Its options beside the address."""
    gateway: Gateway
    tenant: str = "acme"
    audience: str = AUDIENCE
    forgery: Callable[[], str] | None = None
    """What the service gets in the place of an assertion."""

    @property
    def target(self) -> Target:
        """The connection."""
        options = {"address": f"127.0.0.1:{self.port}", "tls": False, **self.connection}
        return Target(name="crm", account="acme/crm", hosts=("127.0.0.1",), options=options, audience=self.audience)

    async def ask(self, method: str, arguments: dict[str, Any], **more: Any) -> Output:
        """Prepare and carry out."""
        offer, effect_id = self.offered[method], more.pop("effect_id", "effect-1")
        key = {"key_metadata": "x-idempotency-key"} if method == ADD else {}
        operation = self.adapter.make(
            Recipe(
                tool="crm",
                operation=offer.operation,
                side_effect=SideEffect.READ if method == GET else SideEffect.WRITE,
                options={**offer.options, **key, **more},
                input_schema=offer.input_schema,
                output_schema=offer.output_schema,
            )
        )
        return await operation.invoke(self.invocation(operation.prepare(arguments), effect_id))

    async def refused(self, method: str, arguments: dict[str, Any], **more: Any) -> AdapterError:
        """The error that it ends with."""
        with pytest.raises(AdapterError) as caught:
            await self.ask(method, arguments, **more)
        return caught.value

    def invocation(self, prepared: dict[str, Any], effect_id: str = "effect-1") -> Invocation:
        """Of prepared arguments."""

        async def forgery() -> Secret:
            assert self.forgery is not None
            return Secret(self.forgery())

        return Invocation(
            arguments=prepared,
            target=self.target,
            credential=None,
            deadline=SystemClock.monotonic() + 20,
            effect_id=effect_id,
            assertion=forgery if self.forgery else self.gateway.asserting(self.target, self.tenant),
        )


@asynccontextmanager
async def running_service(folder: Path, *, reflects: bool) -> AsyncIterator[Service]:
    """The service, which reads the published key when it starts, and whose connection says what it publishes."""
    async with vendor_server(Said()) as jwks:
        flags = (f"-jwks={jwks.url}/.well-known/jwks.json", f"-issuer={ISSUER}", f"-audience={AUDIENCE}")
        async with running(*flags, f"-reflection={str(reflects).lower()}") as port:
            gateway = Gateway(folder)
            jwks.answer = lambda _asked: Said(gateway.published())
            adapter = GrpcUpstreamAdapter(SystemClock(), Guard.of([f"127.0.0.1:{port}"]), FakeResolver({}))
            try:
                yield Service(port, adapter, offers(folder), {} if reflects else {"reflection": False}, gateway)
            finally:
                await adapter.close()


@pytest.fixture(params=[True, False], ids=["reflection", "no reflection"])
async def service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Service]:
    """One that publishes what it offers, and one that does not."""
    async with running_service(tmp_path, reflects=request.param) as one:
        yield one


@pytest.fixture
async def publishing(tmp_path: Path) -> AsyncIterator[Service]:
    """One that publishes what it offers."""
    async with running_service(tmp_path, reflects=True) as one:
        yield one


@pytest.fixture
async def silent(tmp_path: Path) -> AsyncIterator[Service]:
    """One that does not."""
    async with running_service(tmp_path, reflects=False) as one:
        yield one


@pytest.mark.proves("grpc_upstream", "unary", "success")
async def test_a_row_is_read_whole(service: Service) -> None:
    """Long numbers to the last digit, enums by name, moments, maps, and what is at its default."""
    output = await service.ask(GET, {"customer_id": "c-1"})
    assert output.structured == {
        "customer": {
            "customer_id": "c-1",
            "name": "Ann Åkesson",
            "balance_cents": "9007199254740993",
            "tier": "TIER_GOLD",
            "created_at": "2026-01-01T00:00:00.500Z",
            "notes": [],
            "labels": {"region": "north"},
        }
    }


@pytest.mark.proves("grpc_upstream", "unary", "success")
async def test_an_effect_is_there_once_and_by_whom(service: Service) -> None:
    """The service has the agent's name of the assertion, and tells repetitions by the effect's id."""
    arguments = {"customer_id": "c-1", "text": "called back"}
    first = await service.ask(ADD, arguments, effect_id="effect-7")
    assert first.structured == {"note": {"note_id": "n-1", "text": "called back", "author": "support"}}
    assert (await service.ask(ADD, arguments, effect_id="effect-7")).structured == first.structured
    assert (await service.ask(ADD, arguments, effect_id="effect-8")).structured["note"]["note_id"] == "n-2"
    notes = (await service.ask(GET, {"customer_id": "c-1"})).structured["customer"]["notes"]
    assert [note["note_id"] for note in notes] == ["n-1", "n-2"]


@pytest.mark.proves("grpc_upstream", "unary", "failure")
@pytest.mark.parametrize("method", [GET, ADD])
async def test_a_row_of_another_tenant_is_as_if_it_were_not_there(service: Service, method: str) -> None:
    """To whom it belongs it is there; to others it answers like one that nobody has."""
    text = {"text": "x"} if method == ADD else {}
    hidden = await service.refused(method, {"customer_id": "c-2", **text})
    missing = await service.refused(method, {"customer_id": "c-9", **text})
    assert (hidden.kind, hidden.happened) == (missing.kind, missing.happened) == (ErrorKind.NOT_FOUND, Happened.NO)
    assert hidden.message == missing.message
    service.tenant = "globex"
    assert (await service.ask(method, {"customer_id": "c-2", **text})).structured
    assert (await service.refused(method, {"customer_id": "c-1", **text})).kind is ErrorKind.NOT_FOUND


@pytest.mark.parametrize(
    "forgery",
    [
        lambda: forged(seed=OTHER_SEED),
        lambda: forged(key="another"),
        lambda: forged(kind="JWT"),
        lambda: forged(aud="billing"),
        lambda: forged(iss="https://elsewhere.example"),
        lambda: forged(exp=int(time.time()) - 60),
        lambda: forged(iat=int(time.time()) + 60),
        lambda: forged(tenant=""),
        unsigned,
        lambda: "no.good.token",
    ],
    ids=["another's", "key", "type", "audience", "issuer", "expired", "early", "no tenant", "no signature", "no token"],
)
async def test_an_assertion_that_is_not_good_is_refused(service: Service, forgery: Callable[[], str]) -> None:
    """By the service; what it says of it, the token among it, goes nowhere."""
    service.forgery = forgery
    error = await service.refused(ADD, {"customer_id": "c-1", "text": "x"})
    assert (error.kind, error.happened) == (ErrorKind.NEEDS_AUTHORISATION, Happened.NO)
    assert "assertion" not in f"{error} {error.__cause__}"
    service.forgery = forged
    assert (await service.ask(GET, {"customer_id": "c-1"})).structured["customer"]["notes"] == []


async def test_a_connection_that_tells_nobody_who_calls_is_refused(service: Service) -> None:
    """The service lets nobody in without an assertion."""
    service.audience = ""
    assert (await service.refused(GET, {"customer_id": "c-1"})).kind is ErrorKind.NEEDS_AUTHORISATION


async def test_what_the_service_does_not_take_is_the_agents_to_mend(service: Service) -> None:
    """Nothing was done."""
    error = await service.refused(ADD, {"customer_id": "c-1", "text": ""})
    assert (error.kind, error.happened) == (ErrorKind.INVALID, Happened.NO)


async def test_what_go_publishes_is_what_protoc_wrote(publishing: Service) -> None:
    """The same methods with the same digests, so that a row made of a file holds for the running service."""
    published = await publishing.adapter.offers(publishing.invocation({}))
    assert {one.name: one.digest for one in published} == {name: one.digest for name, one in publishing.offered.items()}
    assert {one.name: one.side_effect for one in published} == {GET: SideEffect.READ, ADD: SideEffect.WRITE}


async def test_a_service_that_publishes_nothing_is_called_only_when_its_connection_says_so(silent: Service) -> None:
    """Whether it has changed cannot be told."""
    with pytest.raises(AdapterError) as caught:
        await silent.adapter.offers(silent.invocation({}))
    assert caught.value.kind is ErrorKind.CHANGED
    silent.connection = {}
    error = await silent.refused(GET, {"customer_id": "c-1"})
    assert (error.kind, error.happened) == (ErrorKind.CHANGED, Happened.NO)
    assert "reflection: false" in error.message
