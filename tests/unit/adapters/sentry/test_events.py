"""Sentry's events tell what went wrong, and not to whom."""

import pytest
from fakes.deliveries import SENTRY, Sample, changed

from adapters.sentry.events import read_event
from adapters.webhooks import DeliveryRefused, Event

INSTALLATION = "24b397fc-a86e-43ef-9297-949e21b82480"


def told(kind: str, sample: Sample | None = None) -> Event:
    """The event of a sample."""
    found = sample or SENTRY[kind]
    return read_event(found.payload, found.headers["sentry-hook-resource"], kind, "digest")


def test_an_issue_is_told_with_numbers() -> None:
    """Sentry writes how often as a string."""
    event = told("issue.created")
    assert (event.id, event.subject) == ("digest", "1234567890")
    assert event.occurred_at == pytest.approx(1779999999.679)
    assert event.data == {
        "installation": INSTALLATION,
        "issue": "1234567890",
        "short_id": "CHECKOUT-API-1F",
        "title": "ZeroDivisionError: division by zero",
        "culprit": "checkout.totals in split",
        "level": "error",
        "status": "unresolved",
        "substatus": "new",
        "priority": "high",
        "project": "checkout-api",
        "assigned_to": "Ann Example",
        "events": 3,
        "users": 2,
        "first_seen": "2026-05-28T20:26:39.679000+00:00",
        "last_seen": "2026-05-28T20:26:39.738000+00:00",
        "url": "https://acme.sentry.io/issues/1234567890/",
        "actor": {"type": "user", "name": "Ann Example"},
        "cut": [],
    }


def test_when_an_issue_was_resolved_is_not_known() -> None:
    """Sentry does not say it, and when it was seen first is another thing."""
    resolved = changed(SENTRY["issue.resolved"], "data", "issue", "substatus", to=None)
    assert told("issue.resolved", resolved).occurred_at is None


def test_an_error_is_told_without_frames_and_people() -> None:
    """Release and environment come from its tags when they are nowhere else."""
    event = told("error.created")
    assert event.subject == "1234567890"
    assert event.data == {
        "installation": INSTALLATION,
        "issue": "1234567890",
        "event": "e4874d664c3540c1a32eab185f12c5ab",
        "title": "ZeroDivisionError: division by zero",
        "message": None,
        "culprit": "checkout.totals in split",
        "platform": "python",
        "level": "error",
        "release": "checkout@1.4.0",
        "environment": "production",
        "exceptions": [{"type": "ZeroDivisionError", "value": "division by zero"}],
        "url": "https://acme.sentry.io/issues/1234567890/events/e4874d664c3540c1a32eab185f12c5ab/",
        "actor": {"type": "user", "name": "Ann Example"},
        "cut": [],
    }


def test_an_alert_tells_its_rule() -> None:
    """Under either of the names that Sentry has for it."""
    assert told("event_alert.triggered").data["rule"] == "Very important"
    other = changed(SENTRY["event_alert.triggered"], "data", "triggered_rule", to=None)
    other = changed(other, "data", "issue_alert", to={"title": "By another name", "settings": []})
    assert told("event_alert.triggered", other).data["rule"] == "By another name"


def test_a_comment_is_told_by_its_issue() -> None:
    """Its ids are numbers there, and texts here."""
    event = told("comment.created")
    assert event.subject == event.data["issue"] == "1234567890"
    assert (event.data["comment"], event.data["text"]) == ("1234", "It is the split.")


def test_an_alert_about_a_metric_has_no_issue() -> None:
    """It is of a rule, which no tool takes."""
    event = told("metric_alert.critical")
    assert event.subject == ""
    assert (event.data["alert"], event.data["rule"], event.data["projects"]) == (
        "1",
        "Too many errors",
        ["checkout-api"],
    )
    closed = changed(SENTRY["metric_alert.resolved"], "data", "metric_alert", "date_closed", to="2026-05-28T21:00:00Z")
    assert told("metric_alert.resolved", closed).occurred_at == 1780002000.0


def test_only_the_outermost_exceptions_are_told() -> None:
    """Five of them."""
    many = [{"type": str(number), "value": "x"} for number in range(9)]
    data = told("error.created", changed(SENTRY["error.created"], "data", "error", "exception", "values", to=many)).data
    assert [one["type"] for one in data["exceptions"]] == ["4", "5", "6", "7", "8"]


def test_an_alert_about_a_metric_without_its_number_is_told_by_its_id() -> None:
    """Sentry has two names for it."""
    sample = changed(SENTRY["metric_alert.warning"], "data", "metric_alert", "identifier", to=None)
    assert told("metric_alert.warning", sample).data["alert"] == "4"


@pytest.mark.parametrize("number", [None, -1, 1.5, True, "", "12a", "1\n", [], "1" * 31, "\u0661"])
@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("issue.created", ("issue", "id")),
        ("comment.created", ("issue_id",)),
        ("comment.created", ("comment_id",)),
        ("error.created", ("error", "issue_id")),
        ("event_alert.triggered", ("event", "issue_id")),
    ],
)
def test_without_what_names_it_an_event_is_malformed(kind: str, way: tuple[str, ...], number: object) -> None:
    """Its issue, or the comment."""
    with pytest.raises(DeliveryRefused):
        told(kind, changed(SENTRY[kind], "data", *way, to=number))
