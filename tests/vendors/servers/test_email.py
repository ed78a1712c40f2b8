"""Mail at servers that nobody here wrote: what is sent by SMTP is found and read by IMAP."""

import base64
import imaplib
import itertools
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Any

import pytest
from real.mail import PASSWORD, USERNAME, MailAccount
from real.smtp import MAX_MESSAGE_BYTES

from adapters.base import AdapterError, ErrorKind, Finding, Happened, Invocation, Output, Secret, Target
from adapters.email.adapter import EmailAdapter
from adapters.email.addresses import parse_address
from adapters.email.identifiers import message_id
from gateway.clock import SystemClock

_EFFECTS = itertools.count()
PDF = base64.b64encode(b"%PDF-1.7 " + bytes(range(256)) * 20).decode()


def invocation(
    mail: MailAccount, prepared: dict[str, Any], *, effect: str = "", password: str = PASSWORD, **options: Any
) -> Invocation:
    """One attempt with the account."""
    told = mail.options | options
    return Invocation(
        arguments=prepared,
        target=Target(name="mail", account="acme/mail", hosts=("localhost",), options=told),
        credential=Secret(password),
        deadline=SystemClock.monotonic() + 10,
        effect_id=effect or f"effect-{next(_EFFECTS)}",
    )


async def ask(mail: MailAccount, operation: str, arguments: dict[str, Any], **more: Any) -> Output:
    """Prepare and carry out."""
    one = EmailAdapter(SystemClock()).operations[operation]
    output = await one.invoke(invocation(mail, one.prepare(arguments), **more))
    mail.dovecot.own()
    return output


async def refused(mail: MailAccount, operation: str, arguments: dict[str, Any], **more: Any) -> AdapterError:
    """What it ends with; nothing happened."""
    with pytest.raises(AdapterError) as caught:
        await ask(mail, operation, arguments, **more)
    assert caught.value.happened is Happened.NO
    return caught.value


@contextmanager
def client(mail: MailAccount) -> Iterator[imaplib.IMAP4]:
    """Python's own client, signed in."""
    context = ssl.create_default_context(cafile=str(mail.options["ca_file"]))
    other = imaplib.IMAP4_SSL("localhost", mail.dovecot.tls_port, ssl_context=context)
    try:
        other.authenticate("PLAIN", lambda _: f"\0{USERNAME}\0{PASSWORD}".encode())
        yield other
    finally:
        other.logout()


def keep(mail: MailAccount, *messages: bytes, folder: str = "INBOX") -> None:
    """Put messages into a folder that is made if need be."""
    with client(mail) as other:
        other.create(folder)
        for message in messages:
            assert other.append(folder, "", "", message.replace(b"\n", b"\r\n"))[0] == "OK"


async def found(mail: MailAccount, **arguments: Any) -> list[dict[str, Any]]:
    """The messages that a search lists."""
    messages: list[dict[str, Any]] = (await ask(mail, "search", arguments)).structured["messages"]
    return messages


@pytest.mark.proves("email", "send", "success")
@pytest.mark.proves("email", "search", "success")
@pytest.mark.proves("email", "read_message", "success")
async def test_what_is_sent_is_found_and_read(mail: MailAccount) -> None:
    """Text, file, thread and sender, each as it was given."""
    sent = await ask(
        mail,
        "send",
        {
            "to": ["Ann <ann@corp.example>"],
            "bcc": ["hidden@corp.example"],
            "subject": "Angebot für Jürgen 🎉",
            "text": "Grüße\r\n.\r\nAnn",
            "html": "<p>Grüße</p>",
            "attachments": [
                {"filename": "Größe 1.pdf", "content_type": "application/pdf", "content_base64": PDF},
            ],
            "in_reply_to": "<1@corp.example>",
            "references": ["<0@corp.example>", "<1@corp.example>"],
        },
    )
    (listed,) = await found(mail, subject="Angebot für", **{"from": USERNAME}, to="ann@corp", text="Grüße Ann")
    letter = (await ask(mail, "read_message", {"id": listed["id"]})).structured
    assert letter["message_id"] == listed["message_id"] == sent.structured["message_id"]
    assert (letter["subject"], letter["text"]) == ("Angebot für Jürgen 🎉", "Grüße\n.\nAnn")
    assert (letter["from_address"], letter["to"]) == (USERNAME, "ann@corp.example")
    assert (letter["in_reply_to"], letter["references"]) == (
        "<1@corp.example>",
        ["<0@corp.example>", "<1@corp.example>"],
    )
    ((name, kind, size),) = (file.values() for file in letter["attachments"])
    assert (name, kind) == ("Größe 1.pdf", "application/pdf")
    assert abs(size - len(base64.b64decode(PDF))) < 10
    assert letter["is_seen"] is False


