"""What callers were answered, as an artifact."""

import json
from typing import Any

import grpc.aio
from fakes.served import asked
from faults.suites.suite import Records

from gateway.v1 import codes_pb2

OK, CUT = "ok", "cut"
"""Outcomes that are no reason of a refusal: it went well; the gateway went away and nobody was answered."""


WELL = "well"
"""The phase of calls that nothing stands in the way of."""


class Caller:
    """Calls a gateway and keeps every answer: `phase`, `key`, `call_id`, `outcome`, `replay`."""

    def __init__(self, stub: Any, records: Records) -> None:
        self._stub = stub
        self._records = records

    async def send(self, key: str, phase: str = "") -> str:
        """An effect with this key; its outcome."""
        arguments = json.dumps({"to": ["ann@corp.example"], "body": key})
        return await self._call(asked("mail", arguments, key=key), key, phase)

    async def read(self, phase: str = "") -> str:
        """A call without an effect; its outcome."""
        return await self._call(asked(), "", phase)

    async def _call(self, request: Any, key: str, phase: str) -> str:
        try:
            answer = await self._stub.CallTool(request, timeout=30)
        except grpc.aio.AioRpcError as error:
            self._records.add(phase=phase, key=key, outcome=CUT, call_id="", replay=False, status=error.code().name)
            return CUT
        outcome = OK if answer.HasField("result") else _reason(answer.error.reason)
        self._records.add(phase=phase, key=key, outcome=outcome, call_id=answer.call_id, replay=answer.replay)
        return outcome


def _reason(number: int) -> str:
    return codes_pb2.Reason.Name(number).removeprefix("REASON_").lower()
