"""Operations of PostHog."""

from typing import Any

from adapters.base import Target
from fakes.cases.base import ApiCase, api, nothing
from fakes.vendor import Asked, Said

PROJECT = 4242
PROJECT_KEY = "phc_0fUnlikelyAndNoSecret"
PERSON = "0189d2f4-7c3b-7a51-9f0e-3b6d8a2c4e11"
EVENT = "0190aa11-2b3c-7d4e-8f50-6a7b8c9d0e22"
COLUMNS = ["uuid", "event", "distinct_id", "timestamp", "properties"]


def target(port: int) -> Target:
    """A project of a server on loopback, which takes events as well."""
    options = {"base_url": f"http://127.0.0.1:{port}", "project_id": PROJECT, "project_api_key": PROJECT_KEY}
    return Target(name="t", account="acme/t", hosts=(f"127.0.0.1:{port}",), options=options)


def results(value: Any, **more: Any) -> Said:
    """What a query comes to."""
    return Said({"results": value, "last_refresh": "2026-01-01T00:00:00Z", "is_cached": False, **more})


def problem(code: str, *, status: int, kind: str = "validation_error", **headers: str) -> Said:
    """An error as PostHog tells of one."""
    told = {"type": kind, "code": code, "detail": "No.", "attr": None}
    return Said(told, status=status, headers={name.replace("_", "-"): value for name, value in headers.items()})


def event_row(identifier: str = EVENT, **properties: Any) -> list[Any]:
    """A row of an event list."""
    told = {"$browser": "Firefox", "plan": "team", **properties}
    return [identifier, "signed up", "ann@corp.example", "2025-12-31T12:00:00Z", told]


def person(**fields: Any) -> dict[str, Any]:
    """A person as PostHog tells of one."""
    return {
        "id": PERSON,
        "uuid": PERSON,
        "name": "ann@corp.example",
        "distinct_ids": ["ann@corp.example", "u-1"],
        "properties": {"email": "ann@corp.example", "$initial_os": "Linux"},
        "created_at": "2025-11-01T08:00:00Z",
        **fields,
    }


def flag(**fields: Any) -> dict[str, Any]:
    """A feature flag as PostHog tells of one."""
    condition = {
        "properties": [{"key": "email", "type": "person", "value": ["ann@corp.example"], "operator": "exact"}],
        "rollout_percentage": 50,
        "variant": None,
    }
    several = {"variants": [{"key": "control", "name": None, "rollout_percentage": 100}]}
    return {
        "id": 77,
        "key": "new-checkout",
        "name": "The new checkout",
        "active": True,
        "filters": {"groups": [condition], "multivariate": several},
        "created_at": "2025-10-01T08:00:00Z",
        **fields,
    }


TREND = {
    "action": {"id": "$pageview", "name": "$pageview", "type": "events"},
    "label": "$pageview",
    "count": 30.0,
    "data": [10.0, 20.0],
    "days": ["2025-12-30", "2025-12-31"],
}
FUNNEL = [
    {"name": "visited", "order": 0, "count": 200, "average_conversion_time": None, "median_conversion_time": None},
    {"name": "bought", "order": 1, "count": 50, "average_conversion_time": 90.5, "median_conversion_time": 60.0},
]
RETENTION = {
    "date": "2025-12-01T00:00:00Z",
    "label": "Week 0",
    "values": [{"count": 40, "label": "Week 0"}, {"count": 12, "label": "Week 1"}],
}


def insight(**fields: Any) -> dict[str, Any]:
    """A saved insight as PostHog tells of one."""
    query = {"kind": "InsightVizNode", "source": {"kind": "TrendsQuery", "series": []}}
    return {
        "id": 99,
        "short_id": "aBcD1234",
        "name": "Page views",
        "derived_name": None,
        "description": "",
        "query": query,
        "result": [TREND],
        "last_refresh": "2026-01-01T00:00:00Z",
        **fields,
    }


def _case(operation: str, arguments: dict[str, Any], said: Said) -> ApiCase:
    return api("posthog", operation, arguments, lambda _asked: said, target=target, changes=nothing)


def _is_event(asked: Asked) -> bool:
    return asked.path == "/i/v0/e/"


CASES = (
    _case("run_trend", {"events": ["$pageview"], "breakdown": "$browser"}, results([TREND])),
    _case("run_funnel", {"steps": ["visited", "bought"]}, results(FUNNEL)),
    _case("run_retention", {"target_event": "signed up", "returning_event": "visited"}, results([RETENTION])),
    _case("run_saved_query", {"insight_id": 99}, Said(insight())),
    _case("list_events", {"event": "signed up"}, results([event_row()], columns=COLUMNS, hasMore=True)),
    _case("list_persons", {"search": "ann"}, Said({"next": None, "previous": None, "results": [person()]})),
    _case("get_person", {"person_id": PERSON}, Said(person())),
    _case("list_feature_flags", {"is_active": True}, Said({"count": 1, "next": None, "results": [flag()]})),
    _case("get_feature_flag", {"flag_id": 77}, Said(flag())),
    api(
        "posthog",
        "capture_event",
        {"event": "refund promised", "distinct_id": "u-1", "properties": [{"name": "amount", "value": 12.5}]},
        lambda _asked: Said({"status": "Ok"}),
        target=target,
        changes=_is_event,
    ),
)
