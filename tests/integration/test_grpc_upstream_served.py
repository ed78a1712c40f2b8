"""A whole gateway before a company's own gRPC service, which is nothing but rows to it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import grpc.aio
import jwt
import orjson
import pytest
from fakes.assertions import AUDIENCE, ISSUER, verified
from fakes.engine import FakeEngine
from fakes.grpc_service.compiled import CUSTOMERS, compiled, descriptor_set, message, pool_of
from fakes.grpc_service.compiled import PROTO as PROTO_FOLDER
from fakes.grpc_service.server import GrpcServer, grpc_server, publishing
from fakes.packs import write_pack
from fakes.recipes.grpc_upstream import OFFERS, SERVICE
from fakes.served import asked, channel_to, lines_in, settings_in, socket_listener

from gateway.app import Gateway, build_gateway
from gateway.assertions.key_file import make_key
from gateway.policy.base import Engine
from gateway.settings.assertions import AssertionSettings, AudienceGrant, PublishSettings
from gateway.settings.listeners import FixedIdentity, Listener
from gateway.settings.parts import CredentialGrant, NetworkSettings
from gateway.settings.policy import PolicySettings
from gateway.v1 import approval_service_pb2 as approval_pb
from gateway.v1 import approval_service_pb2_grpc as approval_rpc
from gateway.v1 import codes_pb2 as codes
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1 import tool_service_pb2_grpc as rpc

TOKEN = "crm-51d07be2a9c4"
ASK = '{"effect":"require_approval","reasons":[{"code":"high_risk"}],"obligations":[]}'
ALLOW = 'decision := {"effect": "allow", "reasons": [], "obligations": []}\n'
OTHER = "# Another one.\n" + ALLOW
GET, ADD = f"{SERVICE}/GetCustomer", f"{SERVICE}/AddNote"


@dataclass
class Customers:
    """The service, which believes a caller by its signed assertion alone."""

    server: GrpcServer
    jwks_url: str = ""
    callers: list[Mapping[str, Any]] = field(default_factory=list)

    async def answer(self, kind: str, context: grpc.aio.ServicerContext[Any, Any], **fields: Any) -> bytes:
        """A message, to a caller who shows both proofs."""
        beside: dict[str, Any] = dict(context.invocation_metadata() or ())
        async with aiohttp.ClientSession() as session, session.get(self.jwks_url) as published:
            document = await published.read()
        try:
            claims = verified(str(beside.get("tollhouse-assertion", "")), document, now=time.time())
        except (jwt.PyJWTError, KeyError):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED)
        if beside.get("authorization") != f"Bearer {TOKEN}":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED)
        self.callers.append(claims)
        return message(f"acme.customers.v1.{kind}", CUSTOMERS)(**fields).SerializeToString()

    async def get(self, request: bytes, context: Any) -> bytes:
        """It quotes what it was shown, as a service should not."""
        asked_for: Any = message("acme.customers.v1.GetCustomerRequest", CUSTOMERS).FromString(request)
        name = f"{asked_for.customer_id} {TOKEN}"
        return await self.answer("Customer", context, customer_id=asked_for.customer_id, name=name, balance_cents=2**60)

    async def add(self, request: bytes, context: Any) -> bytes:
        """A note."""
        note: Any = message("acme.customers.v1.AddNoteRequest", CUSTOMERS).FromString(request)
        return await self.answer("Note", context, note_id="n-1", text=note.text)


def rows(port: int) -> dict[str, Any]:
    """One connection, a read and a write, as an import would have them."""
    connection = {
        "name": "crm",
        "tenant": "acme",
        "vendor": "grpc_upstream",
        "hosts": [f"127.0.0.1:{port}"],
        "credential": "env:CRM_TOKEN",
        "assertion": AUDIENCE,
        "options": {"address": f"127.0.0.1:{port}", "tls": False, "auth": {"kind": "bearer"}},
    }
    read = _tool("crm_get_customer", "GetCustomer", side_effect="read")
    write = _tool("crm_add_note", "AddNote", side_effect="write", idempotency="required")
    agent = {"name": "helper", "tenant": "acme", "tools": [read["name"], write["name"]]}
    return {"connections": [connection], "tools": [read, write], "agents": [agent]}


def _tool(name: str, method: str, **more: Any) -> dict[str, Any]:
    offer = OFFERS[method]
    return {
        "name": name,
        "description": "Does what the service does.",
        "input_schema": offer.input_schema,
        "requires": [],
        "surfaces": ["grpc"],
        "binding": {
            "adapter": "grpc_upstream",
            "operation": "unary",
            "connection": "crm",
            "options": dict(offer.options),
        },
        **more,
    }


@dataclass
class Toll:
    """A gateway before the service."""

    folder: Path
    customers: Customers
    gateway: Gateway
    stub: Any

    async def call(self, name: str, key: str = "", **arguments: Any) -> pb.CallToolResponse:
        """CallTool. The service's credential is in nothing that comes of it."""
        request = asked(name, orjson.dumps(arguments), key=key)
        response: pb.CallToolResponse = await self.stub.CallTool(request, timeout=20)
        assert TOKEN.encode() not in response.SerializeToString()
        return response

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The audit lines of calls and of what was approved. No credential is in one."""
        lines = [line for line in lines_in(self.folder) if line["kind"] in ("call", "execution")]
        assert TOKEN not in str(lines)
        return lines


@contextlib.asynccontextmanager
async def toll(folder: Path, customers: Customers, *, engine: Engine | None = None, **more: Any) -> AsyncIterator[Toll]:
    """One that runs, with every adapter that is installed."""
    host = f"127.0.0.1:{customers.server.port}"
    make_key(folder / "assertions.pem", bytes(32))
    settings = settings_in(
        folder,
        rows(customers.server.port),
        network=NetworkSettings(private_targets=(host,)),
        credentials=(CredentialGrant(tenant="acme", references=("env:CRM_TOKEN",), hosts=(host,)),),
        assertions=AssertionSettings(
            issuer=ISSUER,
            key_file=folder / "assertions.pem",
            audiences=(AudienceGrant(name=AUDIENCE, hosts=(host,)),),
            publish=PublishSettings(address="127.0.0.1:0"),
        ),
        **more,
    )
    gateway = build_gateway(settings, engine=engine)
    await gateway.start()
    customers.jwks_url = f"http://{gateway.describe().http_addresses['keys']}/.well-known/jwks.json"
    try:
        async with channel_to(gateway.describe().listeners[0].address) as channel:
            yield Toll(folder, customers, gateway, rpc.ToolServiceStub(channel))
    finally:
        await gateway.stop()


@pytest.fixture
async def customers(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Customers]:
    """The service, whose token the gateway's environment has."""
    monkeypatch.setenv("CRM_TOKEN", TOKEN)
    data = descriptor_set(CUSTOMERS)
    async with grpc_server({}, reflecting=publishing(data, pool_of(data), SERVICE)) as server:
        one = Customers(server)
        server.answers.update({GET: one.get, ADD: one.add})
        yield one


