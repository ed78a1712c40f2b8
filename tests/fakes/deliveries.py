"""Deliveries of vendors' webhooks, as they come: signed, and for every kind of event that there is.

What must never reach an event stands in them and holds the word `HIDDEN`.
"""

import copy
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapters.base import Secret
from adapters.github.webhooks import GitHubWebhooks
from adapters.linear.webhooks import LinearWebhooks
from adapters.sentry.webhooks import SentryWebhooks
from adapters.slack.webhooks import SlackWebhooks
from adapters.stripe.webhooks import StripeWebhooks
from adapters.webhooks import Delivery, Webhooks

NOW = 1_780_000_000.0
SECRET = "the-signing-secret-of-a-test"
HIDDEN = "HIDDEN"


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One delivery without its signature, and what its event is about."""

    payload: dict[str, Any]
    subject: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Vendor:
    """A vendor's webhooks, its way to sign, and a sample of every kind."""

    name: str
    webhooks: Webhooks
    sign: Callable[[bytes, str, float], dict[str, str]]
    samples: Mapping[str, Sample]
    signs_time: bool = True
    stamped: Callable[[dict[str, Any], float], dict[str, Any]] = lambda payload, _at: payload
    """The payload as it is sent at a moment."""

    def delivery(
        self, sample: Sample, *, secret: str = SECRET, at: float = NOW, received_at: float = NOW, **headers: str
    ) -> Delivery:
        """The sample, sent at a moment and received at another."""
        body = json.dumps(self.stamped(sample.payload, at)).encode()
        return self.raw(body, {**sample.headers, **headers}, secret=secret, at=at, received_at=received_at)

    def raw(
        self,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        *,
        secret: str = SECRET,
        at: float = NOW,
        received_at: float = NOW,
    ) -> Delivery:
        """Any body, well signed."""
        told = {"content-type": "application/json", **self.sign(body, secret, at), **(headers or {})}
        return Delivery(headers=told, body=body, received_at=received_at)


def secrets(*values: str) -> list[Secret]:
    """Signing secrets; the one of all samples when none is given."""
    return [Secret(value) for value in values or (SECRET,)]


def digest(secret: str, message: bytes) -> str:
    """An HMAC-SHA256 in hex."""
    return hmac.new(secret.encode(), message, hashlib.sha256).hexdigest()


# Slack -------------------------------------------------------------------------------------------------------------


def _sign_slack(body: bytes, secret: str, at: float) -> dict[str, str]:
    stamp = str(int(at))
    signature = digest(secret, b"v0:" + stamp.encode() + b":" + body)
    return {"x-slack-request-timestamp": stamp, "x-slack-signature": f"v0={signature}"}


def _slack(event: dict[str, Any], subject: str = "C0123456789") -> Sample:
    payload = {
        "token": f"{HIDDEN}-verification-token",
        "team_id": "T0123456789",
        "context_team_id": "T0123456789",
        "api_app_id": "A0123456789",
        "event": {"event_ts": "1779999999.000200", **event},
        "type": "event_callback",
        "event_id": "Ev0123456789",
        "event_time": 1779999999,
        "authorizations": [{"team_id": "T0123456789", "user_id": "U0BOT", "is_bot": True}],
        "event_context": f"4-{HIDDEN}",
    }
    return Sample(payload=payload, subject=subject)


