"""A collector of OpenTelemetry: OTLP over HTTP, in JSON.

A record's body is the line as it was written, so that a chain can be verified from what a collector has kept; what
people search for stands in the attributes as well.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import orjson

from gateway.audit.outlets.base import OutletDown
from gateway.audit.reading import Written
from gateway.clients.http import FetchFailed, HttpClient

_ATTRIBUTES = ("kind", "tenant", "agent", "principal", "tool", "call_id", "outcome", "reason", "writer", "hash")
_NUMBERS = ("seq", "tenant_seq")
_FOR_GOOD = (400, 413)
"""Statuses after which the same is not sent again."""


class OtlpOutlet:
    """`Outlet` to one collector. A batch whose answer did not come is sent again: at least once."""

    name = "otlp"
    takes_all = False

    def __init__(self, client: HttpClient, url: str) -> None:
        """The client becomes this outlet's own, to close."""
        self.rejected = 0
        self._client = client
        self._url = url

    async def deliver(self, lines: Sequence[Written]) -> None:
        """The collector has taken them, or said that it never will. Raises `OutletDown`."""
        try:
            answer = await self._client.post(self._url, encode(lines), content_type="application/json")
        except FetchFailed as failed:
            if failed.status not in _FOR_GOOD:
                raise OutletDown(f"the collector took no logs: {failed}") from failed
            self.rejected += len(lines)
            return
        self.rejected += _rejected_in(answer)

    async def close(self) -> None:
        """Close every connection."""
        await self._client.close()


def encode(lines: Sequence[Written]) -> bytes:
    """The lines as the body of one request. All are of one writer."""
    values = [orjson.loads(line.raw) for line in lines]
    resource = {"service.name": "tollhouse", "service.instance.id": values[0]["writer"]}
    records = [_record(line.raw, value) for line, value in zip(lines, values, strict=True)]
    scope = {"scope": {"name": "tollhouse.audit"}, "logRecords": records}
    attributes = [_text(name, value) for name, value in resource.items()]
    return orjson.dumps({"resourceLogs": [{"resource": {"attributes": attributes}, "scopeLogs": [scope]}]})


def _record(raw: bytes, value: dict[str, Any]) -> dict[str, Any]:
    texts = [_text(f"tollhouse.{name}", value[name]) for name in _ATTRIBUTES if value.get(name)]
    # 64-bit numbers are text in protobuf's JSON.
    numbers = [{"key": f"tollhouse.{name}", "value": {"intValue": str(value[name])}} for name in _NUMBERS]
    return {
        "timeUnixNano": _nanoseconds(value["time"]),
        "severityNumber": 9,
        "severityText": "INFO",
        "body": {"stringValue": raw.rstrip(b"\n").decode()},
        "attributes": [*texts, *numbers],
    }


def _text(name: str, value: object) -> dict[str, Any]:
    return {"key": name, "value": {"stringValue": str(value)}}


def _nanoseconds(time: str) -> str:
    """RFC 3339 with microseconds as nanoseconds since the epoch; 0, which means unknown, for anything else."""
    try:
        moment = datetime.fromisoformat(time)
    except ValueError:
        return "0"
    return str(int(moment.timestamp()) * 1_000_000_000 + moment.microsecond * 1000)


def _rejected_in(answer: bytes) -> int:
    """How many the collector says that it has thrown away. An empty answer is a good one."""
    try:
        value = orjson.loads(answer) if answer else {}
        return int(value.get("partialSuccess", {}).get("rejectedLogRecords", 0))
    except (orjson.JSONDecodeError, AttributeError, TypeError, ValueError):
        return 0
