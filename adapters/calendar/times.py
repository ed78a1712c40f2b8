"""Moments, days and time zones, read in one way: RFC 3339 with an offset, `YYYY-MM-DD`, and names of the IANA list."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeVar

from adapters.base import ArgumentIssue
from adapters.zones import find_zone

_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.0+)?([Zz]|[+-]\d{2}:[0-5]\d)", re.ASCII)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_FIRST_YEAR, _LAST_YEAR = 1970, 2199
_MAX_OFFSET = timedelta(hours=14)
_FORM = "is not a moment; write RFC 3339 with seconds and an offset, such as 2026-12-01T09:30:00+01:00"
_DAY_FORM = f"{_FORM}, or a day such as 2026-12-01 for an event that lasts all day"


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time as it is sent: its own offset kept, seconds always there."""

    text: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` until `end`, which is not part of it. Both are moments, or both are days."""

    start: str
    end: str
    is_all_day: bool
    minutes: int


class _Unread(Exception):  # noqa: N818 - it becomes an issue
    def __init__(self, rule: str, message: str) -> None:
        super().__init__(rule)
        self.rule = rule
        self.message = message


def read_span(start: str, end: str, zone: str | None, issues: list[ArgumentIssue]) -> Span | None:
    """When an event is. None with an issue for what cannot be read, mixes both forms, or ends before it begins.

    `zone` is a name that is known. An offset that the zone does not have at that moment is an issue: one of the two
    is a mistake, and nobody can tell which.
    """
    if _DAY.fullmatch(start) and _DAY.fullmatch(end):
        return _days(start, end, issues)
    first = _tried(lambda: _moment(start, zone, _DAY_FORM), "/start", issues)
    last = _tried(lambda: _moment(end, zone, _DAY_FORM), "/end", issues)
    if first is None or last is None:
        return None
    if not _in_order(first.at, last.at, ("start", "end"), issues):
        return None
    minutes = int((last.at - first.at).total_seconds()) // 60
    return Span(first.text, last.text, is_all_day=False, minutes=minutes)


def read_window(time_min: str, time_max: str, most_days: int, issues: list[ArgumentIssue]) -> tuple[str, str] | None:
    """Both ends of a window of so many days at most; None with an issue."""
    first = _tried(lambda: _moment(time_min, None, _FORM), "/time_min", issues)
    last = _tried(lambda: _moment(time_max, None, _FORM), "/time_max", issues)
    if first is None or last is None or not _in_order(first.at, last.at, ("time_min", "time_max"), issues):
        return None
    if last.at - first.at > timedelta(days=most_days):
        message = f"`time_max` is more than {most_days} days after `time_min`; ask for less at once."
        issues.append(ArgumentIssue(path="/time_max", rule="window", message=message))
        return None
    return first.text, last.text


def read_zone(name: str | None, issues: list[ArgumentIssue]) -> str | None:
    """The zone's name; None when there is none, or with an issue when nobody knows it."""
    if name is None or find_zone(name) is not None:
        return name
    message = "`time_zone` is no time zone that is known here; name one of the IANA list, such as Europe/Warsaw."
    issues.append(ArgumentIssue(path="/time_zone", rule="time_zone", message=message))
    return None


def _days(start: str, end: str, issues: list[ArgumentIssue]) -> Span | None:
    first = _tried(lambda: _day(start), "/start", issues)
    last = _tried(lambda: _day(end), "/end", issues)
    if first is None or last is None:
        return None
    if last <= first:
        message = "`end` is the day after the last day of the event, so it must be later than `start`."
        issues.append(ArgumentIssue(path="/end", rule="order", message=message))
        return None
    return Span(start, end, is_all_day=True, minutes=(last - first).days * 24 * 60)


def _moment(text: str, zone: str | None, form: str) -> Moment:
    match = _MOMENT.fullmatch(text)
    if match is None or match[3] == "-00:00":  # which says that the offset is not known
        raise _Unread("date_time", form)
    offset = "Z" if match[3] in "Zz" else match[3]
    written = f"{match[1]}T{match[2]}{offset}"
    try:
        at = datetime.fromisoformat(written)
        day = at.date()
    except ValueError as error:
        raise _Unread("date_time", form) from error
    if abs(at.utcoffset() or timedelta()) > _MAX_OFFSET:
        raise _Unread("date_time", form)
    _check_year(day)
    _check_offset(at, zone)
    return Moment(written, at)


def _check_offset(at: datetime, zone: str | None) -> None:
    there = find_zone(zone) if zone is not None else None
    if there is not None and at.astimezone(there).utcoffset() != at.utcoffset():
        shown = at.astimezone(there).isoformat()[-6:]
        raise _Unread("offset", f"has an offset that `time_zone` does not have then; there it is {shown}")


def _day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise _Unread("date", "is a day that does not exist") from error
    _check_year(day)
    return day


def _check_year(day: date) -> None:
    if not _FIRST_YEAR <= day.year <= _LAST_YEAR:
        raise _Unread("year", f"must lie between {_FIRST_YEAR} and {_LAST_YEAR}")


def _in_order(first: datetime, last: datetime, names: tuple[str, str], issues: list[ArgumentIssue]) -> bool:
    if first < last:
        return True
    message = f"`{names[1]}` must be later than `{names[0]}`."
    issues.append(ArgumentIssue(path=f"/{names[1]}", rule="order", message=message))
    return False


def _tried(read: Callable[[], T], path: str, issues: list[ArgumentIssue]) -> T | None:
    try:
        return read()
    except _Unread as problem:
        message = f"`{path[1:]}` {problem.message}."
        issues.append(ArgumentIssue(path=path, rule=problem.rule, message=message))
        return None
