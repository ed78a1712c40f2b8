"""From prepared arguments to bytes."""

import re
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from fakes.clock import START

from adapters.email.addresses import Address
from adapters.email.identifiers import message_id
from adapters.email.message import MAX_MESSAGE_BYTES, Unwritable, build_message, dot_stuffed
from adapters.email.sending import prepare_send

SENDER = Address("bot", "corp.example")
FILE = {"filename": "a.txt", "content_type": "text/plain", "content_base64": "SGkK"}


def build(**changes: Any) -> bytes:
    """The bytes for some arguments."""
    arguments = {"to": ["ann@corp.example"], "subject": "Hello", "text": "Hi"} | changes
    return build_message(prepare_send(arguments), SENDER, "eff_1", START)


def test_the_headers_are_those_of_the_prepared_arguments() -> None:
    """From, To, Cc, Reply-To, Subject, Date and Message-ID are there; Bcc is not."""
    raw = build(cc=["Bo@Corp.example"], bcc=["hidden@corp.example"], reply_to="help@corp.example", subject="Grüße 🎉")
    message = message_from_bytes(raw, policy=default)
    assert message["From"] == "bot@corp.example"
    assert message["To"] == "ann@corp.example"
    assert message["Cc"] == "Bo@corp.example"
    assert message["Reply-To"] == "help@corp.example"
    assert message["Subject"] == "Grüße 🎉"
    assert message["Date"] == "Thu, 01 Jan 2026 00:00:00 +0000"
    assert message["Message-ID"] == message_id("eff_1", SENDER)
    assert b"hidden" not in raw


def test_the_same_effect_gives_the_same_bytes() -> None:
    """Nothing in a message is random, its boundary included."""
    more = {"html": "<p>Hi</p>", "attachments": [FILE]}
    assert build(**more) == build(**more)


def test_html_is_an_alternative_to_the_text() -> None:
    """Both parts arrive as they were given."""
    message = message_from_bytes(build(text="Grüße", html="<p>Grüße</p>"), policy=default)
    plain, html = message.get_body(("plain",)), message.get_body(("html",))
    assert plain is not None
    assert plain.get_content().strip() == "Grüße"
    assert html is not None
    assert html.get_content().strip() == "<p>Grüße</p>"


@pytest.mark.parametrize(
    "text",
    ["a\n.\nb", "a\r\n.\r\nb", "a\r.\rb", "a\n.\r\nb", ".", "..", "\n.\n", ".\nQUIT\n", "ü\r.\r\nMAIL FROM:<x@y.z>"],
)
def test_no_text_can_end_the_data_early(text: str) -> None:
    """Every line break on the wire is CRLF, and the end mark stands at the very end alone (no smuggling)."""
    wire = dot_stuffed(build(text=text))
    assert not re.search(rb"(?<!\r)\n|\r(?!\n)", wire)
    assert wire.find(b"\r\n.\r\n") == len(wire) - 5
    sent = re.sub(rb"(?m)^\.", b"", wire[:-3])
    plain = message_from_bytes(sent, policy=default).get_content().replace("\r\n", "\n")
    assert plain.rstrip("\n") == text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def test_long_lines_and_any_script_travel_as_seven_bits() -> None:
    """No line is longer than SMTP allows, whatever the text."""
    raw = build(text="ü" * 5000 + "\n" + "x" * 5000, subject="ü" * 200, to=[f"{'a' * 64}@{'b' * 63}.example"] * 30)
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 998
    message = message_from_bytes(raw, policy=default)
    assert message["Subject"] == "ü" * 200
    assert [address.addr_spec for address in message["To"].addresses] == [f"{'a' * 64}@{'b' * 63}.example"] * 30


@pytest.mark.parametrize("subject", ["Hi\r\nBcc: x@evil.test", "Hi\nBcc: x@evil.test", "Hi\rBcc: x@evil.test"])
def test_a_line_break_that_came_past_prepare_is_still_refused(subject: str) -> None:
    """The message builder does not trust its input either."""
    prepared = prepare_send({"to": ["ann@corp.example"], "subject": "Hello", "text": "Hi"}) | {"subject": subject}
    with pytest.raises(Unwritable):
        build_message(prepared, SENDER, "eff_1", START)


def test_a_file_of_text_travels_as_bytes() -> None:
    """Its line breaks are its own."""
    message = message_from_bytes(build(attachments=[FILE]), policy=default)
    (part,) = message.iter_attachments()
    assert (part.get_content_type(), part.get_payload(decode=True)) == ("text/plain", b"Hi\n")


@pytest.mark.parametrize("name", ["a b.pdf", "ü.pdf", "日本語.pdf", "x" * 146 + ".pdf", "it's %41.pdf", "a;b=c.pdf"])
def test_a_filename_is_what_it_was(name: str) -> None:
    """However it has to be written (RFC 2231), and always in one header."""
    raw = build(attachments=[FILE | {"filename": name}])
    (part,) = message_from_bytes(raw, policy=default).iter_attachments()
    assert part.get_filename() == name
    assert raw.count(b"Content-Disposition: attachment") == 1


def test_ids_of_a_thread_stay_as_they_are() -> None:
    """However long they are: an encoded one would name nothing."""
    ids = [f"<{'x' * 200}{index}@corp.example>" for index in range(30)]
    raw = build(in_reply_to=ids[-1], references=ids)
    assert raw.startswith(b"In-Reply-To: " + ids[-1].encode() + b"\r\nReferences: " + ids[0].encode() + b"\r\n <")
    assert message_from_bytes(raw)["References"].split() == ids
    assert b"References: <1@b.example>\r\n" in build(in_reply_to="<1@b.example>")


def test_a_message_has_a_largest_size() -> None:
    """Whatever went past the limits of its parts."""
    with pytest.raises(Unwritable):
        build(text="x" * MAX_MESSAGE_BYTES)


@pytest.mark.parametrize("value", ["<1@b.example>\r\nBcc: x@evil.test", "<1@b.example>\nX: y"])
def test_an_id_with_a_line_break_that_came_past_prepare_is_still_refused(value: str) -> None:
    """The message builder does not trust its input either."""
    prepared = prepare_send({"to": ["ann@corp.example"], "subject": "Hello", "text": "Hi"})
    for changes in ({"in_reply_to": value}, {"references": [value]}):
        with pytest.raises(Unwritable):
            build_message(prepared | changes, SENDER, "eff_1", START)


def test_a_thread_needs_no_message_that_is_answered() -> None:
    """References alone, however many, are a header of their own."""
    raw = build(references=["<0@b.example>", "<1@b.example>"])
    assert raw.startswith(b"References: <0@b.example>\r\n <1@b.example>\r\n")
    assert b"In-Reply-To" not in raw
