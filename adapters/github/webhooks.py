"""GitHub's webhooks: the body alone is signed, and neither a time nor any header is.

Whoever has seen a delivery can send it again, under another `X-GitHub-Delivery` and as another `X-GitHub-Event`. So an
event's id is made of the body, which makes every repetition one that the receiver knows and drops, for as long as it
keeps ids: nothing else tells a repetition. And a body counts as what its header says only when it has the parts of
just that. A delivery that is made again at GitHub is the same body.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from adapters.base import Secret
from adapters.github.events import ACTIONS, KINDS, PARTS, read_event
from adapters.transport.events import digest_of, loaded, malformed
from adapters.transport.signatures import check_signature, prefixed
from adapters.transport.values import word
from adapters.webhooks import Delivery, Event, Greeting

_EVERY_PART = frozenset[str]().union(*PARTS.values()) | {
    "check_suite",
    "deployment",
    "deployment_status",
    "discussion",
    "thread",
    "workflow_job",
}


class GitHubWebhooks:
    """GitHub's webhooks."""

    kinds: Sequence[str] = KINDS

    def receive(self, delivery: Delivery, secrets: Sequence[Secret]) -> Event | Greeting | None:
        """See `Webhooks`."""
        signatures = prefixed(delivery.headers.get("x-hub-signature-256", ""), "sha256=")
        check_signature(delivery.body, signatures, secrets)
        body, name = loaded(delivery.body), delivery.headers.get("x-github-event", "")
        if not name:
            raise malformed()
        if name not in PARTS:
            return None
        _check_parts(body, name)
        kind = _kind(body, name)
        return None if kind is None else read_event(body, name, kind, digest_of(delivery.body))


def _check_parts(body: Mapping[str, Any], name: str) -> None:
    """Raises `DeliveryRefused` (malformed) when the body is another event's than the header says."""
    if body.keys() & _EVERY_PART != PARTS[name]:
        raise malformed()


def _kind(body: Mapping[str, Any], name: str) -> str | None:
    action = word(body, "action")
    if "action" in body and not action:
        raise malformed()
    if action == "closed" and name == "pull_request":
        pull_request = body["pull_request"]
        action = "merged" if isinstance(pull_request, dict) and pull_request.get("merged") is True else "closed"
    return ACTIONS[name].get(action)
