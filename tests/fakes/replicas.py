"""Several gateways in processes of their own over one PostgreSQL, each behind a relay of its own, to be killed, frozen
and cut off at any moment of a call.

What is done to the world is one line of the file `effects`, whoever did it. Calls can be held at every `Moment` of
their way. Leases are as short as `LEASE_SECONDS`.
"""

import asyncio
import base64
import contextlib
import functools
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any

import gateway.app
import gateway.approvals.leftovers
import gateway.approvals.store
import gateway.audit.aftermath
import gateway.handles.kept
import gateway.idempotency.store
import gateway.services
from adapters.base import Invocation, Output
from fakes.adapter import FakeAdapter
from fakes.audit import until
from fakes.child import gateway_process
from fakes.engine import ALLOW, FakeEngine
from fakes.path import registry_rows
from fakes.relay import Relay, Way
from fakes.served import asked, channel_to, identity, lines_in, settings_in, socket_listener
from gateway.call import CallerKind, Decision
from gateway.pipeline import Pipeline
from gateway.settings.listeners import Listener, Service
from gateway.settings.load import Settings
from gateway.settings.sealing import SealingSettings
from gateway.settings.store import StoreSettings
from gateway.store import approvals, keys
from gateway.store.database import Session
from gateway.v1 import approval_service_pb2 as approval_pb
from gateway.v1 import codes_pb2
from gateway.v1 import registry_service_pb2 as registry_pb
from gateway.v1 import tool_service_pb2 as pb
from gateway.v1.approval_service_pb2_grpc import ApprovalServiceStub
from gateway.v1.registry_service_pb2_grpc import RegistryServiceStub
from gateway.v1.tool_service_pb2_grpc import ToolServiceStub

LEASE_SECONDS, LAPSED_SECONDS = 3.0, 1.0
GONE_SECONDS = LEASE_SECONDS + LAPSED_SECONDS
TIMEOUT_MS = 1000
ASK = '{"effect":"require_approval","reasons":[],"obligations":[]}'
KEY = base64.b64encode(bytes(range(32)))


class Moment(StrEnum):
    """Where a call can be held."""

    DECIDED = "decided"
    """Before anything is claimed."""
    CLAIMING = "claiming"
    """The claim is written, and its transaction about to be committed."""
    CLAIMED = "claimed"
    """The claim is durable, and nothing was sent."""
    SENT = "sent"
    """The vendor has done it, and has not answered."""
    SETTLING = "settling"
    """What became of it is written, and that transaction about to be committed."""


CHILD = "from fakes.replicas import run_replica; run_replica()"


def run_replica() -> None:
    """The life of one replica: `sys.argv` names its folder and its store."""
    folder, url, user, password = sys.argv[1:5]
    held = _Held(Path(folder))
    _shorten_leases()
    _hold_calls(held)
    parts = {"adapters": {"fake": _Vendor(held)}, "engine": _Engine(held)}
    gateway.app.build_gateway = functools.partial(gateway.app.build_gateway, **parts)
    settings = replica_settings(Path(folder), url, user, Path(password))
    asyncio.run(gateway.app.run(settings, lambda _: os.write(1, b"ready\n")))


def replica_settings(folder: Path, url: str, user: str, password_file: Path) -> Settings:
    """Settings of a replica: agents at `g.sock`, and people at `c.sock`. Of `tick` an agent may do five a day."""
    person = identity(
        principal="ann", agent="", principal_kind=CallerKind.HUMAN, roles=("approver",), scopes=("stop:write",)
    )
    services = (Service.APPROVAL, Service.REGISTRY)
    control = Listener(name="control", address=f"unix:{folder / 'c.sock'}", services=services, identity=person)
    rows = registry_rows()
    rows["agents"][0]["budgets"] = [{"unit": "calls", "limit": 5, "scope": "agent_day", "tools": ["tick"]}]
    return settings_in(
        folder,
        rows=rows,
        listeners=(socket_listener(folder), control),
        store=StoreSettings(url=url, user=user, password_file=password_file, timeout_ms=TIMEOUT_MS),
        sealing=SealingSettings(key_file=folder.parent / "seal.key"),
    )


