"""How arguments are read."""

from typing import Any

import pytest

from adapters.base import ArgumentProblem
from adapters.stripe.fields import MAX_AMOUNT, Reader


def _rules(reader: Reader) -> list[tuple[str, str]]:
    with pytest.raises(ArgumentProblem) as caught:
        reader.checked({})
    return [(issue.path, issue.rule) for issue in caught.value.issues]


@pytest.mark.parametrize(
    ("form", "good"),
    [
        ("charge", "ch_3SkZ"),
        ("charge", "py_3SkZ"),
        ("intent", "pi_3SkZ"),
        ("invoice", "in_1SkZ"),
        ("customer", "cus_TZQ1"),
        ("refundable", "pi_3SkZ"),
        ("refundable", "ch_3SkZ"),
        ("refundable", "py_3SkZ"),
    ],
)
def test_an_id_has_the_form_of_its_kind(form: str, good: str) -> None:
    """Every other thing's id, a path and a line break are refused."""
    assert Reader({"x": good}).id("x", form) == good
    for bad in ("", "ch", good[:3], f"{good}\n", f"{good}/refunds", f"re_{good}", f"{good}?a=1", "x" * 300):
        reader = Reader({"x": bad})
        reader.id("x", form)
        assert _rules(reader) == [("/x", "format")]


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("2026-01-01", 1_767_225_600),
        ("2026-01-01T00:00:00Z", 1_767_225_600),
        ("2026-01-01T01:00:00+01:00", 1_767_225_600),
        ("2026-01-01T00:00:00.900Z", 1_767_225_600),
        ("1970-01-01", 0),
        (None, None),
    ],
)
def test_a_moment_is_a_date_or_a_time_with_its_zone(said: str | None, seconds: int | None) -> None:
    """In seconds since the epoch."""
    reader = Reader({"x": said})
    assert reader.seconds("x") == seconds
    assert reader.checked({}) == {}


@pytest.mark.parametrize(
    "said", ["", "now", "2026-01-01T00:00:00", "2026-13-01", "1969-12-31", "0001-01-01T00:00:00+14:00", "٢٠٢٦-01-01"]
)
def test_what_is_no_moment_is_refused(said: str) -> None:
    """A time without a zone could mean any of two dozen."""
    reader = Reader({"x": said})
    assert reader.seconds("x") is None
    assert _rules(reader) == [("/x", "date-time")]


@pytest.mark.parametrize("said", ["ann@corp.example", "Ann.Lee+x@Corp.example", "o'neil@a-b.example"])
def test_an_address_stays_as_it_is(said: str) -> None:
    """Stripe tells capitals apart."""
    assert Reader({"x": said}).email("x") == said


@pytest.mark.parametrize(
    "said",
    ["", "ann", "a@b@c", "a b@corp.example", "a@corp.example\r\nx", "a@-x", "a..b@corp.example", "<a@b.c>, d@e.f"],
)
def test_what_is_no_one_address_is_refused(said: str) -> None:
    """Two are none either."""
    reader = Reader({"x": said})
    reader.email("x")
    assert _rules(reader) == [("/x", "email")]


def test_amounts_currencies_limits_and_words() -> None:
    """Those that are taken, and those that are not; every issue comes at once."""
    good = Reader({"a": 1, "b": MAX_AMOUNT, "c": "USD", "d": "open", "limit": 100})
    assert [good.amount("a"), good.amount("b"), good.currency("c"), good.limit(20, 100)] == [1, MAX_AMOUNT, "usd", 100]
    assert good.word("d", ("open",)) == "open"
    bad = Reader({"a": 0, "b": MAX_AMOUNT + 1, "c": "dollars", "d": "shut", "limit": 101})
    _read: list[Any] = [
        bad.amount("a"),
        bad.amount("b"),
        bad.currency("c"),
        bad.word("d", ("open",)),
        bad.limit(20, 100),
    ]
    assert _rules(bad) == [
        ("/a", "range"),
        ("/b", "range"),
        ("/c", "currency"),
        ("/d", "enum"),
        ("/limit", "range"),
    ]
