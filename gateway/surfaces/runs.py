"""RunService in gRPC: trusted runtimes say which runs there are. Never for agents, on whatever listener."""

import unicodedata
from collections.abc import Awaitable, Callable
from typing import Any, cast

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from adapters.base import Clock
from gateway.audit.base import LineKind
from gateway.audit.deeds import Deeds
from gateway.budget.runs import LONGEST_SECONDS, Run, Runs, intent_digest
from gateway.call import CallerKind, Principal
from gateway.errors import Refused, RefusedKind
from gateway.surfaces.edge import Context, Edge, unary
from gateway.v1 import run_service_pb2 as pb

SERVICE = "gateway.v1.RunService"
_MOST_CHARACTERS = {"run_id": 128, "agent": 64, "intent": 8192}

HasAgent = Callable[[str, str], bool]
"""Whether a tenant has an agent of that name."""


class RunService:
    """RunService of one listener: its callers are who its authenticator says."""

    def __init__(self, edge: Edge, runs: Runs, deeds: Deeds, *, has_agent: HasAgent, clock: Clock) -> None:
        self._edge = edge
        self._runs = runs
        self._deeds = deeds
        self._has_agent = has_agent
        self._clock = clock

    def handler(self) -> grpc.ServiceRpcHandler:
        """The RPCs of the service, to be added to a server."""
        methods = {
            "OpenRun": self._unary(self.open_run, pb.OpenRunRequest),
            "GetRun": self._unary(self.get_run, pb.GetRunRequest),
        }
        return cast(grpc.ServiceRpcHandler, grpc.method_handlers_generic_handler(SERVICE, methods))

    def _unary(
        self, method: Callable[[Any, Context], Awaitable[bytes]], message: type[Message]
    ) -> "grpc.RpcMethodHandler[Any, Any]":
        return unary(method, message, self._edge.unreadable, most_characters=_MOST_CHARACTERS)

    async def open_run(self, message: Any, context: Context) -> bytes:
        """OpenRun. It leaves an `admin` line, which holds the intent's digest alone."""

        async def work(caller: Principal) -> bytes:
            await self._admit(caller)
            return pb.OpenRunResponse(run=_message(await self._open(caller, message))).SerializeToString()

        return await self._edge.guarded(context, work)

    async def get_run(self, message: Any, context: Context) -> bytes:
        """GetRun."""

        async def work(caller: Principal) -> bytes:
            await self._admit(caller)
            run = await self._runs.get(caller.tenant, message.agent, message.run_id)
            return pb.GetRunResponse(run=_message(run)).SerializeToString()

        return await self._edge.guarded(context, work)

    async def _admit(self, caller: Principal) -> None:
        await self._edge.admission.admit(caller)
        if caller.kind is CallerKind.AGENT:
            raise Refused(RefusedKind.FORBIDDEN, "An agent neither opens nor reads runs.")

    async def _open(self, caller: Principal, message: Any) -> Run:
        _check_name(message.run_id)
        seconds = message.expires_in_seconds or LONGEST_SECONDS
        if seconds > LONGEST_SECONDS:
            raise Refused(RefusedKind.INVALID, f"expires_in_seconds may be {LONGEST_SECONDS} at most.")
        now = self._clock.now()
        run = Run(
            run_id=message.run_id,
            agent=message.agent,
            intent=message.intent,
            opened_by=caller.id,
            opened_at=now,
            expires_at=now + seconds,
        )
        async with self._deeds.of(LineKind.ADMIN, caller, what=f"run/{run.run_id}") as deed:
            deed.tell(run_id=run.run_id, arguments_digest=intent_digest(run.intent), note=f"of the agent {run.agent}")
            if not self._has_agent(caller.tenant, run.agent):
                raise Refused(RefusedKind.NOT_FOUND, "There is no such agent in this tenant.")
            return await self._runs.open(caller.tenant, run)


def _check_name(run_id: str) -> None:
    """A run's id stands in lines and in the names of counters."""
    if not run_id:
        raise Refused(RefusedKind.INVALID, "Name the run: run_id is empty.")
    if any(unicodedata.category(character)[0] in "CZ" for character in run_id):
        raise Refused(RefusedKind.INVALID, "A run_id holds no spaces and no control characters.")


def _message(run: Run) -> pb.Run:
    return pb.Run(
        run_id=run.run_id,
        agent=run.agent,
        intent=run.intent,
        opened_by=run.opened_by,
        opened_at=_moment(run.opened_at),
        expires_at=_moment(run.expires_at),
    )


def _moment(seconds: float) -> Timestamp:
    moment = Timestamp()
    moment.FromMicroseconds(round(seconds * 1_000_000))
    return moment
