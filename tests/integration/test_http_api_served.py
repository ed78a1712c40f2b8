"""A whole gateway before a company's own HTTP service, which is nothing but rows to it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from fakes.crm import AUDIENCE, ISSUER, Crm, running_crm
from fakes.engine import FakeEngine
from fakes.packs import write_pack
from fakes.served import asked, channel_to, lines_in, settings_in, socket_listener
from real.stores import sqlite_settings

from gateway.app import Gateway, build_gateway
from gateway.assertions.key_file import make_key
from gateway.policy.base import Engine
from gateway.settings.assertions import AssertionSettings, AudienceGrant, PublishSettings
from gateway.settings.listeners import FixedIdentity, Listener
from gateway.settings.load import Settings
from gateway.settings.parts import CredentialGrant, NetworkSettings, RegistrySettings
from gateway.settings.policy import PolicySettings
from gateway.v1 import approval_service_pb2 as approval_pb
from gateway.v1 import approval_service_pb2_grpc as approval_rpc
from gateway.v1 import codes_pb2 as codes
from gateway.v1 import registry_service_pb2 as registry_pb
from gateway.v1 import registry_service_pb2_grpc as registry_rpc
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1 import tool_service_pb2_grpc as rpc

TOKEN = "crm-8f21c06be45d"
ID = {"type": "string", "maxLength": 64}
ASK = '{"effect":"require_approval","reasons":[{"code":"high_risk"}],"obligations":[]}'
POLICY = """decision := {
	"effect": "deny",
	"reasons": [{"code": "salaries", "message": "Salaries are not written down."}],
	"obligations": [],
} if {
	contains(object.get(input.arguments, "text", ""), "salary")
}

else := {"effect": "allow", "reasons": [], "obligations": []}
"""


def rows(crm: Crm) -> dict[str, Any]:
    """One connection, a read and a write."""
    connection = {
        "name": "crm",
        "tenant": "acme",
        "vendor": "http_api",
        "hosts": [f"127.0.0.1:{crm.port}"],
        "credential": "env:CRM_TOKEN",
        "assertion": AUDIENCE,
        "options": {"base_url": f"http://127.0.0.1:{crm.port}/api", "auth": {"kind": "bearer"}},
    }
    read = _tool(
        "crm_customer",
        {"id": ID},
        {"method": "GET", "path": "/v1/customers/{id}"},
        side_effect="read",
        surfaces=["grpc"],
    )
    write = _tool(
        "crm_add_note",
        {"id": ID, "text": {"type": "string", "maxLength": 400}},
        {
            "method": "POST",
            "path": "/v1/customers/{id}/notes",
            "body": {"type": "json", "fields": {"text": {"argument": "/text"}, "by": {"value": "agent"}}},
            "key_header": "Idempotency-Key",
            "answer": {"type": "json", "pointer": "/data"},
        },
        side_effect="write",
        idempotency="required",
    )
    agent = {"name": "helper", "tenant": "acme", "tools": [read["name"], write["name"]]}
    return {"connections": [connection], "tools": [read, write], "agents": [agent]}


def _tool(name: str, properties: dict[str, Any], options: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": "Does what the service does.",
        "input_schema": {
            "type": "object",
            "additionalProperties": False,
            "required": list(properties),
            "properties": properties,
        },
        "requires": [],
        "surfaces": ["grpc"],
        "binding": {"adapter": "http_api", "operation": "request", "connection": "crm", "options": options},
        **more,
    }


def _settings(folder: Path, crm: Crm, **more: Any) -> Settings:
    host = f"127.0.0.1:{crm.port}"
    make_key(folder / "assertions.pem", bytes(32))
    return settings_in(
        folder,
        rows(crm),
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


@dataclass
class Toll:
    """A gateway before the service."""

    folder: Path
    crm: Crm
    gateway: Gateway
    stub: Any

    async def call(self, name: str, key: str = "", **arguments: Any) -> pb.CallToolResponse:
        """CallTool. The service's credential is in nothing that comes of it."""
        response: pb.CallToolResponse = await self.stub.CallTool(
            asked(name, orjson.dumps(arguments), key=key), timeout=20
        )
        assert TOKEN.encode() not in response.SerializeToString()
        return response

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The audit line of each call. No credential is in one."""
        lines = [line for line in lines_in(self.folder) if line["kind"] == "call"]
        assert TOKEN not in str(lines)
        return lines


@contextlib.asynccontextmanager
async def toll(folder: Path, crm: Crm, *, engine: Engine | None = None, **more: Any) -> AsyncIterator[Toll]:
    """One that runs, with every adapter that is installed."""
    gateway = build_gateway(_settings(folder, crm, **more), engine=engine)
    await gateway.start()
    crm.jwks_url = f"http://{gateway.describe().http_addresses['keys']}/.well-known/jwks.json"
    try:
        async with channel_to(gateway.describe().listeners[0].address) as channel:
            yield Toll(folder, crm, gateway, rpc.ToolServiceStub(channel))
    finally:
        await gateway.stop()


@pytest.fixture
async def crm(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Crm]:
    """The service, whose token the gateway's environment has."""
    monkeypatch.setenv("CRM_TOKEN", TOKEN)
    async with running_crm(TOKEN) as one:
        yield one


