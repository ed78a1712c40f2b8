"""What is kept of a parked call comes back as it was, or not at all."""

import json
from dataclasses import replace

import pytest
from fakes.approvals import parked
from fakes.clock import FakeClock
from fakes.executions import TERMS
from fakes.principals import principal

from gateway.approvals.kept import KeptUnreadable, asked_of, question, read_asked, read_principal, read_question
from gateway.call import CallerKind, Request

PARKED = parked(FakeClock())
REQUEST = Request(
    tool="send",
    arguments_json='{ "text": "h\u00e9" }'.encode(),
    idempotency_key="key-1",
    run_id="r",
    step_id="s",
    mode="m",
)


def test_the_request_comes_back_as_it_was_asked() -> None:
    """To the byte; what its caller was willing to wait is over."""
    asked = read_asked(asked_of(replace(PARKED, request=replace(REQUEST, timeout_seconds=3.0))))
    assert asked.request == REQUEST
    assert asked.canonical == PARKED.arguments.canonical
    assert asked.reasons == PARKED.decision.reasons


@pytest.mark.parametrize("kind", CallerKind)
def test_the_principal_comes_back_whole(kind: CallerKind) -> None:
    """Every field, as policy saw it: a field that policy does not see would be lost here."""
    who = principal(kind=kind, claims={"team": ["a", {"b": 1}]}, proof="jwt", roles=frozenset({"x", "y"}))
    found = read_principal(who.policy_json)
    assert found == who
    assert found.policy_json == who.policy_json


def test_the_question_holds_no_words() -> None:
    """Policy's messages may quote the arguments, and this is not sealed."""
    raw = question(PARKED, TERMS)
    found = read_question(raw)
    assert (found.terms, found.risk, found.codes) == (TERMS, "low", ("high_risk",))
    assert b"High risk" not in raw


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"{}", b'{"format":2}', b"\xff", b'"x"'])
def test_other_bytes_are_unreadable_and_not_quoted(raw: bytes) -> None:
    """By every reader."""
    for read in (read_asked, read_principal, read_question):
        with pytest.raises(KeptUnreadable) as caught:
            read(raw)
        assert caught.value.__cause__ is None


def test_a_call_of_another_format_is_unreadable() -> None:
    """Nothing is guessed."""
    kept = json.loads(asked_of(PARKED))
    with pytest.raises(KeptUnreadable):
        read_asked(json.dumps(kept | {"format": 2}).encode())
    kept["request"]["arguments"] = "no base64"
    with pytest.raises(KeptUnreadable):
        read_asked(json.dumps(kept).encode())
