"""The operation `search`."""

from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.imap import VALIDITY, ImapServer, imap_server
from fakes.smtp import PASSWORD

from adapters.base import AdapterError, ArgumentProblem, ErrorKind, Happened, Invocation, Output, Secret, Target
from adapters.email.adapter import EmailAdapter
from adapters.email.searching import prepare_search


async def search(server: ImapServer, arguments: dict[str, Any] | None = None, **options: Any) -> Output:
    """Look for something."""
    clock = FakeClock(sleeps_pass=True)
    target = Target(name="mail", hosts=("127.0.0.1",), options=server.options | options)
    invocation = Invocation(
        arguments=prepare_search(arguments or {}),
        target=target,
        credential=Secret(PASSWORD),
        deadline=clock.monotonic() + 5,
        effect_id="eff_1",
    )
    return await EmailAdapter(clock, chance=lambda: 0.0).operations["search"].invoke(invocation)


def mails(count: int) -> list[bytes]:
    """So many messages."""
    return [f"From: ann@corp.example\nSubject: Mail {number}\n\nHi\n".encode() for number in range(1, count + 1)]


def asked(server: ImapServer) -> list[bytes]:
    """The searches, in pieces."""
    (told,) = (told for told in server.told if b"SEARCH" in told[0])
    return told


