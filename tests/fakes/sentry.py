"""A small Sentry of our own, with state: no server of Sentry's can be started by a test."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from fakes.vendor import CREDENTIAL, NOW, Asked, Said

_ISSUES = re.compile(r"/api/0/organizations/acme/issues/")
_ISSUE = re.compile(r"/api/0/organizations/acme/issues/([^/]+)/(?:(events|comments)/(?:([^/]+)/)?)?")
MISSING = Said({"detail": "The requested resource does not exist"}, status=404)


def moment(seconds: float) -> str:
    """As Sentry writes it."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


@dataclass
class FakeSentry:
    """One organization, `acme`. It takes the token `CREDENTIAL`, and gives lists a page at a time."""

    issues: list[dict[str, Any]] = field(default_factory=list)
    events: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """Of each issue, by its number, newest first."""
    comments: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def add_issue(self, number: int, *, project: str = "checkout-api", events: int = 1) -> dict[str, Any]:
        """An open issue, with events."""
        issue = {
            "id": str(number),
            "shortId": f"{project.upper()}-{number}",
            "title": f"Error {number}",
            "status": "unresolved",
            "level": "error",
            "project": {"slug": project},
            "count": str(events),
            "userCount": 1,
            "activity": [{"type": "first_seen", "dateCreated": moment(NOW - 9000), "data": {}}],
        }
        self.issues.append(issue)
        self.events[issue["id"]] = [self._event(issue, count) for count in range(events, 0, -1)]
        self.comments[issue["id"]] = []
        return issue

    def answer(self, asked: Asked) -> Said:
        """What it says."""
        if asked.headers.get("Authorization") != f"Bearer {CREDENTIAL}":
            return Said({"detail": "Invalid token"}, status=401)
        if _ISSUES.fullmatch(asked.path):
            return self._list(asked)
        match = _ISSUE.fullmatch(asked.path)
        issue = None if match is None else self._find(match[1])
        if match is None or issue is None:
            return MISSING
        if match[2] == "events":
            return self._events(asked, issue, match[3])
        return self._commented(asked, issue) if match[2] == "comments" else self._issue(asked, issue)

    def _find(self, name: str) -> dict[str, Any] | None:
        return next((issue for issue in self.issues if name in (issue["id"], issue["shortId"])), None)

    def _list(self, asked: Asked) -> Said:
        query = asked.query.get("query", [""])[0]
        if "(" in query:
            return Said({"detail": "Error parsing search query"}, status=400)
        projects = asked.query.get("projectSlug")
        found = [
            issue
            for issue in self.issues
            if (projects is None or issue["project"]["slug"] in projects)
            and (query != "is:unresolved" or issue["status"] == "unresolved")
        ]
        return _page(asked, found, int(asked.query["limit"][0]))

    def _issue(self, asked: Asked, issue: dict[str, Any]) -> Said:
        if asked.method == "PUT":
            issue.update(asked.json)
            issue["activity"].insert(0, {"type": "set_resolved", "dateCreated": moment(NOW), "data": {}})
        return Said(issue)

    def _events(self, asked: Asked, issue: dict[str, Any], name: str | None) -> Said:
        events = self.events[issue["id"]]
        if name is None:
            return _page(asked, events, int(asked.query["per_page"][0]))
        named = {"latest": events[:1], "oldest": events[-1:]}
        found = named.get(name, [event for event in events if event["eventID"] == name])
        return Said(found[0]) if found else MISSING

    def _commented(self, asked: Asked, issue: dict[str, Any]) -> Said:
        comments = self.comments[issue["id"]]
        if asked.method == "GET":
            return _page(asked, comments, 2)
        if any(comment["data"] == asked.json for comment in comments):
            return Said('{"detail": "You have already posted that comment."}', status=400)  # a text
        comment = {"id": str(len(comments) + 1), "type": "note", "data": asked.json, "dateCreated": moment(NOW)}
        comments.insert(0, comment)
        return Said(comment, status=201)

    def _event(self, issue: dict[str, Any], count: int) -> dict[str, Any]:
        return {
            "eventID": f"{int(issue['id']):016x}{count:016x}",
            "groupID": issue["id"],
            "title": issue["title"],
            "message": f"For the {count}. time",
            "dateCreated": moment(NOW - 9000 + count),
            "tags": [{"key": "environment", "value": "production"}],
            "entries": [],
        }


def _page(asked: Asked, items: Sequence[dict[str, Any]], limit: int) -> Said:
    start = int(asked.query.get("cursor", ["0:0:0"])[0].split(":")[1])
    end = start + limit
    here = f"<http://{asked.headers['Host']}{asked.path}>"
    has_more = str(end < len(items)).lower()
    link = f'{here}; rel="previous"; results="{str(start > 0).lower()}"; cursor="0:{max(start - limit, 0)}:1", '
    link += f'{here}; rel="next"; results="{has_more}"; cursor="0:{end}:0"'
    return Said(list(items[start:end]), headers={"Link": link})
