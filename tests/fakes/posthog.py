"""A PostHog of our own: one project that keeps events, persons and feature flags, and reckons a little.

No other server that imitates PostHog can be had. What it says has the form of PostHog's own answers, as its source and
its documentation (https://posthog.com/docs/api) have them.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fakes.cases.posthog import COLUMNS, PROJECT, PROJECT_KEY, flag, insight, person, problem
from fakes.vendor import CREDENTIAL, Asked, Said

Json = dict[str, Any]
_PREFIX = f"/api/projects/{PROJECT}/"
_NOT_FOUND = problem("not_found", status=404, kind="invalid_request")


def _persons() -> list[Json]:
    numbers = range(1, 6)
    return [
        person(
            id=f"0189d2f4-7c3b-7a51-9f0e-00000000000{n}", uuid=f"0189d2f4-7c3b-7a51-9f0e-00000000000{n}", name=f"p{n}"
        )
        for n in numbers
    ]


@dataclass
class PostHog:
    """Answers for a `VendorServer`. Its private API is for the credential of `fakes.vendor`, its public one for the
    project's key.
    """

    events: list[Json] = field(default_factory=list)
    """The oldest first."""
    persons: list[Json] = field(default_factory=_persons)
    flags: list[Json] = field(default_factory=lambda: [flag(id=n, key=f"flag-{n}") for n in range(1, 4)])
    insights: list[Json] = field(default_factory=lambda: [insight()])
    is_slow: bool = False
    """A query is answered by its status first."""
    _waiting: dict[str, Json] = field(default_factory=dict)

    def __call__(self, asked: Asked) -> Said:
        """What it says."""
        if asked.path == "/i/v0/e/":
            return self._take(asked.json)
        if asked.headers.get("Authorization") != f"Bearer {CREDENTIAL}":
            return problem("authentication_failed", status=401, kind="authentication_error")
        if not asked.path.startswith(_PREFIX):
            return _NOT_FOUND
        kind, _, identifier = asked.path.removeprefix(_PREFIX).strip("/").partition("/")
        answers: Mapping[str, Callable[[Asked, str], Said]] = {
            "query": self._query,
            "events": lambda _asked, wanted: _one(self.events, "uuid", wanted),
            "persons": lambda asked, wanted: self._listed(asked, self.persons, "uuid", wanted),
            "feature_flags": lambda asked, wanted: self._listed(asked, self.flags, "id", wanted),
            "insights": lambda _asked, wanted: _one(self.insights, "id", wanted),
        }
        return answers[kind](asked, identifier) if kind in answers else _NOT_FOUND

    def _take(self, event: Json) -> Said:
        if event.get("api_key") != PROJECT_KEY:
            return Said(body=b"API key is not valid", status=401)
        told = {name: value for name, value in event.items() if name != "api_key"}
        self.events.append({"timestamp": "2025-12-31T12:00:00Z", **told})
        return Said({"status": "Ok"})

    def _query(self, asked: Asked, identifier: str) -> Said:
        if asked.method == "GET":
            done = self._waiting.get(identifier)
            if done is None:
                return _NOT_FOUND
            return Said({"query_status": {"id": identifier, "complete": True, "error": False, "results": done}})
        reckoned = self._reckoned(asked.json["query"])
        if reckoned is None:
            return problem("invalid_input", status=400)
        if not self.is_slow:
            return Said(reckoned)
        identifier = f"q{len(self._waiting)}"
        self._waiting[identifier] = reckoned
        status = {"id": identifier, "complete": False, "error": False, "results": None}
        return Said({"results": None, "query_status": status}, status=202)

    def _reckoned(self, query: Json) -> Json | None:
        kinds = {"TrendsQuery": _trend, "FunnelsQuery": _funnel, "RetentionQuery": _retention, "EventsQuery": _events}
        reckon = kinds.get(query["kind"])
        events = [event for event in self.events if all(_fits(event, one) for one in query["properties"])]
        # An event that nobody ever sent is what a query of PostHog's fails at as well.
        named = {name for name in _names(query) if name is not None}
        if reckon is None or not named <= {event["event"] for event in self.events}:
            return None
        return {**reckon(query, events), "last_refresh": "2026-01-01T00:00:00Z", "is_cached": False}

    def _listed(self, asked: Asked, things: list[Json], key: str, wanted: str) -> Said:
        if wanted:
            return _one(things, key, wanted)
        offset, limit = (int(asked.query[name][0]) for name in ("offset", "limit"))
        sought = asked.query.get("search", [""])[0]
        found = [thing for thing in things if sought in json.dumps(thing)]
        following = offset + limit
        is_more = following < len(found)
        url = f"https://elsewhere.example{_PREFIX}?limit={limit}&offset={following}" if is_more else None
        return Said({"next": url, "previous": None, "results": found[offset:following]})


def _one(things: list[Json], key: str, wanted: str) -> Said:
    found = [thing for thing in things if str(thing[key]) == wanted]
    return Said({"id": found[0][key], **found[0]}) if found else _NOT_FOUND


def _names(query: Json) -> list[str | None]:
    if query["kind"] == "RetentionQuery":
        return [query["retentionFilter"][name]["id"] for name in ("targetEntity", "returningEntity")]
    return [one["event"] for one in query["series"]] if "series" in query else [query.get("event")]


def _fits(event: Json, condition: Json) -> bool:
    held = event if condition["type"] == "event_metadata" else event["properties"]
    return condition["operator"] == "exact" and held.get(condition["key"]) in condition["value"]


def _trend(query: Json, events: list[Json]) -> Json:
    days = sorted({event["timestamp"][:10] for event in events})
    results = []
    for one in query["series"]:
        data = [sum(e["event"] == one["event"] and e["timestamp"][:10] == day for e in events) for day in days]
        results.append(
            {
                "action": {"id": one["event"], "name": one["name"]},
                "label": one["name"],
                "count": sum(data),
                "data": data,
                "days": days,
            }
        )
    return {"results": results}


def _funnel(query: Json, events: list[Json]) -> Json:
    left: set[str] | None = None
    results = []
    for order, one in enumerate(query["series"]):
        did = {event["distinct_id"] for event in events if event["event"] == one["event"]}
        left = did if left is None else left & did
        results.append({"name": one["name"], "order": order, "count": len(left)})
    return {"results": results}


def _retention(query: Json, events: list[Json]) -> Json:
    asked = query["retentionFilter"]
    began, back = (
        {event["distinct_id"] for event in events if event["event"] == asked[name]["id"]}
        for name in ("targetEntity", "returningEntity")
    )
    values = [{"count": len(began), "label": "Week 0"}, {"count": len(began & back), "label": "Week 1"}]
    return {"results": [{"date": "2025-12-01T00:00:00Z", "label": "Week 0", "values": values}]}


def _events(query: Json, events: list[Json]) -> Json:
    newest = [event for event in reversed(events) if query.get("event") in (None, event["event"])]
    offset, limit = query["offset"], query["limit"]
    rows = [[event[column] for column in COLUMNS] for event in newest[offset : offset + limit]]
    return {"columns": COLUMNS, "results": rows, "hasMore": offset + limit < len(newest)}