_SLACK_MESSAGE = {
    "user": "U0123456789",
    "ts": "1779999999.000200",
    "text": "The checkout is down again <@U0BOT>",
    "blocks": [{"type": "rich_text", "block_id": HIDDEN}],
    "team": "T0123456789",
    "thread_ts": "1779999000.000100",
    "files": [{"id": "F0123456789", "name": "trace.txt", "url_private": f"https://files.slack.com/{HIDDEN}"}],
}
_SLACK_PLACE = {"channel": "C0123456789", "channel_type": "channel"}
_SLACK_REACTION = {
    "user": "U0123456789",
    "reaction": "eyes",
    "item_user": "U0987654321",
    "item": {"type": "message", "channel": "C0123456789", "ts": "1779999000.000100"},
}
_SLACK_CHANNEL = {"id": "C0123456789", "name": "incidents", "created": 1779999999, "creator": "U0123456789"}
_SLACK_MEMBER = {"user": "U0123456789", "channel": "C0123456789", "team": "T0123456789", "inviter": "U0987654321"}
_SLACK_USER = {
    "id": "U0123456789",
    "name": "ann",
    "real_name": "Ann Example",
    "is_bot": False,
    "profile": {"email": f"{HIDDEN}@corp.example"},
}
SLACK: Mapping[str, Sample] = {
    "message.posted": _slack({"type": "message", **_SLACK_PLACE, **_SLACK_MESSAGE}),
    "message.edited": _slack(
        {
            "type": "message",
            "subtype": "message_changed",
            **_SLACK_PLACE,
            "ts": "1779999999.000300",
            "message": {"type": "message", **_SLACK_MESSAGE, "text": "The checkout is up again"},
            "previous_message": {"type": "message", **_SLACK_MESSAGE},
        }
    ),
    "message.deleted": _slack(
        {
            "type": "message",
            "subtype": "message_deleted",
            **_SLACK_PLACE,
            "ts": "1779999999.000300",
            "deleted_ts": "1779999999.000200",
            "previous_message": {"type": "message", **_SLACK_MESSAGE},
        }
    ),
    "app.mentioned": _slack({"type": "app_mention", "channel": "C0123456789", **_SLACK_MESSAGE}),
    "reaction.added": _slack({"type": "reaction_added", **_SLACK_REACTION}),
    "reaction.removed": _slack({"type": "reaction_removed", **_SLACK_REACTION}),
    "channel.created": _slack({"type": "channel_created", "channel": _SLACK_CHANNEL}),
    "channel.renamed": _slack({"type": "channel_rename", "channel": _SLACK_CHANNEL}),
    "channel.archived": _slack({"type": "channel_archive", "channel": "C0123456789", "user": "U0123456789"}),
    "channel.unarchived": _slack({"type": "channel_unarchive", "channel": "C0123456789", "user": "U0123456789"}),
    "channel.deleted": _slack({"type": "channel_deleted", "channel": "C0123456789", "actor_id": "U0123456789"}),
    "member.joined": _slack({"type": "member_joined_channel", **_SLACK_MEMBER}),
    "member.left": _slack({"type": "member_left_channel", **_SLACK_MEMBER}),
    "file.shared": _slack(
        {"type": "file_shared", "channel_id": "C0123456789", "file_id": "F0123456789", "user_id": "U0123456789"}
    ),
    "user.joined": _slack({"type": "team_join", "user": _SLACK_USER}, "U0123456789"),
}
CHALLENGE = "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P"
SLACK_GREETING = Sample(payload={"token": HIDDEN, "challenge": CHALLENGE, "type": "url_verification"}, subject="")


# GitHub ------------------------------------------------------------------------------------------------------------


def _sign_github(body: bytes, secret: str, _at: float) -> dict[str, str]:
    return {"x-hub-signature-256": f"sha256={digest(secret, body)}"}


_SHA = "0a1b2c3d4e5f60718293a4b5c6d7e8f901234567"
_ANN = {"login": "ann", "id": 1, "type": "User", "gravatar_id": HIDDEN}
_BOB = {"login": "bob", "id": 2, "type": "User"}
_LABEL = {"id": 7, "name": "bug", "color": "f00"}
_ISSUE = {
    "id": 1001,
    "number": 12,
    "title": "The basket forgets",
    "body": "It forgets everything after a minute.",
    "state": "open",
    "state_reason": None,
    "user": _ANN,
    "labels": [_LABEL],
    "assignees": [_BOB],
    "html_url": "https://github.com/Acme/Shop/issues/12",
    "created_at": "2026-05-28T20:00:00Z",
    "updated_at": "2026-05-28T20:26:39Z",
    "author_association": HIDDEN,
}
_PULL = {
    **_ISSUE,
    "draft": False,
    "merged": False,
    "head": {"ref": "remember", "sha": _SHA, "user": _ANN, "repo": {"temp_clone_token": HIDDEN}},
    "base": {"ref": "main", "sha": _SHA, "user": _ANN},
    "requested_reviewers": [_BOB],
    "requested_teams": [{"slug": "payments", "name": "Payments"}],
}
_COMMENT = {
    "id": 501,
    "user": _BOB,
    "body": "I see it too.",
    "html_url": "https://github.com/Acme/Shop/issues/12#issuecomment-501",
    "created_at": "2026-05-28T20:26:39Z",
    "updated_at": "2026-05-28T20:26:39Z",
}
_RUN = {
    "id": 900,
    "name": "tests",
    "head_sha": _SHA,
    "status": "completed",
    "conclusion": "failure",
    "html_url": "https://github.com/Acme/Shop/actions/runs/900",
    "pull_requests": [{"number": 12, "url": "https://api.github.com/x"}],
    "completed_at": "2026-05-28T20:26:39Z",
    "updated_at": "2026-05-28T20:26:39Z",
}


