"""The header of a mail."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.email.headers import MAX_FIELDS, MAX_IDS, MAX_SHOWN, read_header, shown


def test_fields_are_unfolded_and_decoded() -> None:
    """In one line, whatever the sender's program wrote."""
    header = read_header(
        b"Subject: =?utf-8?q?Gr=C3=BC?=\r\n =?utf-8?b?w59l?= from\r\n\tBerlin\r\n"
        b"From: =?iso-8859-1?Q?J=FCrgen?= <ann@corp.example>\r\nTO: a@b.example\r\n\r\nbody: x\r\n"
    )
    assert header.text("subject") == "Grüße from Berlin"
    assert header.text("from") == "Jürgen <ann@corp.example>"
    assert (header.text("to"), header.text("body")) == ("a@b.example", None)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"plain", "plain"),
        ("roh: Grüße".encode(), "roh: Grüße"),
        ("Grüße".encode("latin-1"), "Grüße"),
        (b"=?x-unknown?q?a=20b?=", "a b"),
        (b"=?utf-8?b?!!!?=", ""),
        (b"=?utf-8?q?a=0D=0ABcc:_x?=", "a Bcc: x"),
        (b"=?utf-8?q?=E2=80=AEtxt.exe?=", "txt.exe"),
        (b"=?utf-8*de?q?a?=", "a"),
        (b"=?broken", "=?broken"),
    ],
)
def test_words_are_shown_as_one_line(value: bytes, text: str) -> None:
    """Nothing in them can break a line or turn the direction of writing."""
    assert shown(value) == text


def test_a_long_value_is_cut() -> None:
    """Before a model reads it."""
    assert len(shown(b"x" * 100_000)) == MAX_SHOWN


@pytest.mark.parametrize(
    ("raw", "address"),
    [
        (b"From: ann@corp.example", "ann@corp.example"),
        (b"From: Ann <Ann@Corp.example>", "Ann@corp.example"),
        (b'From: "Lee, Ann" <ann@corp.example>', "ann@corp.example"),
        (b"From: =?utf-8?q?=C3=84nn?= <ann@corp.example>", "ann@corp.example"),
        ("From: Änn <ann@corp.example>".encode(), "ann@corp.example"),
        (b'From: "ceo@corp.example" <x@evil.test>', None),
        (b"From: ann@corp.example <x@evil.test>", None),
        (b"From: ann@corp.example, x@evil.test", None),
        (b"From: a <ann@corp.example> <x@evil.test>", None),
        (b"From: ann@corp.example\r\nFrom: x@evil.test", None),
        (b"From: ", None),
        (b"To: ann@corp.example", None),
    ],
)
def test_an_address_is_told_when_there_is_exactly_one_way_to_read_it(raw: bytes, address: str | None) -> None:
    """A name that looks like an address makes it two."""
    found = read_header(raw).address("from")
    assert (str(found) if found else None) == address


def test_ids_and_moments() -> None:
    """As many ids as there is room for; a date that is none is none."""
    header = read_header(b"References: <1@a.example> x\r\n <2@a.example>\r\nDate: Thu, 01 Jan 2026 10:00:00 +0100\r\n")
    assert header.ids("references") == ["<1@a.example>", "<2@a.example>"]
    assert header.moment("date") == "2026-01-01T09:00:00+00:00"
    assert len(read_header(b"References: " + b"<1@a.example> " * 999).ids("references")) == MAX_IDS
    for value in (b"soon", b"", b"Thu, 01 Jan 99999 10:00:00 +0100", b"Thu, 99 Foo 2026 10:00:00 +9999", b"\xff"):
        assert read_header(b"Date: " + value).moment("date") is None


def test_the_number_of_fields_is_bounded() -> None:
    """However many there are."""
    assert len(read_header(b"A: b\r\n" * 10_000).fields) == MAX_FIELDS


@given(st.binary(max_size=400))
def test_no_header_is_a_crash(raw: bytes) -> None:
    """Whatever bytes it is of."""
    header = read_header(b"From: " + raw)
    for text in (header.text("from"), header.moment("from"), str(header.address("from")), *header.ids("from")):
        assert text is None or text.isprintable()


def test_a_header_that_was_cut_names_no_address() -> None:
    """The field that the cut went through may go on, and there may be a second sender below it."""
    raw = b"Subject: Hi\r\nFrom: x@shop.example"
    cut = read_header(raw + b".evil.test\r\n\r\n", len(raw))
    assert (cut.text("subject"), cut.text("from"), cut.address("from")) == ("Hi", None, None)
    below = read_header(b"From: x@shop.example\r\nTo: " + b"a@b.example, " * 100, 500)
    assert (below.text("from"), below.address("from"), below.is_whole) == ("x@shop.example", None, False)
    whole = read_header(raw + b"\r\n\r\nbody", len(raw) + 4)
    assert (str(whole.address("from")), whole.is_whole) == ("x@shop.example", True)


def test_more_fields_than_are_looked_at_may_hold_another_sender() -> None:
    """So that nobody is named."""
    raw = b"From: x@shop.example\r\n" + b"A: b\r\n" * MAX_FIELDS + b"From: x@evil.test\r\n"
    assert read_header(raw).address("from") is None


@pytest.mark.parametrize("padding", [b" " * 2000, b" " * 20_000, b"x" * 20_000])
def test_an_address_is_never_the_beginning_of_one(padding: bytes) -> None:
    """However long what stands before it is."""
    for name in (padding, b'"' + padding + b'"'):
        address = read_header(b"From: " + name + b" <x@shop.example.evil.test>").address("from")
        assert address is None or address.domain == "shop.example.evil.test"


@pytest.mark.parametrize(
    "name",
    [b"=?utf-8?q?ceo=40corp.example?=", b"=?utf-8?b?Y2VvQGNvcnAuZXhhbXBsZQ==?=", "ceo\uff20corp.example".encode()],
)
def test_a_name_that_is_read_as_an_address_makes_it_two(name: bytes) -> None:
    """However it is encoded."""
    assert read_header(b"From: " + name + b" <x@evil.test>").address("from") is None


def test_a_moment_whose_zone_nobody_knows_is_of_utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not of wherever this runs."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        told = read_header(b"Date: Thu, 01 Jan 2026 10:00:00 -0000").moment("date")
    finally:
        monkeypatch.undo()
        time.tzset()
    assert told == "2026-01-01T10:00:00+00:00"
