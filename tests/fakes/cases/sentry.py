"""Operations of Sentry."""

from typing import Any

from adapters.base import Target
from fakes.cases.base import ApiCase, api
from fakes.vendor import Answer, Said

ORGANIZATION = "acme"
LINK = (
    '<https://sentry.io/api/0/organizations/acme/issues/?query=a,b&cursor=0:0:1>; rel="previous"; results="false"; '
    'cursor="0:0:1", <https://sentry.io/api/0/organizations/acme/issues/?query=a,b&cursor=0:20:0>; rel="next"; '
    'results="true"; cursor="0:20:0"'
)
EVENT_ID = "9fac2ceed9344f2bbfdd1fdacb0ed9b1"
ISSUE = {
    "id": "4509877862268928",
    "shortId": "CHECKOUT-API-1F",
    "title": "ZeroDivisionError: division by zero",
    "culprit": "checkout.totals in split",
    "level": "error",
    "status": "unresolved",
    "statusDetails": {},
    "platform": "python",
    "project": {"id": "2", "name": "Checkout API", "slug": "checkout-api"},
    "count": "150",
    "userCount": 12,
    "numComments": 1,
    "firstSeen": "2025-12-06T21:19:55Z",
    "lastSeen": "2025-12-31T12:38:00Z",
    "permalink": "https://acme.sentry.io/issues/4509877862268928/",
    "assignedTo": {"type": "user", "id": "7", "name": "Ann Example", "email": "ann@corp.example"},
    "firstRelease": {"version": "checkout@1.4.0"},
    "lastRelease": None,
    "activity": [
        {"id": "2", "type": "note", "user": None, "data": {"text": "Hm"}, "dateCreated": "2025-12-30T10:00:00Z"},
        {"id": "0", "type": "first_seen", "user": None, "data": {}, "dateCreated": "2025-12-06T21:19:55Z"},
    ],
}
EVENT = {
    "id": EVENT_ID,
    "eventID": EVENT_ID,
    "groupID": "4509877862268928",
    "title": "ZeroDivisionError: division by zero",
    "message": "",
    "culprit": "checkout.totals in split",
    "platform": "python",
    "dateCreated": "2025-12-31T12:38:00Z",
    "user": {"id": "u-77", "email": "customer@shop.example", "ip_address": "198.51.100.7"},
    "tags": [
        {"key": "level", "value": "error"},
        {"key": "environment", "value": "production"},
        {"key": "release", "value": "checkout@1.4.2"},
        {"key": "user", "value": "email:customer@shop.example"},
        {"key": "user.ip", "value": "198.51.100.7"},
    ],
    "entries": [
        {
            "type": "exception",
            "data": {
                "values": [
                    {
                        "type": "ZeroDivisionError",
                        "value": "division by zero",
                        "stacktrace": {
                            "frames": [
                                {"filename": "wsgi.py", "lineNo": 12, "function": "call", "inApp": False},
                                {
                                    "filename": "checkout/totals.py",
                                    "lineNo": 41,
                                    "function": "split",
                                    "inApp": True,
                                    "vars": {"card": "4111111111111111"},
                                },
                            ]
                        },
                    }
                ]
            },
        },
        {"type": "request", "data": {"method": "POST", "cookies": [["session", "s3cr3t"]]}},
    ],
    "previousEventID": None,
    "nextEventID": "1234567890abcdef1234567890abcdef",
}
COMMENT = {
    "id": "5566",
    "type": "note",
    "user": {"id": "7", "name": "bot"},
    "data": {"text": "Fixed by 1.4.3"},
    "dateCreated": "2026-01-01T00:00:00Z",
}


def sentry_target(port: int) -> Target:
    """A connection to Sentry on loopback."""
    options = {"base_url": f"http://127.0.0.1:{port}/api/0", "organization": ORGANIZATION}
    return Target(name="t", account="acme/t", hosts=(f"127.0.0.1:{port}",), options=options)


def says(value: Any, status: int = 200, **headers: str) -> Answer:
    """The same whatever is asked."""
    return lambda _asked: Said(value, status, headers)


def _case(operation: str, arguments: dict[str, Any], answer: Answer) -> ApiCase:
    return api("sentry", operation, arguments, answer, target=sentry_target)


_ISSUE = {"issue": "checkout-api-1f"}
CASES: tuple[ApiCase, ...] = (
    _case("list_issues", {"query": "is:unresolved", "project": "checkout-api"}, says([ISSUE], Link=LINK)),
    _case("get_issue", _ISSUE, says(ISSUE)),
    _case("list_events", _ISSUE, says([EVENT], Link=LINK)),
    _case("get_event", {**_ISSUE, "event": EVENT_ID}, says(EVENT)),
    _case("resolve_issue", _ISSUE, says({**ISSUE, "status": "resolved"})),
    _case("comment_on_issue", {**_ISSUE, "text": "Fixed by 1.4.3"}, says(COMMENT, 201)),
)