@pytest.fixture
async def one(tmp_path: Path, crm: Crm) -> AsyncIterator[Toll]:
    """A gateway whose rows are in a file, under a policy of its own."""
    folder = write_pack(tmp_path / "policy", POLICY)
    async with toll(tmp_path, crm, policy=PolicySettings(paths=(folder,))) as running:
        yield running


async def test_a_read_says_who_calls_and_brings_no_secret_back(one: Toll) -> None:
    """The service verifies the assertion by the published key; what it quotes of its caller's proof is taken out."""
    response = await one.call("crm_customer", id="c-7")
    answer = orjson.loads(response.result.structured_json)
    (claims,) = one.crm.callers
    assert (answer["id"], answer["tenant"]) == ("c-7", "acme")
    assert answer["said"] == {"authorization": "Bearer [redacted]", "assertion": "[redacted]"}
    assert (claims["tenant"], claims["agent"], claims["tool"]) == ("acme", "helper", "crm_customer")
    (line,) = one.lines
    assert claims["call_id"] == line["call_id"]
    assert (line["upstream"], line["outcome"]) == ("GET /v1/customers/{id}", "ok")
    assert claims["arguments_digest"] == line["arguments_digest"]
    assert "untrusted" in response.result.labels


async def test_a_write_carries_one_key_however_often_it_is_asked_for(one: Toll) -> None:
    """A repetition of the call asks nobody; an answer that never came is asked for once more, with the same key."""
    one.crm.breaks_off = True
    first = await one.call("crm_add_note", "k-1", id="c-7", text="Called.")
    again = await one.call("crm_add_note", "k-1", id="c-7", text="Called.")
    assert orjson.loads(first.result.structured_json) == {"id": "n-1", "text": "Called.", "by": "agent"}
    assert again.result.structured_json == first.result.structured_json
    assert len(one.crm.keys) == 2
    assert len(one.crm.notes) == 1
    other = await one.call("crm_add_note", "k-2", id="c-7", text="Called.")
    assert orjson.loads(other.result.structured_json)["id"] == "n-2"
    assert [line.get("replay", False) for line in one.lines] == [False, True, False]
    assert {line["upstream"] for line in one.lines if not line.get("replay")} == {"POST /v1/customers/{id}/notes"}


async def test_what_policy_denies_reaches_nobody(one: Toll) -> None:
    """It sees the arguments as they would go out."""
    response = await one.call("crm_add_note", "k-1", id="c-7", text="His salary is 7.")
    assert response.error.reason == codes.REASON_POLICY_DENIED
    assert "Salaries" in response.error.message
    assert one.crm.targets == []
    (line,) = one.lines
    assert line["outcome"] == "permission_denied"


@pytest.mark.parametrize("text", ["..", "%2e%2e", "..\\x", "../../admin", "a\nb", "\uff0e\uff0e"])
async def test_an_argument_that_leads_elsewhere_is_refused_before_policy(one: Toll, text: str) -> None:
    """By its place, with one line."""
    response = await one.call("crm_customer", id=text)
    assert response.error.reason == codes.REASON_ARGUMENTS_INVALID
    assert [issue.path for issue in response.error.issues] == ["/id"]
    assert one.crm.targets == []
    assert len(one.lines) == 1