def _github(event: str, body: dict[str, Any], action: str | None = None, subject: str = "acme/shop#12") -> Sample:
    payload = {
        **({} if action is None else {"action": action}),
        **body,
        "repository": {"id": 5, "full_name": "Acme/Shop", "private": True, "pushed_at": 1779999999},
        "sender": _ANN,
        "installation": {"id": 77, "node_id": HIDDEN},
    }
    return Sample(payload=payload, subject=subject, headers={"x-github-event": event, "x-github-delivery": "72d3162e"})


_GITHUB_ISSUE = {"issue": _ISSUE, "label": _LABEL, "assignee": _BOB}
_GITHUB_PULL = {"number": 12, "pull_request": _PULL, "label": _LABEL, "assignee": _BOB, "requested_reviewer": _BOB}
_GITHUB_REVIEW = {
    "pull_request": _PULL,
    "review": {**_COMMENT, "state": "CHANGES_REQUESTED", "commit_id": _SHA, "submitted_at": "2026-05-28T20:26:39Z"},
}
_PUSH = {
    "ref": "refs/heads/main",
    "before": _SHA,
    "after": _SHA[::-1],
    "created": False,
    "deleted": False,
    "forced": True,
    "compare": "https://github.com/Acme/Shop/compare/0a1b...7654",
    "commits": [
        {
            "id": _SHA,
            "message": "Remember the basket",
            "timestamp": "2026-05-28T20:20:00Z",
            "author": {"name": "Ann Example", "email": f"{HIDDEN}@corp.example", "username": "ann"},
            "added": [],
        }
    ],
    "head_commit": {"id": _SHA, "message": HIDDEN},
    "pusher": {"name": "ann", "email": f"{HIDDEN}@corp.example"},
}
_RELEASE = {
    "tag_name": "v1.2.0",
    "name": "Spring",
    "draft": False,
    "prerelease": False,
    "author": _ANN,
    "body": "Baskets remember.",
    "html_url": "https://github.com/Acme/Shop/releases/v1.2.0",
    "published_at": "2026-05-28T20:26:39Z",
}
_CHECK_RUN = {
    **_RUN,
    "app": {"slug": "ci", "pem": HIDDEN},
    "check_suite": {"head_branch": "remember"},
    "output": {"title": "2 failed", "summary": "test_basket, test_minute", "text": HIDDEN},
}
_WORKFLOW_RUN = {
    **_RUN,
    "head_branch": "remember",
    "event": "push",
    "run_attempt": 2,
    "display_title": "Remember the basket",
}
_ABOUT = ("labeled", "unlabeled", "assigned", "unassigned")
_PULLS = ("opened", "edited", "closed", "reopened", *_ABOUT)
_REVIEWS = ("review_requested", "review_request_removed", "ready_for_review", "converted_to_draft")
GITHUB: Mapping[str, Sample] = {
    **{
        f"issue.{action}": _github("issues", _GITHUB_ISSUE, action)
        for action in ("opened", "edited", "closed", "reopened", *_ABOUT)
    },
    **{
        f"issue_comment.{action}": _github("issue_comment", {"issue": _ISSUE, "comment": _COMMENT}, action)
        for action in ("created", "edited", "deleted")
    },
    **{f"pull_request.{action}": _github("pull_request", _GITHUB_PULL, action) for action in (*_PULLS, *_REVIEWS)},
    "pull_request.merged": _github(
        "pull_request", {**_GITHUB_PULL, "pull_request": {**_PULL, "merged": True, "state": "closed"}}, "closed"
    ),
    "pull_request.synchronized": _github("pull_request", _GITHUB_PULL, "synchronize"),
    "pull_request_review.submitted": _github("pull_request_review", _GITHUB_REVIEW, "submitted"),
    "pull_request_review.dismissed": _github("pull_request_review", _GITHUB_REVIEW, "dismissed"),
    "pull_request_review_comment.created": _github(
        "pull_request_review_comment",
        {"pull_request": _PULL, "comment": {**_COMMENT, "path": "shop/basket.py", "line": 7, "diff_hunk": HIDDEN}},
        "created",
    ),
    "push": _github("push", _PUSH, subject="acme/shop"),
    "release.published": _github("release", {"release": _RELEASE}, "published", "acme/shop"),
    "check_run.completed": _github("check_run", {"check_run": _CHECK_RUN}, "completed", "acme/shop"),
    "workflow_run.completed": _github(
        "workflow_run", {"workflow_run": _WORKFLOW_RUN, "workflow": {"id": 3}}, "completed", "acme/shop"
    ),
}
GITHUB_PING = Sample(
    payload={"zen": "Keep it logically awesome.", "hook_id": 9, "hook": {"config": {"secret": HIDDEN}}},
    subject="",
    headers={"x-github-event": "ping"},
)


