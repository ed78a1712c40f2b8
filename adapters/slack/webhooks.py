"""Slack's Events API: deliveries that are signed with the app's signing secret.

Time is signed with the body, and so is the event's id. One app has one signing secret, whichever workspaces it is
installed in: an event says of which `team` it is.
"""

import re
from collections.abc import Sequence

from adapters.base import Secret
from adapters.slack.events import KINDS, read_event
from adapters.transport.events import loaded, matching
from adapters.transport.signatures import check_signature, check_window, prefixed, seconds_of
from adapters.transport.values import word
from adapters.webhooks import Delivery, Event, Greeting

_CHALLENGE = re.compile(r"[\x21-\x7e]{1,512}")
_FORM = "application/x-www-form-urlencoded"


class SlackWebhooks:
    """Slack's webhooks."""

    kinds: Sequence[str] = KINDS

    def receive(self, delivery: Delivery, secrets: Sequence[Secret]) -> Event | Greeting | None:
        """See `Webhooks`. What people press in a message comes as a form, and is no event."""
        _check(delivery, secrets)
        if delivery.headers.get("content-type", "").lower().startswith(_FORM):
            return None
        body = loaded(delivery.body)
        match word(body, "type"):
            case "url_verification":
                return Greeting(body=matching(body.get("challenge"), _CHALLENGE).encode())
            case "event_callback":
                return read_event(body)
        return None


def _check(delivery: Delivery, secrets: Sequence[Secret]) -> None:
    stamp = delivery.headers.get("x-slack-request-timestamp", "")
    seconds = seconds_of(stamp)
    signatures = prefixed(delivery.headers.get("x-slack-signature", ""), "v0=")
    check_signature(b"v0:%b:%b" % (stamp.encode(), delivery.body), signatures, secrets)
    check_window(seconds, delivery.received_at)