async def test_a_read_says_who_calls_and_brings_no_secret_back(tmp_path: Path, customers: Customers) -> None:
    """The service verifies the assertion by the published key; what it quotes of its caller's proof is taken out."""
    async with toll(tmp_path, customers, engine=FakeEngine()) as one:
        response = await one.call("crm_get_customer", customer_id="c-7")
        answer = orjson.loads(response.result.structured_json)
        (line,) = one.lines
    (claims,) = customers.callers
    assert (answer["customer_id"], answer["name"], answer["balance_cents"]) == ("c-7", "c-7 [redacted]", str(2**60))
    assert (claims["tenant"], claims["agent"], claims["tool"]) == ("acme", "helper", "crm_get_customer")
    assert (claims["call_id"], claims["arguments_digest"]) == (line["call_id"], line["arguments_digest"])
    assert (line["upstream"], line["outcome"]) == (f"{GET} {OFFERS['GetCustomer'].digest}", "ok")


async def test_a_write_waits_for_its_approval_and_goes_out_once(tmp_path: Path, customers: Customers) -> None:
    """With an assertion of the call that was approved, and a line for each of the two."""
    identity = FixedIdentity(kind="fixed", tenant="acme", principal="ann", principal_kind="human", roles=("approver",))
    control = Listener(name="control", address=f"unix:{tmp_path / 'c.sock'}", services=("approval",), identity=identity)
    running = toll(tmp_path, customers, engine=FakeEngine(ASK), listeners=(socket_listener(tmp_path), control))
    async with running as one, channel_to(f"unix:{tmp_path / 'c.sock'}") as channel:
        approvals = approval_rpc.ApprovalServiceStub(channel)
        labels = [{"key": "mood", "value": "good"}]
        pending = await one.call("crm_add_note", "k-1", customer_id="c-7", text="Called.", labels=labels)
        assert pending.HasField("pending")
        assert customers.server.asked == []
        (found,) = (await approvals.ListApprovals(approval_pb.ListApprovalsRequest())).approvals
        await approvals.DecideApproval(
            approval_pb.DecideApprovalRequest(
                approval_id=found.approval_id, approve=True, reason="So.", arguments_digest=found.arguments_digest
            )
        )
        async with asyncio.timeout(10):
            while not [line for line in one.lines if line["kind"] == "execution"]:
                await asyncio.sleep(0.02)
        again = await one.call("crm_add_note", "k-1", customer_id="c-7", text="Called.", labels=labels)
        assert orjson.loads(again.result.structured_json) == {"note_id": "n-1", "text": "Called."}
        (executed,) = [line for line in one.lines if line["kind"] == "execution"]
    assert (executed["outcome"], executed["upstream"]) == ("ok", f"{ADD} {OFFERS['AddNote'].digest}")
    assert [asked_for.method for asked_for in customers.server.asked] == [ADD]
    (claims,) = customers.callers
    assert claims["tool"] == "crm_add_note"


