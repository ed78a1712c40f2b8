"""Events are made of what a vendor sends by types and bounds, whatever it sends."""

import json
import re

import pytest

from adapters.transport import events
from adapters.webhooks import DeliveryRefused, Event, Fault


def event(**data: object) -> Event:
    """An event with these data."""
    return events.event_of(id="1", kind="thing.done", occurred_at=None, subject="", data=data)


def test_a_body_is_an_object() -> None:
    """Anything else cannot be understood."""
    assert events.loaded(b'{"a": 1}') == {"a": 1}
    for body in (b"", b"[]", b"1", b'"a"', b"{", b"\xff", b'{"a": NaN}', b"[" * 2_000, b'{"a": "\\ud800"}'):
        with pytest.raises(DeliveryRefused) as refused:
            events.loaded(body)
        assert refused.value.fault is Fault.MALFORMED


def test_a_digest_names_a_body() -> None:
    """It is the same for the same body and for no other."""
    assert events.digest_of(b"a") == events.digest_of(b"a") != events.digest_of(b"a ")
    assert re.fullmatch(r"[0-9a-f]{64}", events.digest_of(b""))


@pytest.mark.parametrize("name", ["", "a b", "ä", "a\n", "x" * 129])
def test_an_id_that_is_none_is_malformed(name: str) -> None:
    """At most 128 characters of printable ASCII without blanks."""
    with pytest.raises(DeliveryRefused):
        events.event_of(id=name, kind="thing.done", occurred_at=None, subject="", data={})


def test_what_fits_stays_as_it_is() -> None:
    """And nothing is said to be cut."""
    assert event(text="a" * 4_000, items=[1] * 50, none=None).data == {
        "text": "a" * 4_000,
        "items": [1] * 50,
        "none": None,
        "cut": [],
    }


def test_what_is_too_long_is_cut_and_named() -> None:
    """A text ends with an ellipsis then; a list just ends."""
    data = event(text="a" * 4_001, items=[{"name": "b"}] * 51, whole="c").data
    assert data == {"text": "a" * 3_999 + "…", "items": [{"name": "b"}] * 50, "whole": "c", "cut": ["items", "text"]}


def test_what_is_long_in_many_places_is_cut_shorter() -> None:
    """Until all of it fits; what would be written with escapes counts as such."""
    data = event(**{f"text_{number}": "\x01" * 4_000 for number in range(20)}).data
    assert len(json.dumps(data)) <= events.MAX_BYTES
    assert data["text_0"] == "\x01" * 199 + "…"
    assert len(data["cut"]) == 20


def test_values_of_another_type_are_nothing() -> None:
    """A yes is no number, and a number no yes."""
    assert [events.text(one) for one in ("a", "", None, 1, [], {})] == ["a", None, None, None, None, None]
    assert [events.whole(one) for one in (5, -5, True, 5.0, "5", 2**53, None)] == [5, -5, *[None] * 5]
    assert [events.flag(one) for one in (True, False, 1, "true", None)] == [True, False, None, None, None]
    assert [events.address(one) for one in ("https://a", "http://a", "javascript:a", 1)] == [
        "https://a",
        "http://a",
        None,
        None,
    ]


def test_lists_keep_what_is_as_it_should_be() -> None:
    """The rest is left out."""
    assert events.words(["a", "", 1, None, "b"]) == ["a", "b"]
    assert events.texts([{"name": "a"}, {"name": 1}, {}, 5, {"name": "b"}], "name") == ["a", "b"]
    assert events.words("ab") == events.texts({"name": "a"}, "name") == []


def test_an_object_is_told_by_some_names() -> None:
    """Of others nothing is told; of one without any of them, nothing at all."""
    assert events.named({"id": "1", "name": None, "email": "x"}, "id", "name") == {"id": "1", "name": None}
    assert events.named({"email": "x"}, "id") is events.named("x", "id") is events.named(None, "id") is None


def test_a_form_is_matched_as_a_whole() -> None:
    """A line's end is no exception."""
    form = re.compile(r"[a-z]+")
    assert events.known("abc", form) == events.matching("abc", form) == "abc"
    assert events.known("abc\n", form) is events.known(5, form) is None
    with pytest.raises(DeliveryRefused):
        events.matching("abc\n", form)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1780000000, 1780000000.0),
        (1780000000.25, 1780000000.25),
        ("1780000000.000250", 1780000000.00025),
        ("2026-05-28T20:26:40Z", 1780000000.0),
        ("2026-05-28T22:26:40+02:00", 1780000000.0),
        ("2026-05-28T20:26:40", 1780000000.0),
        (0, 0.0),
    ],
)
def test_a_moment_is_seconds(value: object, seconds: float) -> None:
    """Of a number, of digits, and of ISO 8601, in UTC if it does not say."""
    assert events.moment(value) == pytest.approx(seconds, abs=1e-6)


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, -1, 1e300, 2**64, float("inf"), float("nan"), [], {}),
        *("", "soon", "nan", "inf", "1e9", "-5", "9" * 400, "2026-02-30T00:00:00Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "1969-12-31T23:59:59Z"),
    ],
)
def test_what_is_no_moment_is_none(value: object) -> None:
    """Nor is what is before 1970 or after 9999."""
    assert events.moment(value) is None
