"""The one document that policy judges, put together from fragments that were serialised once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.call import Arguments, Principal, Request
from gateway.clock import rfc3339
from gateway.rows import Agent, Connection, Tool

NO_PROVENANCE = b"{}"
NO_APPROVAL = b"null"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFacts:
    """What policy may know of the call itself."""

    call_id: str
    request: Request
    now: float
    """Seconds since the epoch: the only time that a rule can use."""
    is_key_given: bool
    is_replay: bool = False
    cost: Mapping[str, Any] = field(default_factory=dict)
    provenance_json: bytes = field(default=NO_PROVENANCE, repr=False)
    approval_json: bytes = field(default=NO_APPROVAL, repr=False)


def input_document(
    principal: Principal, agent: Agent, tool: Tool, connection: Connection | None, arguments: Arguments, call: CallFacts
) -> bytes:
    """The policy input as JSON (see `policies/input.schema.json`).

    The fragments are trusted to be JSON; everything else is escaped here.
    """
    return b"".join(
        (
            b'{"principal":',
            principal.policy_json,
            b',"agent":',
            agent.policy_json,
            b',"tool":',
            tool.policy_json,
            b',"connection":',
            connection.policy_json if connection is not None else b"null",
            b',"arguments":',
            arguments.canonical,
            b',"provenance":',
            call.provenance_json,
            b',"approval":',
            call.approval_json,
            b",",
            _own_fields(call)[1:],
        )
    )


def _own_fields(call: CallFacts) -> bytes:
    """The fields that no fragment holds, as one JSON object."""
    request = call.request
    return orjson.dumps(
        {
            "run": {"id": request.run_id, "step": request.step_id},
            "call": {
                "id": call.call_id,
                "surface": request.surface._value_,
                "mode": request.mode,
                "time": rfc3339(call.now),
                "cost": dict(call.cost),
                "key_given": call.is_key_given,
                "replay": call.is_replay,
            },
        }
    )