async def test_a_service_that_has_changed_is_not_called(tmp_path: Path, customers: Customers) -> None:
    """The method has another field than the one that was accepted; nothing of the row or the request was sent."""
    source = (PROTO_FOLDER / CUSTOMERS).read_text()
    changed = source.replace(
        "string customer_id = 1;\n  string text = 2;", "string customer_id = 1;\n  string sql = 2;"
    )
    assert changed != source
    (tmp_path / "proto" / CUSTOMERS).parent.mkdir(parents=True)
    (tmp_path / "proto" / CUSTOMERS).write_text(changed)
    data = compiled(tmp_path / "proto", tmp_path / "set.bin", CUSTOMERS)
    assert customers.server.reflecting is not None
    customers.server.reflecting.now([SERVICE], pool_of(data))
    async with toll(tmp_path, customers, engine=FakeEngine()) as one:
        refused = await one.call("crm_add_note", "k-1", customer_id="c-7", text="Called.")
        read = await one.call("crm_get_customer", customer_id="c-7")
        write_line, read_line = one.lines
    assert refused.error.reason == codes.REASON_UPSTREAM_CHANGED
    assert (write_line["outcome"], write_line["upstream"]) == (
        "precondition_failed",
        f"{ADD} {OFFERS['AddNote'].digest}",
    )
    assert read.HasField("result")  # another method of the service is what it was
    assert read_line["outcome"] == "ok"
    assert [asked_for.method for asked_for in customers.server.asked] == [GET]


async def test_a_policy_is_tried_while_a_connection_is_in_use(
    tmp_path: Path, customers: Customers, capfd: pytest.CaptureFixture[str]
) -> None:
    """The child process that tries it neither hangs nor takes the connection along, and the library is silent."""
    folder = write_pack(tmp_path / "policy", ALLOW)
    async with toll(tmp_path, customers, policy=PolicySettings(paths=(folder,))) as one:
        assert (await one.call("crm_get_customer", customer_id="c-1")).HasField("result")
        write_pack(tmp_path / "policy", OTHER)
        calls = [asyncio.create_task(one.call("crm_get_customer", customer_id=f"c-{n}")) for n in range(20)]
        async with asyncio.timeout(30):
            assert await one.gateway.reload() == ()
        assert all(response.HasField("result") for response in await asyncio.gather(*calls))
    assert "fork" not in capfd.readouterr().err