@pytest.mark.proves("email", "send", "failure")
async def test_mail_that_is_refused_is_not_sent(mail: MailAccount) -> None:
    """For the password, and for its size."""
    plain = {"to": ["ann@corp.example"], "subject": "Refused", "text": "x"}
    error = await refused(mail, "send", plain, password="wrong password")
    assert error.kind is ErrorKind.NEEDS_AUTHORISATION
    content = base64.b64encode(b"x" * MAX_MESSAGE_BYTES).decode()
    file = {"filename": "big.bin", "content_type": "application/octet-stream", "content_base64": content}
    assert (await refused(mail, "send", plain | {"attachments": [file]})).kind is ErrorKind.TOO_LARGE
    assert await found(mail, subject="Refused") == []


@pytest.mark.proves("email", "search", "paging")
async def test_a_list_is_paged_newest_first(mail: MailAccount) -> None:
    """Each message once, though another comes in between."""
    keep(mail, *(f"Subject: Number {number}\n\nx\n".encode() for number in range(7)), folder="Paged")
    subjects, cursor = [], None
    while True:
        page = (await ask(mail, "search", {"folder": "Paged", "limit": 3, "cursor": cursor})).structured
        subjects += [message["subject"] for message in page["messages"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
        keep(mail, b"Subject: Late\n\nx\n", folder="Paged")
    assert subjects == [f"Number {number}" for number in range(6, -1, -1)]


@pytest.mark.proves("email", "search", "failure")
async def test_what_cannot_be_searched_is_refused(mail: MailAccount) -> None:
    """A folder that is not there, and a password that is not right."""
    error = await refused(mail, "search", {"folder": 'No "such" \\ Ordner ü & x'})
    assert error.kind is ErrorKind.NOT_FOUND
    assert (await refused(mail, "search", {}, password="wrong")).kind is ErrorKind.NEEDS_AUTHORISATION


@pytest.mark.proves("email", "read_message", "failure")
async def test_a_message_that_is_gone_is_not_found(mail: MailAccount) -> None:
    """Nor is one of a folder that was made anew."""
    keep(mail, b"Subject: One\n\nx\n", folder="Going")
    (listed,) = await found(mail, folder="Going")
    validity, _, rest = listed["id"].partition(":")
    assert (await refused(mail, "read_message", {"id": f"{int(validity) - 1}:{rest}"})).kind is ErrorKind.NOT_FOUND
    with client(mail) as other:
        other.select("Going")
        other.store("1", "+FLAGS", "\\Deleted")
        assert await found(mail, folder="Going") == []
        other.expunge()
    assert (await refused(mail, "read_message", {"id": listed["id"]})).kind is ErrorKind.NOT_FOUND


async def test_reading_leaves_no_trace(mail: MailAccount) -> None:
    """A message is as unread as it was, and is found as such."""
    keep(mail, b"Subject: Quiet\n\nx\n", folder="Quiet")
    (listed,) = await found(mail, folder="Quiet", unseen=True)
    await ask(mail, "read_message", {"id": listed["id"]})
    with client(mail) as other:
        other.select("Quiet", readonly=True)
        assert other.fetch("1", "(FLAGS)")[1] == [b"1 (FLAGS (\\Recent))"] or other.fetch("1", "(FLAGS)")[1] == [
            b"1 (FLAGS ())"
        ]
        other.select("Quiet")
        other.store("1", "+FLAGS", "\\Seen")
    assert await found(mail, folder="Quiet", unseen=True) == []
    assert (await found(mail, folder="Quiet"))[0]["is_seen"] is True


async def test_a_folder_has_its_own_name(mail: MailAccount) -> None:
    """Beyond ASCII too, and days count."""
    with client(mail) as other:
        other.create('"Entw&APw-rfe R&-D"')
    keep(mail, b"Subject: Draft\n\nx\n", folder='"Entw&APw-rfe R&-D"')
    assert [one["subject"] for one in await found(mail, folder="Entwürfe R&D", since="2026-01-01")] == ["Draft"]
    assert await found(mail, folder="Entwürfe R&D", before="2026-01-01") == []


async def test_words_of_an_agent_are_words_and_not_commands(mail: MailAccount) -> None:
    """Whatever signs are in them."""
    keep(mail, b'Subject: a"b\\c {5} (x) %* NIL\n\nx\n', folder="Signs")
    for subject in ('a"b\\c', "{5}", "(x)", "%*", "NIL"):
        assert len(await found(mail, folder="Signs", subject=subject)) == 1
    assert await found(mail, folder="Signs", subject='" ALL "') == []


async def test_strange_mail_is_read_as_far_as_it_goes(mail: MailAccount) -> None:
    """Deep, wide, without end, without sense."""
    deep = b"x"
    for level in range(60):
        boundary = b"b%d" % level
        inner = b"Content-Type: multipart/mixed; boundary=b%d\n\n" % (level - 1) if level else b"\n"
        deep = b"--" + boundary + b"\n" + inner + deep + b"\n--" + boundary + b"--\n"
    wide = b"--w\nContent-Type: application/x\n\nx\n" * 300 + b"--w--\n"
    strange = (
        b"Subject: Deep\nContent-Type: multipart/mixed; boundary=b59\n\n" + deep,
        b"Subject: Wide\nContent-Type: multipart/mixed; boundary=w\n\n" + wide,
        b"Subject: Broken\nContent-Type: text/plain; charset=x\nContent-Transfer-Encoding: base64\n\n===\xff\xfe%%\n",
        b"Subject: Bytes\nFrom: \xff\xfe <x\n\n\x80\x81\n",
        b"Subject: =?utf-8?b?////?=\nContent-Type: multipart/alternative\n\nno boundary\n",
        b"X: " + b"y" * 200_000 + b"\nSubject: Far down\n\nx\n",
        b"\n",
    )
    keep(mail, *strange, folder="Strange")
    for listed in await found(mail, folder="Strange", limit=50):
        letter = (await ask(mail, "read_message", {"id": listed["id"]})).structured
        assert len(letter["attachments"]) <= 100
    assert len(await found(mail, folder="Strange", limit=50)) == len(strange)


async def test_a_large_message_is_read_without_its_files(mail: MailAccount) -> None:
    """No more is fetched than is wanted."""
    message = EmailMessage()
    message["Subject"] = "Large"
    message.set_content("word " * 40_000)
    message.add_attachment(b"x" * 20_000_000, maintype="application", subtype="zip", filename="large.zip")
    keep(mail, message.as_bytes(), folder="Large")
    (listed,) = await found(mail, folder="Large")
    output = await ask(mail, "read_message", {"id": listed["id"], "max_bytes": 1000})
    assert output.structured["text"].startswith("word word")
    assert output.structured["is_cut"] is True
    assert output.cut is not None
    assert output.cut.read_bytes == 1000
    assert abs(output.structured["attachments"][0]["size_bytes"] - 20_000_000) < 1000


@pytest.mark.parametrize("tls", ["implicit", "starttls"])
async def test_both_ways_to_encrypt(mail: MailAccount, tls: str) -> None:
    """The server lets nobody sign in in the clear."""
    port = mail.dovecot.tls_port if tls == "implicit" else mail.dovecot.port
    output = await ask(mail, "search", {}, imap_port=port, imap_tls=tls)
    assert output.attempts == 1


async def test_what_became_of_a_message_is_seen_in_the_folder_of_sent_mail(mail: MailAccount) -> None:
    """It is there under the id of its effect, or nobody knows."""
    sender = parse_address(USERNAME)
    keep(mail, f"Message-ID: {message_id('kept', sender)}\n\nx\n".encode(), folder="Sent")
    operation = EmailAdapter(SystemClock()).operations["send"]
    prepared = operation.prepare({"to": ["ann@corp.example"], "subject": "x", "text": "x"})
    assert operation.reconcile is not None
    findings = [await operation.reconcile(invocation(mail, prepared, effect=effect)) for effect in ("kept", "lost")]
    assert findings == [Finding.DONE, Finding.STILL_UNKNOWN]