async def test_an_argument_is_escaped_whatever_a_server_may_read_in_it(one: Toll) -> None:
    """A colon could name another method of the service, a semicolon begin a parameter."""
    response = await one.call("crm_customer", id="c-7:archive;admin=1@x?y#z/w")
    assert orjson.loads(response.result.structured_json)["id"] == "c-7:archive;admin=1@x?y#z/w"
    assert one.crm.targets == ["/api/v1/customers/c-7%3Aarchive%3Badmin%3D1%40x%3Fy%23z%2Fw"]


async def test_the_rows_may_be_in_the_store(tmp_path: Path, crm: Crm) -> None:
    """They are judged when they are applied, each problem with its place, and hold within a second."""
    identity = FixedIdentity(kind="fixed", tenant="acme", principal="ann", principal_kind="human", roles=("operator",))
    control = Listener(name="control", address=f"unix:{tmp_path / 'c.sock'}", services=("registry",), identity=identity)
    running = toll(
        tmp_path,
        crm,
        engine=FakeEngine(),
        listeners=(socket_listener(tmp_path), control),
        registry=RegistrySettings(source="store"),
        store=await sqlite_settings(tmp_path),
    )
    async with running as one, channel_to(f"unix:{tmp_path / 'c.sock'}") as channel:
        registry = registry_rpc.RegistryServiceStub(channel)
        bad = rows(crm)
        bad["tools"][0]["binding"]["options"]["path"] = "/v1/customers/{nobody}"
        told = await registry.ApplyRows(registry_pb.ApplyRowsRequest(changes=_changes(bad)))
        assert [(one.row, one.path) for one in told.problems] == [("tool/crm_customer", "/binding/options/path")]
        told = await registry.ApplyRows(registry_pb.ApplyRowsRequest(changes=_changes(rows(crm))))
        assert list(told.problems) == []
        response = await one.call("crm_customer", id="c-7")
        async with asyncio.timeout(5):
            while not response.HasField("result"):
                await asyncio.sleep(0.05)
                response = await one.call("crm_customer", id="c-7")
        assert orjson.loads(response.result.structured_json)["id"] == "c-7"
        assert one.lines[-1]["upstream"] == "GET /v1/customers/{id}"


async def test_an_approval_covers_the_request_that_was_approved_and_no_other(tmp_path: Path, crm: Crm) -> None:
    """Whoever changes what the row says before it runs has to ask again, whatever version the row claims to be."""
    identity = FixedIdentity(kind="fixed", tenant="acme", principal="ann", principal_kind="human", roles=("approver",))
    control = Listener(name="control", address=f"unix:{tmp_path / 'c.sock'}", services=("approval",), identity=identity)
    running = toll(tmp_path, crm, engine=FakeEngine(ASK), listeners=(socket_listener(tmp_path), control))
    async with running as one, channel_to(f"unix:{tmp_path / 'c.sock'}") as channel:
        approvals = approval_rpc.ApprovalServiceStub(channel)
        assert (await one.call("crm_add_note", "k-1", id="c-7", text="Called.")).HasField("pending")
        changed = rows(crm)
        changed["tools"][1]["binding"]["options"]["path"] = "/v1/customers/other-{id}/notes"
        (tmp_path / "rows.json").write_bytes(orjson.dumps(changed))
        assert await one.gateway.reload() == ()
        (found,) = (await approvals.ListApprovals(approval_pb.ListApprovalsRequest())).approvals
        decided = approval_pb.DecideApprovalRequest(
            approval_id=found.approval_id, approve=True, reason="So.", arguments_digest=found.arguments_digest
        )
        await approvals.DecideApproval(decided)
        async with asyncio.timeout(5):
            while not [line for line in lines_in(tmp_path) if line["kind"] == "execution"]:
                await asyncio.sleep(0.02)
        (line,) = [line for line in lines_in(tmp_path) if line["kind"] == "execution"]
        assert line["outcome"] != "ok"
        assert crm.targets == []
        (call,) = one.lines
        assert call["tool_version"] != line["tool_version"]


def _changes(given: dict[str, Any]) -> list[registry_pb.RowChange]:
    kinds = {
        "connections": registry_pb.ROW_KIND_CONNECTION,
        "tools": registry_pb.ROW_KIND_TOOL,
        "agents": registry_pb.ROW_KIND_AGENT,
    }
    return [
        registry_pb.RowChange(
            kind=kind,
            name=row["name"],
            document_json=orjson.dumps({key: value for key, value in row.items() if key != "tenant"}),
            any_version=True,
        )
        for part, kind in kinds.items()
        for row in given[part]
    ]
