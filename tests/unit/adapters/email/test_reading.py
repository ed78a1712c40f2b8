"""The operation `read_message`."""

import re
from email.message import EmailMessage
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.imap import VALIDITY, ImapServer, imap_server
from fakes.smtp import PASSWORD

from adapters.base import AdapterError, ArgumentProblem, Cut, ErrorKind, Happened, Invocation, Output, Secret, Target
from adapters.email.adapter import EmailAdapter
from adapters.email.reading import prepare_read


async def read(server: ImapServer, uid: int = 1, *, max_bytes: int | None = None, **options: Any) -> Output:
    """Read a message of the inbox."""
    clock = FakeClock(sleeps_pass=True)
    target = Target(name="mail", hosts=("127.0.0.1",), options=server.options | options)
    invocation = Invocation(
        arguments=prepare_read({"id": f"{VALIDITY}:{uid}:INBOX", "max_bytes": max_bytes}),
        target=target,
        credential=Secret(PASSWORD),
        deadline=clock.monotonic() + 5,
        effect_id="eff_1",
    )
    return await EmailAdapter(clock, chance=lambda: 0.0).operations["read_message"].invoke(invocation)


def letter() -> EmailMessage:
    """A message with everything."""
    message = EmailMessage()
    message["From"] = "Ann <ann@corp.example>"
    message["Subject"] = "An offer"
    message["Message-ID"] = "<2@corp.example>"
    message["In-Reply-To"] = "<1@corp.example>"
    message["References"] = "<0@corp.example> <1@corp.example>"
    message.set_content("Grüße\nAnn\n")
    message.add_alternative("<p>Grüße</p><p>Ann</p>", subtype="html")
    message.add_attachment(b"x" * 1000, maintype="application", subtype="pdf", filename="offer.pdf")
    return message


def test_prepare_takes_the_id_apart() -> None:
    """So that policy can judge the folder."""
    assert prepare_read({"id": "7:42:Sent"}) == {
        "id": "7:42:Sent",
        "folder": "Sent",
        "uid_validity": 7,
        "uid": 42,
        "max_bytes": 100_000,
    }
    for arguments in ({"id": "42"}, {"id": "7:42:Sent", "max_bytes": 0}, {"id": "7:42:Sent", "max_bytes": 500_001}):
        with pytest.raises(ArgumentProblem):
            prepare_read(arguments)


async def test_a_message_is_read_as_a_person_would_see_it() -> None:
    """Its plain text, who it says it is from, and the list of its files."""
    async with imap_server() as server:
        server.keep(letter().as_bytes())
        output = await read(server)
    told = output.structured
    assert (told["text"], told["text_format"], told["is_cut"]) == ("Grüße\nAnn", "plain", False)
    assert (told["from"], told["from_address"]) == ("Ann <ann@corp.example>", "ann@corp.example")
    assert (told["in_reply_to"], told["references"]) == ("<1@corp.example>", ["<0@corp.example>", "<1@corp.example>"])
    ((name, kind, size),) = (file.values() for file in told["attachments"])
    assert (name, kind) == ("offer.pdf", "application/pdf")
    assert 980 <= size <= 1020
    assert output.cut is None
    assert (told["attested_domain"], told["authentication"]) == (None, None)


async def test_nothing_is_marked() -> None:
    """The folder is open for reading alone, every part is peeked at, and files are not fetched."""
    async with imap_server() as server:
        server.keep(letter().as_bytes())
        await read(server)
    assert server.commands[:5] == ["CAPABILITY", "AUTHENTICATE", "EXAMINE", "FETCH", "FETCH"]
    first, second = (told[0] for told in server.told if b"FETCH" in told[0])
    assert b"BODY[" not in first
    assert re.fullmatch(rb"UID FETCH 1 \(UID BODY\.PEEK\[1\.1\]<0\.\d+>\)", second)


async def test_html_becomes_text() -> None:
    """When there is nothing else."""
    message = EmailMessage()
    message.set_content("<p>Hello</p><script>x</script><p style='display:none'>secret</p>", subtype="html")
    async with imap_server() as server:
        server.keep(message.as_bytes())
        output = await read(server)
    assert (output.structured["text"], output.structured["text_format"]) == ("Hello", "html")