def _shorten_leases() -> None:
    for part in (gateway.idempotency.store, gateway.handles.kept):
        part.LEASE_SECONDS, part._RENEW_SECONDS = LEASE_SECONDS, LEASE_SECONDS / 4
    gateway.audit.aftermath.LAPSED_SECONDS = LAPSED_SECONDS
    gateway.approvals.store.LEASE = timedelta(seconds=LEASE_SECONDS)
    gateway.approvals.leftovers.LAPSED = timedelta(seconds=LAPSED_SECONDS)
    gateway.approvals.leftovers.UNUSED = timedelta(seconds=1)
    gateway.services.LOOK_AFTER_SECONDS = 0.2


class _Held:
    """Stops calls at moments, by files in the replica's folder: `want-MOMENT` holds the path of whose call is to stop,
    nothing for every call; `at-MOMENT` is there when one has, until `want-MOMENT` is gone.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def at(self, moment: Moment, arguments: str) -> None:
        """Wait here when a call with these arguments is to."""
        want = self.folder / f"want-{moment}"
        if not want.exists() or want.read_text() not in arguments:
            return
        (self.folder / f"at-{moment}").touch()
        while want.exists():
            await asyncio.sleep(0.005)


class _Vendor(FakeAdapter):
    """Writes down what it does, in a file that all replicas share."""

    def __init__(self, held: _Held) -> None:
        super().__init__()
        self._held = held

    async def _invoke(self, invocation: Invocation) -> Output:
        path = invocation.arguments["path"]
        with (self._held.folder.parent / "effects").open("a") as file:
            file.write(f"{path}\n")
        await self._held.at(Moment.SENT, path)
        return Output(receipt="Done.")


class _Engine(FakeEngine):
    """Asks for an approval of what begins with `ask`, and allows everything else."""

    def __init__(self, held: _Held) -> None:
        super().__init__()
        self._held = held

    async def decide(self, input_json: bytes) -> Decision:
        """At its moment."""
        path = json.loads(input_json)["arguments"]["path"]
        await self._held.at(Moment.DECIDED, path)
        self.answer = ASK if path.startswith("ask") else ALLOW
        return await super().decide(input_json)


def _hold_calls(held: _Held) -> None:
    """The other moments are inside of transactions, and between two steps."""
    resolve, take, finish, adopt = Pipeline._resolve_credential, keys.take, keys.finish, approvals.adopt

    async def resolving(self: Pipeline, trail: Any, *more: Any) -> None:
        await held.at(Moment.CLAIMED, trail.arguments.value["path"])
        await resolve(self, trail, *more)

    async def taking(session: Session, claim: Any, **more: Any) -> Any:
        taken = await take(session, claim, **more)
        await held.at(Moment.CLAIMING, claim.arguments.decode())
        return taken

    async def adopting(*arguments: Any, **more: Any) -> bool:
        is_adopted = await adopt(*arguments, **more)
        await held.at(Moment.CLAIMING, "ask")
        return is_adopted

    async def finishing(session: Session, claim: Any, **more: Any) -> None:
        await finish(session, claim, **more)
        await held.at(Moment.SETTLING, claim.arguments.decode())

    Pipeline._resolve_credential = resolving  # type: ignore[assignment, method-assign]
    keys.take, keys.finish, approvals.adopt = taking, finishing, adopting


@dataclass
class Replica:
    """One of them, as a test sees it."""

    folder: Path
    process: asyncio.subprocess.Process
    relay: Relay
    tools: Any
    approvals: Any
    registry: Any
    _calls: set["asyncio.Task[Any]"] = field(default_factory=set)

    async def call(self, path: str, *, key: str = "", tool: str = "note", **more: Any) -> Any:
        """The answer to a write of this path."""
        return await self.tools.CallTool(asked(tool, json.dumps({"path": path}), key=key, **more), timeout=30)

    def calling(self, path: str, **more: Any) -> "asyncio.Task[Any]":
        """The same, while a test goes on."""
        task = asyncio.create_task(self.call(path, **more))
        self._calls.add(task)
        return task

    def want(self, moment: Moment, path: str = "") -> None:
        """Every call of this path that comes there stops, or every one at all."""
        (self.folder / f"at-{moment}").unlink(missing_ok=True)
        (self.folder / f"want-{moment}").write_text(path)

    async def reached(self, moment: Moment) -> None:
        """Returns when a call has stopped there."""
        async with asyncio.timeout(10):
            await until((self.folder / f"at-{moment}").exists)

    def go(self, moment: Moment) -> None:
        """Whoever stopped there goes on, and nobody stops there any more."""
        (self.folder / f"want-{moment}").unlink(missing_ok=True)

    def kill(self) -> None:
        """It is gone at once."""
        self.process.kill()

    def freeze(self) -> None:
        """It does nothing."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on."""
        os.kill(self.process.pid, signal.SIGCONT)

    async def cut_off(self) -> None:
        """Its store gives no more answers."""
        await self.relay.turn(Way.HANG)

    async def heal(self) -> None:
        """Its store answers again; what was held back is gone with its connections."""
        await self.relay.turn(Way.REFUSE)
        await self.relay.turn(Way.PASS)

    async def approve(self, approval_id: str) -> None:
        """Ann agrees."""
        found = await self.approvals.GetApproval(approval_pb.GetApprovalRequest(approval_id=approval_id))
        verdict = approval_pb.DecideApprovalRequest(
            approval_id=approval_id, approve=True, reason="Fine.", arguments_digest=found.approval.arguments_digest
        )
        await self.approvals.DecideApproval(verdict, timeout=10)

    async def stop_tool(self, tool: str) -> None:
        """Operators stop this tool."""
        request = registry_pb.SetStopRequest(scope=registry_pb.STOP_SCOPE_TOOL, name=tool, reason="Enough.")
        await self.registry.SetStop(request, timeout=10)

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Its own lines."""
        return lines_in(self.folder)


@dataclass
class Fleet:
    """All of them."""

    folder: Path
    store: StoreSettings
    replicas: dict[str, Replica] = field(default_factory=dict)

    @property
    def effects(self) -> list[str]:
        """What was done, over all replicas, in order."""
        file = self.folder / "effects"
        return file.read_text().splitlines() if file.exists() else []

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of every replica that ever was."""
        return [line for name in sorted(self.replicas) for line in lines_in(self.folder / name)]

    def told(self, kind: str = "call") -> Counter[str]:
        """How many lines of this kind each call has."""
        return Counter(line["call_id"] for line in self.lines if line["kind"] == kind)

    @contextlib.asynccontextmanager
    async def replica(self, name: str) -> AsyncIterator[Replica]:
        """One that runs; in the folder of that name, so that the same name comes back to what it left."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        for left in folder.glob("want-*"):
            left.unlink()
        host, port, database = self.store.server
        relay = Relay(f"{host}:{port}", lambda _: b"")
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(asyncio.sleep, 0.05)  # for connections that were broken off to be gone
            await stack.enter_async_context(relay.listening("127.0.0.1:0"))
            arguments = (f"postgresql://{relay.address}/{database}", self.store.user, str(self.store.password_file))
            process = await stack.enter_async_context(gateway_process(CHILD, folder, *arguments))
            agent, people = [
                await stack.enter_async_context(channel_to(f"unix:{folder / name}")) for name in ("g.sock", "c.sock")
            ]
            stubs = ToolServiceStub(agent), ApprovalServiceStub(people), RegistryServiceStub(people)
            one = self.replicas[name] = Replica(folder, process, relay, *stubs)
            try:
                yield one
            finally:
                for task in one._calls:
                    task.cancel()
                await asyncio.gather(*one._calls, return_exceptions=True)


def fleet_in(folder: Path, store: StoreSettings) -> Fleet:
    """None runs yet."""
    key = folder / "seal.key"
    key.write_bytes(KEY)
    key.chmod(0o600)
    return Fleet(folder, store)


def reason_of(response: pb.CallToolResponse) -> str:
    """Why it was stopped, e.g. `STORE_UNAVAILABLE`; empty when it was not."""
    if response.WhichOneof("outcome") != "error":
        return ""
    return codes_pb2.Reason.Name(response.error.reason).removeprefix("REASON_")
