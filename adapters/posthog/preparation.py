"""The form in which what an agent sends goes on: what policy judges, and what PostHog is asked."""

from typing import Any

from adapters.posthog.arguments import OF_PROPERTY
from adapters.posthog.checks import Checks
from adapters.transport.cursors import with_page

DEFAULT_LIMIT = 20
_RESERVED = "$"
_ELSEWHERE = frozenset({"api_key", "distinct_id", "token"})
"""Properties by which older servers of PostHog's take an event for another person's, or another project's."""
_NOBODY = frozenset(
    {
        "",
        "0",
        "anonymous",
        "distinct_id",
        "distinctid",
        "email",
        "false",
        "guest",
        "id",
        "nan",
        "none",
        "not_authenticated",
        "null",
        "true",
        "undefined",
        "[object object]",
    }
)
"""Ids under which PostHog takes nothing, since they are of nobody."""


def prepare_run_trend(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.RunTrend`."""
    checks = Checks(arguments)
    measure, measured = checks.value("measure", "total"), checks.line("measured_property")
    if (measured is not None) != (measure in OF_PROPERTY):
        message = "Give the property for sum, avg, min and max, and for no other measure."
        checks.issue("/measured_property", "measured_property", message)
    return checks.checked(
        {
            "events": _names(checks, "events"),
            "measure": measure,
            "measured_property": measured,
            "interval": checks.value("interval", "day"),
            **_dates(checks),
            "breakdown": checks.line("breakdown"),
            "breakdown_of": checks.value("breakdown_of", "event"),
            "filters": checks.filters("filters"),
        }
    )


def prepare_run_funnel(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.RunFunnel`."""
    checks = Checks(arguments)
    return checks.checked(
        {
            "steps": _names(checks, "steps"),
            "window_days": checks.value("window_days", 14),
            **_dates(checks),
            "filters": checks.filters("filters"),
        }
    )


def prepare_run_retention(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.RunRetention`."""
    checks = Checks(arguments)
    return checks.checked(
        {
            "target_event": checks.line("target_event"),
            "returning_event": checks.line("returning_event"),
            "period": checks.value("period", "week"),
            "periods": checks.value("periods", 8),
            "date_from": checks.day("date_from"),
            "is_first_time": checks.value("is_first_time", True),
            "filters": checks.filters("filters"),
        }
    )


def prepare_run_saved_query(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.RunSavedQuery`."""
    return {"insight_id": arguments["insight_id"]}


def prepare_list_events(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.ListEvents`. Without a time it is the last day."""
    checks = Checks(arguments)
    prepared = {
        "event": checks.line("event"),
        "distinct_id": checks.line("distinct_id"),
        "person_id": checks.uuid("person_id"),
        "after": checks.moment("after"),
        "before": checks.moment("before"),
        "filters": checks.filters("filters"),
    }
    return _listed("list_events", checks, prepared)


def prepare_list_persons(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.ListPersons`."""
    checks = Checks(arguments)
    return _listed("list_persons", checks, {name: checks.line(name) for name in ("search", "email", "distinct_id")})


def prepare_get_person(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.GetPerson`."""
    checks = Checks(arguments)
    return checks.checked({"person_id": checks.uuid("person_id")})


def prepare_list_feature_flags(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.ListFeatureFlags`."""
    checks = Checks(arguments)
    prepared = {"search": checks.line("search"), "is_active": checks.value("is_active")}
    return _listed("list_feature_flags", checks, prepared)


def prepare_get_feature_flag(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.GetFeatureFlag`."""
    return {"flag_id": arguments["flag_id"]}


def prepare_capture_event(arguments: dict[str, Any]) -> dict[str, Any]:
    """See `arguments.CaptureEvent`. What begins with `$` has a meaning of PostHog's own, such as merging two persons
    into one, and is refused.
    """
    checks = Checks(arguments)
    event, distinct_id = checks.line("event"), checks.line("distinct_id")
    _refuse_reserved(checks, arguments["event"], "/event")
    if arguments["distinct_id"].strip().lower() in _NOBODY:
        checks.issue("/distinct_id", "distinct_id", "PostHog takes no events of nobody in particular.")
    return checks.checked(
        {
            "event": event,
            "distinct_id": distinct_id,
            "properties": _properties(checks),
            "timestamp": checks.moment("timestamp"),
        }
    )


def _properties(checks: Checks) -> dict[str, Any]:
    properties = {}
    for index, one in enumerate(checks.value("properties", [])):
        path = f"/properties/{index}"
        if not isinstance(one, dict):
            checks.issue(path, "type", "A property has a name and a value.")
            continue
        name = checks.one_line(one["name"], f"{path}/name")
        _refuse_reserved(checks, name, f"{path}/name")
        if name in _ELSEWHERE:
            checks.issue(f"{path}/name", "reserved", "PostHog could take this name for whose event it is.")
        if name in properties:
            checks.issue(f"{path}/name", "unique", "Name each property once.")
        properties[name] = one["value"]
    return properties


def _refuse_reserved(checks: Checks, name: str, path: str) -> None:
    if name.startswith(_RESERVED):
        checks.issue(path, "reserved", "Names that begin with $ are PostHog's own; choose another.")


def _names(checks: Checks, name: str) -> list[str]:
    return [checks.one_line(value, f"/{name}/{index}") for index, value in enumerate(checks.value(name, []))]


def _dates(checks: Checks) -> dict[str, str | None]:
    return {"date_from": checks.day("date_from", "-7d"), "date_to": checks.day("date_to")}


def _listed(operation: str, checks: Checks, prepared: dict[str, Any]) -> dict[str, Any]:
    limit = checks.value("limit", DEFAULT_LIMIT)
    return with_page(operation, {**checks.checked(prepared), "limit": limit, "cursor": checks.value("cursor")})