# Stripe ------------------------------------------------------------------------------------------------------------


def _sign_stripe(body: bytes, secret: str, at: float) -> dict[str, str]:
    stamp = str(int(at))
    signature = digest(secret, stamp.encode() + b"." + body)
    return {"stripe-signature": f"t={stamp},v1={signature},v0={'0' * 64}"}


def _stripe(kind: str, what: dict[str, Any], subject: str) -> Sample:
    payload = {
        "id": "evt_1PabcDEF",
        "object": "event",
        "api_version": "2026-04-22",
        "created": 1779999999,
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": "req_1", "idempotency_key": HIDDEN},
        "type": kind,
        "account": "acct_1",
        "data": {"object": what, "previous_attributes": {"status": "before", "metadata": {"k": HIDDEN}}},
    }
    return Sample(payload=payload, subject=subject)


_STRIPE: Mapping[str, tuple[dict[str, Any], str, str]] = {
    "payment_intent": (
        {
            "id": "pi_1",
            "object": "payment_intent",
            "amount": 2000,
            "amount_received": 2000,
            "currency": "usd",
            "status": "succeeded",
            "customer": "cus_1",
            "latest_charge": "ch_1",
            "client_secret": f"pi_1_secret_{HIDDEN}",
            "created": 1779999990,
            "description": "Order 12",
            "last_payment_error": {"code": "card_declined", "decline_code": "do_not_honor"},
        },
        "succeeded payment_failed canceled requires_action",
        "pi_1",
    ),
    "charge": (
        {
            "id": "ch_1",
            "object": "charge",
            "amount": 2000,
            "amount_captured": 2000,
            "amount_refunded": 500,
            "currency": "usd",
            "status": "succeeded",
            "captured": True,
            "refunded": False,
            "disputed": False,
            "customer": "cus_1",
            "payment_intent": "pi_1",
            "receipt_url": f"https://pay.stripe.com/receipts/{HIDDEN}",
            "payment_method_details": {"card": {"brand": "visa", "last4": "4242", "fingerprint": HIDDEN}},
            "created": 1779999990,
        },
        "succeeded failed captured refunded",
        "ch_1",
    ),
    "charge.dispute": (
        {
            "id": "dp_1",
            "object": "dispute",
            "amount": 2000,
            "currency": "usd",
            "status": "needs_response",
            "reason": "fraudulent",
            "charge": "ch_1",
            "payment_intent": "pi_1",
            "evidence": {"customer_purchase_ip": HIDDEN},
            "evidence_details": {"due_by": 1780500000},
            "created": 1779999990,
        },
        "created updated closed",
        "ch_1",
    ),
    "refund": (
        {
            "id": "re_1",
            "object": "refund",
            "amount": 500,
            "currency": "usd",
            "status": "succeeded",
            "charge": "ch_1",
            "payment_intent": "pi_1",
            "destination_details": {"card": {"reference": HIDDEN}},
            "created": 1779999990,
        },
        "created updated failed",
        "ch_1",
    ),
    "customer": (
        {
            "id": "cus_1",
            "object": "customer",
            "email": "ann@corp.example",
            "name": "Ann Example",
            "balance": 0,
            "currency": "usd",
            "delinquent": False,
            "metadata": {"note": HIDDEN},
            "created": 1779999990,
        },
        "created updated deleted",
        "cus_1",
    ),
    "customer.subscription": (
        {
            "id": "sub_1",
            "object": "subscription",
            "status": "active",
            "customer": "cus_1",
            "currency": "usd",
            "cancel_at_period_end": True,
            "items": {
                "object": "list",
                "data": [
                    {
                        "id": "si_1",
                        "quantity": 3,
                        "current_period_end": 1782000000,
                        "price": {"id": "price_1", "product": "prod_1", "unit_amount": 900, "metadata": {"x": HIDDEN}},
                    }
                ],
            },
            "default_payment_method": HIDDEN,
            "created": 1779999990,
        },
        "created updated deleted paused resumed trial_will_end",
        "cus_1",
    ),
    "invoice": (
        {
            "id": "in_1",
            "object": "invoice",
            "number": "A-0012",
            "status": "paid",
            "currency": "usd",
            "total": 2000,
            "amount_due": 2000,
            "amount_paid": 2000,
            "amount_remaining": 0,
            "customer": "cus_1",
            "hosted_invoice_url": f"https://invoice.stripe.com/{HIDDEN}",
            "created": 1779999990,
        },
        "created finalized paid payment_failed payment_action_required voided",
        "in_1",
    ),
    "checkout.session": (
        {
            "id": "cs_1",
            "object": "checkout.session",
            "status": "complete",
            "payment_status": "paid",
            "mode": "payment",
            "amount_total": 2000,
            "currency": "usd",
            "customer": "cus_1",
            "payment_intent": "pi_1",
            "client_reference_id": "order-12",
            "client_secret": HIDDEN,
            "url": f"https://checkout.stripe.com/{HIDDEN}",
            "created": 1779999990,
        },
        "completed expired",
        "pi_1",
    ),
    "payout": (
        {
            "id": "po_1",
            "object": "payout",
            "amount": 90000,
            "currency": "usd",
            "status": "failed",
            "failure_code": "account_closed",
            "destination": HIDDEN,
            "arrival_date": 1780100000,
            "created": 1779999990,
        },
        "paid failed",
        "po_1",
    ),
}
STRIPE: Mapping[str, Sample] = {
    f"{thing}.{happened}": _stripe(f"{thing}.{happened}", what, subject)
    for thing, (what, all_of_it, subject) in _STRIPE.items()
    for happened in all_of_it.split()
}


