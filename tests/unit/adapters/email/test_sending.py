"""What an agent gives to `send`."""

import base64
from typing import Any

import pytest
from fakes.clock import START

from adapters.base import AdapterError, ArgumentProblem, ErrorKind, Happened, Target
from adapters.email.account import read_account
from adapters.email.sending import envelope_of, prepare_send

BASE: dict[str, Any] = {"to": ["ann@corp.example"], "subject": "Hello", "text": "Hi"}
FILE = {"filename": "a.pdf", "content_type": "application/pdf", "content_base64": base64.b64encode(b"%PDF").decode()}


def issues_of(**changes: Any) -> list[tuple[str, str]]:
    """Path and rule of every issue that the arguments have."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_send(BASE | changes)
    return [(issue.path, issue.rule) for issue in caught.value.issues]


def test_prepare_gives_the_canonical_form() -> None:
    """Lists keep their order, `recipients` is sorted and unique, line breaks are one line feed."""
    prepared = prepare_send(
        BASE
        | {
            "to": ["B <Bo@Bücher.example>", "ann@corp.example"],
            "cc": ["ANN@corp.example"],
            "subject": " Hello ",
            "text": "a\r\nb\rc",
        }
    )
    assert prepared == {
        "to": ["Bo@xn--bcher-kva.example", "ann@corp.example"],
        "cc": ["ANN@corp.example"],
        "bcc": [],
        "recipients": ["ann@corp.example", "bo@xn--bcher-kva.example"],
        "subject": "Hello",
        "text": "a\nb\nc",
        "html": None,
        "reply_to": None,
        "attachments": [],
        "in_reply_to": None,
        "references": [],
    }


def test_prepare_is_pure() -> None:
    """It changes nothing, and its own output is a fixed point."""
    arguments = BASE | {"to": ["Ann <ann@corp.example>"], "html": "<p>", "reply_to": "Help <help@corp.example>"}
    arguments |= {"attachments": [FILE], "in_reply_to": " <1@corp.example> ", "references": ["<0@corp.example>"]}
    before = repr(arguments)
    prepared = prepare_send(arguments)
    assert repr(arguments) == before
    assert prepare_send(prepared) == prepared
    assert prepared["reply_to"] == "help@corp.example"


def test_null_is_as_good_as_absent() -> None:
    """Strict-mode models send every key."""
    names = ("cc", "bcc", "html", "reply_to", "attachments", "in_reply_to", "references")
    assert prepare_send(BASE | dict.fromkeys(names)) == prepare_send(BASE)


def test_every_issue_is_reported_at_its_place() -> None:
    """An agent can correct all of them at once."""
    found = issues_of(to=["ok@corp.example", "a@b.example,c@d.example"], cc=["no"], reply_to="x", subject="", text="\0")
    assert found == [
        ("/to/1", "one_address"),
        ("/cc/0", "address"),
        ("/subject", "length"),
        ("/text", "control_character"),
        ("/reply_to", "address"),
    ]


def test_limits() -> None:
    """Fifty recipients over all lists, 200 characters of subject, at least one in `to`."""
    many = [f"a{index}@corp.example" for index in range(26)]
    assert issues_of(to=many, cc=many[:25]) == [("/to", "max_recipients")]
    assert len(prepare_send(BASE | {"to": many, "cc": many[:24]})["recipients"]) == 26
    assert issues_of(subject="x" * 201) == [("/subject", "length")]
    assert issues_of(to=[], cc=["ann@corp.example"]) == [("/to", "min_items")]


def test_ids_of_what_is_answered_are_checked_one_by_one() -> None:
    """Each at its place, and not too many."""
    bad = "<1@corp.example>\r\nBcc: x@evil.test"
    assert issues_of(in_reply_to=bad, references=["<0@corp.example>", "no id"]) == [
        ("/in_reply_to", "control_character"),
        ("/references/1", "message_id"),
    ]
    assert issues_of(references=["<1@corp.example>"] * 61) == [("/references", "max_items")]


def test_an_envelope_is_what_was_prepared() -> None:
    """Recipients with their places; the sender is the account's."""
    options = {"host": "localhost", "port": 25, "tls": "none", "username": "bot", "from": "Bot@corp.example"}
    account = read_account(Target(name="mail", hosts=("localhost",), options=options))
    prepared = prepare_send(BASE | {"to": ["Ann@corp.example"], "bcc": ["bo@corp.example", "ann@corp.example"]})
    envelope = envelope_of(prepared, account, "eff_1", START)
    assert str(envelope.sender) == "Bot@corp.example"
    assert envelope.recipients == ("ann@corp.example", "bo@corp.example")
    assert envelope.pointers == {"ann@corp.example": "/to/0", "bo@corp.example": "/bcc/0"}
    assert b"bo@corp.example" not in envelope.message


def test_an_account_that_only_reads_does_not_send() -> None:
    """And says what is missing."""
    options = {"imap_host": "localhost", "imap_port": 143, "imap_tls": "none", "username": "bot"}
    account = read_account(Target(name="mail", hosts=("localhost",), options=options))
    with pytest.raises(AdapterError) as caught:
        envelope_of(prepare_send(BASE), account, "eff_1", START)
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert "from" in caught.value.message
