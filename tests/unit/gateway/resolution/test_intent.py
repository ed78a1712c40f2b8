"""What the row of an unknown effect tells of it."""

import pytest
from fakes.unresolved import intent

from gateway.resolution.intent import Told, read_intent


def test_an_intent_tells_of_its_effect() -> None:
    """In the words of an audit line."""
    told = read_intent(intent(approval_id="a1", decision="allow"))
    assert (told.tool, told.agent, told.run_id, told.connection) == ("pay", "helper", "r1", "bank")
    assert (told.approval_id, told.key_digest) == ("a1", "kd")
    assert told.account.startswith("sha256:")


@pytest.mark.parametrize("raw", [b"", b"\xff", b"[]", b"7", b'{"tool": 7, "agent": null}', b"{"])
def test_what_cannot_be_read_is_empty(raw: bytes) -> None:
    """The effect can be listed and settled by a person all the same."""
    assert read_intent(raw) == Told()


def test_arguments_are_not_shown_by_accident() -> None:
    """They may be long."""
    assert "amount" not in repr(read_intent(intent()))
