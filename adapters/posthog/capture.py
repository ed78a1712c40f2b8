"""Telling PostHog that something happened.

The event's id comes of the effect. PostHog lets two events with the same id, name, person and day become one when it
gets to it, but says nothing of when, and what reacts to events reacts to both. So this is no idempotency key, and
nothing is sent twice. The id is how an event is found afterwards.
"""

import hashlib
import uuid
from collections.abc import Mapping

from adapters.base import AdapterError, ErrorKind, Finding, Invocation, Output
from adapters.posthog.asking import ANALYTICS, Asking
from adapters.posthog.options import capturing
from adapters.transport.api import Api
from adapters.transport.authorisation import header_text
from adapters.transport.calls import Call

LIMIT = "capture"
_PATH = "/i/v0/e/"


class ByProjectKey:
    """The project's key stands in the body, so no header proves anything. The credential must be usable all the same:
    a connection whose events nobody could look up afterwards is not written to. Nothing of it is sent.
    """

    async def headers(self, invocation: Invocation) -> Mapping[str, str]:
        """None. Raises `AdapterError` (needs_authorisation) for a credential that could not be sent."""
        header_text(invocation.credential)
        return {}

    async def renewed(self, _invocation: Invocation, _refused: Mapping[str, str]) -> None:
        """There is no other."""


class Capturing:
    """The operation that writes, and how to find out whether it did. `api` asks where events are taken."""

    def __init__(self, api: Api, asking: Asking) -> None:
        self._api = api
        self._asking = asking

    async def capture_event(self, invocation: Invocation) -> Output:
        """The event's id. That PostHog took it does not say that it is there yet."""
        given = invocation.arguments
        key, elsewhere = capturing(invocation)
        event = {
            "api_key": key,
            "uuid": event_id(invocation.effect_id),
            "event": given["event"],
            "distinct_id": given["distinct_id"],
            "properties": dict(given["properties"]),
        }
        if given["timestamp"] is not None:
            event["timestamp"] = given["timestamp"]
        reply = await self._api.ask(elsewhere, Call(method="POST", path=_PATH, json=event), limit=LIMIT)
        structured = {"event_id": event["uuid"], "event": given["event"], "distinct_id": given["distinct_id"]}
        receipt = f"PostHog took the event (id {event['uuid']}); it can be seen there in a while."
        return Output(structured=structured, receipt=receipt, attempts=reply.attempts)

    async def find(self, invocation: Invocation) -> Finding:
        """Whether the event is there. That it is not proves nothing: PostHog may work on it still."""
        try:
            wanted = event_id(invocation.effect_id)
            reply = await self._asking.get(invocation, "/events/{}/", wanted, limit=ANALYTICS)
        except AdapterError as error:
            if error.kind is ErrorKind.NOT_FOUND:
                return Finding.STILL_UNKNOWN
            raise
        found = reply.value.get("id", reply.value.get("uuid")) if isinstance(reply.value, Mapping) else None
        return Finding.DONE if found == wanted else Finding.STILL_UNKNOWN


def event_id(effect_id: str) -> str:
    """The id of the event that an effect is."""
    digest = hashlib.sha256(f"tollhouse posthog event {effect_id}".encode()).digest()
    return str(uuid.UUID(bytes=digest[:16], version=4))