# Linear ------------------------------------------------------------------------------------------------------------


def _sign_linear(body: bytes, secret: str, _at: float) -> dict[str, str]:
    return {
        "linear-signature": digest(secret, body),
        "linear-delivery": "234d1a4e-b617-4388-90fe-adc3633d6b72",
        "linear-event": "Issue",
    }


def _sent_by_linear(payload: dict[str, Any], at: float) -> dict[str, Any]:
    return {**payload, "webhookTimestamp": int(at * 1000)} if "webhookTimestamp" in payload else payload


def _uuid(digit: int) -> str:
    return f"{digit:08d}-1111-4222-8333-444455556666"


_LINEAR_USER = {"id": _uuid(1), "name": "Ann Example", "email": f"{HIDDEN}@corp.example", "type": "user"}
_LINEAR_ISSUE = {
    "id": _uuid(2),
    "identifier": "ENG-123",
    "number": 123,
    "title": "The basket forgets",
    "description": "After a minute.",
    "priority": 1,
    "priorityLabel": "Urgent",
    "state": {"id": _uuid(3), "name": "In Progress", "type": "started", "color": "#f00"},
    "team": {"id": _uuid(4), "key": "ENG", "name": "Engineering"},
    "assignee": _LINEAR_USER,
    "labels": [{"id": _uuid(5), "name": "bug", "color": "#f00"}],
    "labelIds": [_uuid(5)],
    "project": {"id": _uuid(6), "name": "Basket"},
    "dueDate": "2026-06-01",
    "subscriberIds": [HIDDEN],
}
_LINEAR: Mapping[str, tuple[str, dict[str, Any], str]] = {
    "issue": ("Issue", _LINEAR_ISSUE, "ENG-123"),
    "comment": (
        "Comment",
        {
            "id": _uuid(7),
            "body": "I see it too.",
            "issueId": _uuid(2),
            "issue": {"id": _uuid(2), "identifier": "ENG-123", "title": "The basket forgets"},
            "user": _LINEAR_USER,
            "reactionData": [HIDDEN],
        },
        "ENG-123",
    ),
    "project": (
        "Project",
        {
            "id": _uuid(6),
            "name": "Basket",
            "description": "Baskets that remember.",
            "status": {"id": _uuid(8), "name": "In Progress", "type": "started"},
            "lead": _LINEAR_USER,
            "startDate": "2026-05-01",
            "targetDate": "2026-07-01",
            "slackIssueComments": HIDDEN,
        },
        _uuid(6),
    ),
    "project_update": (
        "ProjectUpdate",
        {
            "id": _uuid(9),
            "body": "We are late.",
            "health": "atRisk",
            "projectId": _uuid(6),
            "project": {"id": _uuid(6), "name": "Basket"},
            "user": _LINEAR_USER,
            "editedAt": None,
            "infoSnapshot": HIDDEN,
        },
        _uuid(6),
    ),
    "cycle": (
        "Cycle",
        {
            "id": _uuid(10),
            "name": "Spring",
            "number": 4,
            "teamId": _uuid(4),
            "startsAt": "2026-05-25T00:00:00.000Z",
            "endsAt": "2026-06-08T00:00:00.000Z",
            "issueCountHistory": [HIDDEN],
        },
        _uuid(10),
    ),
}


