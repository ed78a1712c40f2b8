"""From prepared arguments to bytes."""

import re
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from fakes.clock import START

from adapters.email.adapter import prepare_send
from adapters.email.addresses import Address
from adapters.email.message import Unwritable, build_message, dot_stuffed, message_id

SENDER = Address("bot", "corp.example")


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
    assert build(html="<p>Hi</p>") == build(html="<p>Hi</p>")


def test_another_effect_has_another_message_id() -> None:
    """The id is the effect's, at the sender's domain, and does not show the effect's own id."""
    assert message_id("eff_1", SENDER) != message_id("eff_2", SENDER)
    assert re.fullmatch(r"<[0-9a-f]{32}@corp\.example>", message_id("eff_1", SENDER))


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
