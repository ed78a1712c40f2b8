"""What an agent sends to each operation."""

from typing import Literal, NotRequired, TypedDict

Operator = Literal["exact", "is_not", "icontains", "not_icontains", "gt", "gte", "lt", "lte", "is_set", "is_not_set"]
Of = Literal["event", "person"]
Interval = Literal["hour", "day", "week", "month"]
Measure = Literal["total", "dau", "weekly_active", "monthly_active", "unique_session", "sum", "avg", "min", "max"]
OF_PROPERTY = frozenset({"sum", "avg", "min", "max"})
"""What is measured of a property's values."""


class Condition(TypedDict):
    """That a property is so and so."""

    property: str
    operator: Operator
    value: NotRequired[str]
    of: NotRequired[Of]


class RunTrend(TypedDict):
    """Of `run_trend`."""

    events: list[str]
    measure: NotRequired[Measure]
    measured_property: NotRequired[str]
    interval: NotRequired[Interval]
    date_from: NotRequired[str]
    date_to: NotRequired[str]
    breakdown: NotRequired[str]
    breakdown_of: NotRequired[Of]
    filters: NotRequired[list[Condition]]


class RunFunnel(TypedDict):
    """Of `run_funnel`."""

    steps: list[str]
    window_days: NotRequired[int]
    date_from: NotRequired[str]
    date_to: NotRequired[str]
    filters: NotRequired[list[Condition]]


class RunRetention(TypedDict):
    """Of `run_retention`."""

    target_event: str
    returning_event: str
    period: NotRequired[Interval]
    periods: NotRequired[int]
    date_from: NotRequired[str]
    is_first_time: NotRequired[bool]
    filters: NotRequired[list[Condition]]


class RunSavedQuery(TypedDict):
    """Of `run_saved_query`."""

    insight_id: int


class ListEvents(TypedDict):
    """Of `list_events`."""

    event: NotRequired[str]
    distinct_id: NotRequired[str]
    person_id: NotRequired[str]
    after: NotRequired[str]
    before: NotRequired[str]
    filters: NotRequired[list[Condition]]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListPersons(TypedDict):
    """Of `list_persons`."""

    search: NotRequired[str]
    email: NotRequired[str]
    distinct_id: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class GetPerson(TypedDict):
    """Of `get_person`."""

    person_id: str


class ListFeatureFlags(TypedDict):
    """Of `list_feature_flags`."""

    search: NotRequired[str]
    is_active: NotRequired[bool]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class GetFeatureFlag(TypedDict):
    """Of `get_feature_flag`."""

    flag_id: int


class Property(TypedDict):
    """What is told with an event."""

    name: str
    value: str | float | bool


class CaptureEvent(TypedDict):
    """Of `capture_event`."""

    event: str
    distinct_id: str
    properties: NotRequired[list[Property]]
    timestamp: NotRequired[str]