def _linear(kind: str, action: str, data: dict[str, Any], subject: str, place: str = "data") -> Sample:
    payload = {
        "action": action,
        "type": kind,
        "actor": _LINEAR_USER,
        "createdAt": "2026-05-28T20:26:39.123Z",
        place: data,
        "url": "https://linear.app/acme/issue/ENG-123",
        "updatedFrom": {"updatedAt": "2026-05-28T20:00:00.000Z", "stateId": HIDDEN},
        "organizationId": _uuid(11),
        "webhookId": _uuid(12),
        "webhookTimestamp": 0,
    }
    return Sample(payload=payload, subject=subject)


LINEAR: Mapping[str, Sample] = {
    **{
        f"{thing}.{happened}": _linear(kind, action, data, subject)
        for thing, (kind, data, subject) in _LINEAR.items()
        for action, happened in (("create", "created"), ("update", "updated"), ("remove", "removed"))
    },
    **{
        f"issue_sla.{happened}": _linear("IssueSLA", action, _LINEAR_ISSUE, "ENG-123", "issueData")
        for action, happened in (("set", "set"), ("highRisk", "high_risk"), ("breached", "breached"))
    },
}


# Sentry ------------------------------------------------------------------------------------------------------------


def _sign_sentry(body: bytes, secret: str, at: float) -> dict[str, str]:
    return {
        "sentry-hook-signature": digest(secret, body),
        "sentry-hook-timestamp": str(int(at)),
        "request-id": "8f14e45fceea167a5a36dedd4bea2543",
    }


