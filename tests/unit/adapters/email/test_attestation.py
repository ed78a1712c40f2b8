"""Who sent a message, as far as the receiving server vouches for it."""

import time

import pytest

from adapters.email.attestation import attested
from adapters.email.headers import read_header

GOOD = b"mx.corp.example; dkim=pass header.d=shop.example; spf=fail; dmarc=pass (p=REJECT) header.from=shop.example"


def told(*fields: bytes, sender: bytes = b"Shop <news@shop.example>", name: str | None = "mx.corp.example") -> object:
    """What is attested of a message with these fields."""
    lines = [b"Authentication-Results: " + field for field in fields]
    found = attested(read_header(b"\r\n".join([*lines, b"From: " + sender])), name)
    return (found.results, found.domain) if found else None


def test_the_named_servers_word_counts() -> None:
    """Each method's result, and the domain that DMARC passed for."""
    results = {"dmarc": "pass", "dkim": "pass", "spf": "fail"}
    assert told(GOOD) == (results, "shop.example")
    assert told(GOOD.upper(), name="MX.corp.example") == (results, "shop.example")


def test_without_a_name_nobodys_word_counts() -> None:
    """Nor that of another server, nor of one further down."""
    assert told(GOOD, name=None) is None
    assert told(GOOD, name="mx.other.example") is None
    assert told(b"mx.evil.test; dmarc=fail", GOOD) is None
    assert told() is None


@pytest.mark.parametrize(
    "sender",
    [b"x@evil.test", b'"news@shop.example" <x@evil.test>', b"news@shop.example, x@evil.test", b"", b"a@b.shop.example"],
)
def test_a_pass_for_another_sender_vouches_for_nobody(sender: bytes) -> None:
    """DMARC passed for the domain that it names, and for no other."""
    assert told(GOOD, sender=sender) == ({"dmarc": "pass", "dkim": "pass", "spf": "fail"}, None)


@pytest.mark.parametrize(
    "field",
    [
        b"mx.corp.example; dmarc=fail header.from=shop.example",
        b"mx.corp.example; dmarc=pass header.from=shop.example; dmarc=fail header.from=shop.example",
        b"mx.corp.example; dmarc=fail; dmarc=pass header.from=shop.example",
        b"mx.corp.example; dmarc=passed header.from=shop.example",
        b'mx.corp.example; spf=pass smtp.mailfrom="; dmarc=pass header.from=shop.example"@evil.test',
        b"mx.corp.example; spf=none (; dmarc=pass header.from=shop.example) smtp.mailfrom=evil.test",
        b"mx.corp.example; spf=none (a (b) ; dmarc=pass header.from=shop.example)",
        b"mx.corp.example; dmarc=pass header.from=shop.example header.from=evil.test",
        b"mx.corp.example; dmarc=pass xheader.from=shop.example",
        b"mx.corp.example; dmarc=pass",
        b'mx.corp.example; spf=pass smtp.helo=a" smtp.mailfrom="; dmarc=pass header.from=shop.example; "@evil.test',
        b"mx.corp.example",
        b"mx.corp.example.evil.test; dmarc=pass header.from=shop.example",
        b";;;",
        b"",
        b"\xff\xfe",
    ],
)
def test_a_senders_words_in_the_field_attest_nothing(field: bytes) -> None:
    """Quoted words and comments are no results, and two results of one method are none."""
    found = told(field)
    assert found is None or found[1] is None  # type: ignore[index]


@pytest.mark.parametrize("piece", [b"(", b'"', b'"\\', b"a=b ", b"((()", b"; dmarc=pass ", b" header.from=", b";"])
def test_a_strange_field_takes_no_longer_than_it_is_long(piece: bytes) -> None:
    """Whoever writes it, and whatever it attests."""
    begun = time.perf_counter()
    told(b"mx.corp.example; " + piece * (16_000 // len(piece)))
    assert time.perf_counter() - begun < 1.0


def test_a_domain_is_never_vouched_for_by_the_beginning_of_another() -> None:
    """Whoever signs often enough decides how long the server's field is, and where it would be cut."""
    for size in (*range(16_280, 16_310), 70_000):
        results = b"mx.corp.example; dkim=pass (" + b"a" * size + b"); dmarc=pass header.from=shop.example.evil.test"
        sender = b" " * 16_364 + b"x@shop.example.evil.test"
        found = told(results, sender=sender)
        assert found is None or found[1] in (None, "shop.example.evil.test")  # type: ignore[index]


def test_a_second_sender_out_of_sight_is_vouched_for_by_nobody() -> None:
    """What was cut off may say who it is from as well."""
    raw = b"Authentication-Results: " + GOOD + b"\r\nFrom: news@shop.example\r\nTo: " + b"x@a.example, " * 50
    found = attested(read_header(raw, 400), "mx.corp.example")
    assert found is not None
    assert (found.results["dmarc"], found.domain) == ("pass", None)
