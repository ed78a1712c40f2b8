"""Message-IDs."""

import re

import pytest

from adapters.email.addresses import Address
from adapters.email.identifiers import MAX_LENGTH, NotAnId, message_id, parse_id

SENDER = Address("bot", "corp.example")


def test_another_effect_has_another_message_id() -> None:
    """The id is the effect's, at the sender's domain, and does not show the effect's own id."""
    assert message_id("eff_1", SENDER) != message_id("eff_2", SENDER)
    assert re.fullmatch(r"<[0-9a-f]{32}@corp\.example>", message_id("eff_1", SENDER))


@pytest.mark.parametrize(
    "entry",
    ["<1@corp.example>", "<CAF+x=y_z-1.2@mail.gmail.example>", "<a$b@[192.0.2.1]>", "<AM0PR@x.prod.outlook.example>"],
)
def test_an_id_stays_as_it_is(entry: str) -> None:
    """Spaces around it are dropped."""
    assert parse_id(f" {entry} ") == entry


@pytest.mark.parametrize(
    "entry",
    [
        "",
        "1@corp.example",
        "<corp.example>",
        "<1@corp.example",
        "<1@corp.example> <2@corp.example>",
        "<1@corp.example>,<2@corp.example>",
        "<1 2@corp.example>",
        "<1@corp.example>\r\nBcc: x@evil.test",
        "<1\0@corp.example>",
        "<ü@corp.example>",
        '<"a b"@corp.example>',
        "<(c)@corp.example>",
        "<=?utf-8?q?a?=@corp.example>",
        f"<{'x' * MAX_LENGTH}@corp.example>",
    ],
)
def test_g17_what_is_not_exactly_one_id_is_refused(entry: str) -> None:
    """It would be a header of its own, or name another message."""
    with pytest.raises(NotAnId) as caught:
        parse_id(entry)
    assert caught.value.rule
    assert caught.value.message