def test_prepare_tells_policy_what_is_looked_for() -> None:
    """Everything is there, None for what is not."""
    assert prepare_search({"text": " two  words two ", "from": "Ann", "folder": "inbox"}) == {
        "folder": "INBOX",
        "from": "Ann",
        "to": None,
        "subject": None,
        "text": "two  words two",
        "words": ["two", "words"],
        "since": None,
        "before": None,
        "unseen": False,
        "limit": 20,
        "cursor": None,
        "page": None,
    }
    assert prepare_search(dict.fromkeys(("from", "folder", "unseen", "limit", "cursor"))) == prepare_search({})


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"folder": "a*"}, "/folder"),
        ({"folder": "a\r\nT9 LOGOUT"}, "/folder"),
        ({"folder": ""}, "/folder"),
        ({"from": "a\r\nT9 LOGOUT"}, "/from"),
        ({"to": "x" * 201}, "/to"),
        ({"subject": "\0"}, "/subject"),
        ({"text": " ".join(map(str, range(11)))}, "/text"),
        ({"since": "01-Jan-2026"}, "/since"),
        ({"since": "20260101"}, "/since"),
        ({"before": "2026-13-01"}, "/before"),
        ({"limit": 0}, "/limit"),
        ({"limit": 51}, "/limit"),
        ({"cursor": "no cursor"}, "/cursor"),
    ],
)
def test_what_cannot_be_looked_for_is_a_problem_of_the_arguments(changes: dict[str, Any], path: str) -> None:
    """At its place, and alone."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_search(changes)
    assert [issue.path for issue in caught.value.issues] == [path]


async def test_the_newest_come_first_a_page_at_a_time() -> None:
    """Until there are no more, each message once."""
    async with imap_server() as server:
        server.keep(*mails(5))
        subjects, cursor = [], None
        for _ in range(3):
            output = await search(server, {"limit": 2, "cursor": cursor})
            subjects.append([mail["subject"] for mail in output.structured["messages"]])
            cursor = output.structured["next_cursor"]
    assert subjects == [["Mail 5", "Mail 4"], ["Mail 3", "Mail 2"], ["Mail 1"]]
    assert cursor is None


async def test_a_page_asks_only_for_what_is_older() -> None:
    """And believes no server that sends something else."""
    async with imap_server() as server:
        server.keep(*mails(4))
        first = await search(server, {"limit": 2})
        server.told.clear()
        second = await search(server, {"limit": 2, "cursor": first.structured["next_cursor"]})
    assert asked(server) == [b"UID SEARCH UNDELETED UID 1:2"]
    assert [mail["subject"] for mail in second.structured["messages"]] == ["Mail 2", "Mail 1"]


async def test_a_folder_that_was_made_anew_has_other_messages() -> None:
    """A cursor into the old one leads nowhere."""
    async with imap_server() as server:
        server.keep(*mails(4))
        first = await search(server, {"limit": 2})
        server.validity += 1
        with pytest.raises(AdapterError) as caught:
            await search(server, {"limit": 2, "cursor": first.structured["next_cursor"]})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.CONFLICT, Happened.NO)


async def test_everything_that_is_given_has_to_hold() -> None:
    """Each word as a string of its own."""
    given = {"from": 'a"b\\', "to": "bo", "subject": "an offer", "text": "next week", "unseen": True}
    async with imap_server() as server:
        server.keep(*mails(1))
        await search(server, given | {"since": "2026-02-01", "before": "2026-03-15"})
    words = b'FROM "a\\"b\\\\" TO "bo" SUBJECT "an offer" TEXT "next" TEXT "week"'
    assert asked(server) == [b"UID SEARCH UNDELETED UNSEEN SINCE 1-Feb-2026 BEFORE 15-Mar-2026 " + words]


async def test_words_beyond_ascii_go_as_literals() -> None:
    """In UTF-8, said so."""
    async with imap_server() as server:
        await search(server, {"subject": "Grüße", "folder": "INBOX"})
    assert asked(server) == [b"UID SEARCH CHARSET UTF-8 UNDELETED SUBJECT {7}", "Grüße".encode(), b""]


async def test_a_folder_is_opened_for_reading_alone() -> None:
    """Under its name in modified UTF-7, and nothing is marked."""
    async with imap_server() as server:
        server.folders[b"Entw&APw-rfe"] = {}
        server.keep(*mails(1), folder=b"Entw&APw-rfe")
        output = await search(server, {"folder": "Entwürfe"})
    assert output.structured["messages"][0]["id"] == f"{VALIDITY}:1:Entwürfe"
    assert [told[0] for told in server.told if b"EXAMINE" in told[0]] == [b'EXAMINE "Entw&APw-rfe"']
    fetches = [told[0] for told in server.told if b"FETCH" in told[0]]
    assert fetches
    assert all(b"BODY[" not in told for told in fetches)
    assert not {"SELECT", "STORE", "APPEND", "EXPUNGE"} & set(server.commands)


async def test_what_is_told_of_a_message() -> None:
    """The sender's words as they are, and what the server knows by itself."""
    raw = (
        b"Authentication-Results: mx.corp.example; dmarc=pass header.from=shop.example\n"
        b"From: Shop <news@shop.example>\nTo: Bot <bot@corp.example>\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n"
        b"Date: Thu, 01 Jan 2026 10:00:00 +0100\nMessage-ID: <1@shop.example>\n\nHi\n"
    )
    async with imap_server() as server:
        server.keep(raw)
        server.folders[b"INBOX"][1].flags = b"\\Answered \\Seen"
        trusting = await search(server, authserv_id="mx.corp.example")
        plain = await search(server)
    assert trusting.structured["messages"] == [
        {
            "id": f"{VALIDITY}:1:INBOX",
            "from": "Shop <news@shop.example>",
            "from_address": "news@shop.example",
            "attested_domain": "shop.example",
            "to": "Bot <bot@corp.example>",
            "subject": "Grüße",
            "date": "2026-01-01T09:00:00+00:00",
            "message_id": "<1@shop.example>",
            "received_at": "2026-01-01T09:00:00+00:00",
            "is_seen": True,
            "size_bytes": len(raw.replace(b"\n", b"\r\n")),
        }
    ]
    assert plain.structured["messages"][0]["attested_domain"] is None


async def test_nothing_found_is_an_empty_list() -> None:
    """And nothing is fetched."""
    async with imap_server() as server:
        output = await search(server)
    assert output.structured == {"messages": [], "next_cursor": None}
    assert output.receipt == "Found 0 messages."
    assert "FETCH" not in server.commands


async def test_messages_that_went_meanwhile_are_left_out() -> None:
    """The list goes on after them."""
    async with imap_server() as server:
        server.keep(*mails(4))
        server.found = [2, 3, 9]
        output = await search(server, {"limit": 2})
    assert [mail["subject"] for mail in output.structured["messages"]] == ["Mail 3"]
    assert output.structured["next_cursor"] is not None