_SENTRY_ISSUE = {
    "id": "1234567890",
    "shortId": "CHECKOUT-API-1F",
    "title": "ZeroDivisionError: division by zero",
    "culprit": "checkout.totals in split",
    "level": "error",
    "status": "unresolved",
    "substatus": "new",
    "priority": "high",
    "project": {"id": "1", "name": "checkout", "slug": "checkout-api"},
    "assignedTo": {"type": "user", "id": "1", "name": "Ann Example", "email": f"{HIDDEN}@corp.example"},
    "count": "3",
    "userCount": 2,
    "firstSeen": "2026-05-28T20:26:39.679000+00:00",
    "lastSeen": "2026-05-28T20:26:39.738000+00:00",
    "web_url": "https://acme.sentry.io/issues/1234567890/",
    "shareId": HIDDEN,
}
_SENTRY_EVENT = {
    "event_id": "e4874d664c3540c1a32eab185f12c5ab",
    "issue_id": "1234567890",
    "title": "ZeroDivisionError: division by zero",
    "message": "",
    "culprit": "checkout.totals in split",
    "platform": "python",
    "level": "error",
    "release": None,
    "datetime": "2026-05-28T20:26:39.677000Z",
    "project": 1,
    "tags": [["environment", "production"], ["release", "checkout@1.4.0"], ["user", f"ip:{HIDDEN}"]],
    "exception": {
        "values": [
            {
                "type": "ZeroDivisionError",
                "value": "division by zero",
                "stacktrace": {"frames": [{"filename": "totals.py", "vars": {"card": HIDDEN}}]},
            }
        ]
    },
    "request": {"cookies": HIDDEN, "headers": [["Authorization", HIDDEN]]},
    "user": {"ip_address": HIDDEN},
    "web_url": "https://acme.sentry.io/issues/1234567890/events/e4874d664c3540c1a32eab185f12c5ab/",
}
_SENTRY_ALERT = {
    "id": "4",
    "identifier": "1",
    "projects": ["checkout-api"],
    "alert_rule": {
        "name": "Too many errors",
        "query": "level:error",
        "aggregate": "count()",
        "environment": None,
        "triggers": [{"actions": [{"settings": HIDDEN}]}],
    },
    "date_started": "2026-05-28T20:26:39.000000Z",
    "date_detected": "2026-05-28T20:26:39.000000Z",
    "date_closed": None,
}


def _sentry(resource: str, action: str, data: dict[str, Any], subject: str = "1234567890") -> Sample:
    payload = {
        "action": action,
        "installation": {"uuid": "24b397fc-a86e-43ef-9297-949e21b82480"},
        "data": data,
        "actor": {"type": "user", "id": 1, "name": "Ann Example"},
    }
    return Sample(payload=payload, subject=subject, headers={"sentry-hook-resource": resource})


_SENTRY_COMMENT = {
    "comment": "It is the split.",
    "project_slug": "checkout-api",
    "comment_id": 1234,
    "issue_id": 1234567890,
    "timestamp": "2026-05-28T20:26:39.118160Z",
}
_SENTRY_METRIC = {
    "metric_alert": _SENTRY_ALERT,
    "description_title": "Critical: Too many errors",
    "description_text": "1000 events in the last 10 minutes",
    "web_url": "https://acme.sentry.io/alerts/1/",
}
SENTRY: Mapping[str, Sample] = {
    **{
        f"issue.{action}": _sentry("issue", action, {"issue": _SENTRY_ISSUE})
        for action in ("created", "resolved", "assigned", "archived", "unresolved")
    },
    **{
        f"comment.{action}": _sentry("comment", action, _SENTRY_COMMENT) for action in ("created", "updated", "deleted")
    },
    "error.created": _sentry("error", "created", {"error": _SENTRY_EVENT}),
    "event_alert.triggered": _sentry(
        "event_alert", "triggered", {"event": _SENTRY_EVENT, "triggered_rule": "Very important"}
    ),
    **{
        f"metric_alert.{action}": _sentry("metric_alert", action, _SENTRY_METRIC, "")
        for action in ("critical", "warning", "resolved")
    },
}


VENDORS: Mapping[str, Vendor] = {
    vendor.name: vendor
    for vendor in (
        Vendor(name="slack", webhooks=SlackWebhooks(), sign=_sign_slack, samples=SLACK),
        Vendor(name="github", webhooks=GitHubWebhooks(), sign=_sign_github, samples=GITHUB, signs_time=False),
        Vendor(name="stripe", webhooks=StripeWebhooks(), sign=_sign_stripe, samples=STRIPE),
        Vendor(name="linear", webhooks=LinearWebhooks(), sign=_sign_linear, samples=LINEAR, stamped=_sent_by_linear),
        Vendor(name="sentry", webhooks=SentryWebhooks(), sign=_sign_sentry, samples=SENTRY, signs_time=False),
    )
}


def changed(sample: Sample, *path: str | int, to: Any) -> Sample:
    """The sample with another value at a place."""
    payload = copy.deepcopy(sample.payload)
    place: Any = payload
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return Sample(payload=payload, subject=sample.subject, headers=sample.headers)