async def test_a_long_text_is_cut_and_said_to_be() -> None:
    """The server is asked for no more than is wanted."""
    async with imap_server() as server:
        server.keep(b"Subject: Long\n\n" + b"x" * 60 + b"\n")
        output = await read(server, max_bytes=10)
    assert (output.structured["text"], output.structured["is_cut"]) == ("x" * 10, True)
    assert output.cut == Cut(read_bytes=10, seen_bytes=62)
    assert any(b"<0.10>" in told[0] for told in server.told)


async def test_a_server_that_sends_more_than_was_asked_for_is_cut() -> None:
    """To what was wanted."""
    async with imap_server() as server:
        server.keep(b"Subject: Long\n\n" + b"x" * 60 + b"\n")
        server.says["FETCH"] = lambda _tag: (
            b'* 1 FETCH (UID 1 BODYSTRUCTURE ("text" "plain" NIL NIL NIL "7bit" 900 9) BODY[HEADER]<0> {2}\r\n\r\n'
            b" BODY[1]<0> {900}\r\n" + b"y" * 900 + b")\r\n{tag} OK\r\n"
        )
        output = await read(server, max_bytes=10)
    assert output.structured["text"] == "y" * 10


async def test_a_message_that_is_gone_is_not_found() -> None:
    """Nor is one of a folder that was made anew."""
    async with imap_server() as server:
        server.keep(letter().as_bytes())
        for uid, validity in ((9, VALIDITY), (1, VALIDITY + 1)):
            server.validity = validity
            with pytest.raises(AdapterError) as caught:
                await read(server, uid)
            assert (caught.value.kind, caught.value.happened) == (ErrorKind.NOT_FOUND, Happened.NO)


async def test_the_receiving_servers_word_is_told_where_it_counts() -> None:
    """By the option that names it."""
    results = b"Authentication-Results: mx.corp.example; spf=pass; dmarc=pass header.from=a.example\n"
    raw = results + b"From: x@a.example\n\nHi\n"
    async with imap_server() as server:
        server.keep(raw)
        told = (await read(server, authserv_id="mx.corp.example")).structured
    assert told["authentication"] == {"dmarc": "pass", "dkim": None, "spf": "pass"}
    assert told["attested_domain"] == "a.example"


@pytest.mark.parametrize(
    "structure",
    [
        b"NIL",
        b"()",
        b"(NIL NIL)",
        b'("text")',
        b'("text" "plain" NIL NIL NIL "base64" "x" NIL)',
        b"(" * 30 + b'"text" "plain"' + b")" * 30,
        b"(" + b'("text" "plain" NIL NIL NIL "7bit" 5 1)' * 300 + b' "mixed")',
        b'("application" "x" ("name*0*" "utf-8\'\'%FF%00") NIL NIL NIL 99999999999999999999)',
    ],
    ids=range(8),
)
async def test_a_strange_structure_is_read_as_far_as_it_goes(structure: bytes) -> None:
    """Never a crash, and never more parts than there is room for."""
    async with imap_server() as server:
        server.keep(b"Subject: Odd\n\nHi\n")
        server.folders[b"INBOX"][1].structure = structure
        told = (await read(server)).structured
    assert told["subject"] == "Odd"
    assert len(told["attachments"]) <= 100


async def test_a_text_of_too_many_tags_is_said_to_be_cut() -> None:
    """What comes after them is not read."""
    async with imap_server() as server:
        server.keep(b"Content-Type: text/html\n\n" + b"<b>" * 110_000 + b"not read\n")
        told = (await read(server, max_bytes=400_000)).structured
    assert (told["text"], told["is_cut"]) == ("", True)


async def test_what_nobody_sees_in_a_text_is_left_out() -> None:
    """Neither in plain text nor in HTML."""
    for kind, hidden in (("plain", "\U000e0041\u202e"), ("html", "&#917569;&#8238;")):
        message = EmailMessage()
        message.set_content(f"Hello{hidden} Ann", subtype=kind)
        async with imap_server() as server:
            server.keep(message.as_bytes())
            assert (await read(server)).structured["text"] == "Hello Ann"


async def test_a_strange_number_in_html_is_no_crash() -> None:
    """Python refuses to read so many digits."""
    async with imap_server() as server:
        server.keep(b"Content-Type: text/html\n\n<p>Hello &#" + b"9" * 5000 + b"; Ann</p>\n")
        assert (await read(server)).structured["text"] == "Hello \ufffd Ann"
