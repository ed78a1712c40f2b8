"""The email adapter, from an agent's arguments to a mailbox."""

from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes
from email.policy import default
from importlib.resources import files
from pathlib import Path
from typing import Any, get_type_hints

import jsonschema_rs
import pytest
import trustme
import yaml
from fakes.clock import FakeClock
from fakes.imap import ImapServer, imap_server
from fakes.smtp import PASSWORD, USERNAME, SmtpServer, smtp_server

from adapters.base import (
    AdapterError,
    ArgumentProblem,
    ErrorKind,
    Finding,
    Happened,
    Invocation,
    Output,
    Secret,
    SideEffect,
    Target,
)
from adapters.email.adapter import EmailAdapter
from adapters.email.addresses import Address
from adapters.email.attempts import MAX_CONNECTS
from adapters.email.identifiers import message_id
from adapters.email.proof import plain
from adapters.email.reading import ReadArguments
from adapters.email.searching import SearchArguments
from adapters.email.sending import SendArguments, prepare_send

BASE: dict[str, Any] = {"to": ["ann@corp.example"], "subject": "Hello", "text": "Hi"}
FILE = {"filename": "a.pdf", "content_type": "application/pdf", "content_base64": "JVBERi0="}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SmtpServer]:
    """A server that asks for STARTTLS and a password."""
    with smtp_server(tmp_path) as running:
        yield running


def invocation(server: SmtpServer, arguments: dict[str, Any], clock: FakeClock, **changes: Any) -> Invocation:
    """One attempt to send the arguments through the server."""
    fields: dict[str, Any] = {
        "arguments": prepare_send(arguments),
        "target": Target(name="mail", hosts=("localhost", "127.0.0.1"), options=server.options),
        "credential": Secret(PASSWORD),
        "deadline": clock.monotonic() + 20,
        "effect_id": "eff_1",
    }
    return Invocation(**(fields | changes))


async def send(server: SmtpServer, arguments: dict[str, Any], **changes: Any) -> Output:
    """Send, with a clock whose sleeps pass at once."""
    clock = FakeClock(sleeps_pass=True)
    operation = EmailAdapter(clock, chance=lambda: 1.0).operations["send"]
    return await operation.invoke(invocation(server, arguments, clock, **changes))


async def test_what_policy_saw_is_what_the_server_gets(server: SmtpServer) -> None:
    """The envelope is `recipients`, address for address; bcc is in no header."""
    arguments = BASE | {"to": ["Ann <Ann@Corp.example>"], "cc": ["bo@corp.example"], "bcc": ["cy@corp.example"]}
    prepared = prepare_send(arguments)
    output = await send(server, arguments)
    assert prepared["recipients"] == ["ann@corp.example", "bo@corp.example", "cy@corp.example"]
    assert list(server.mailbox[0].recipients) == prepared["recipients"]
    message = message_from_bytes(server.mailbox[0].content, policy=default)
    assert message["Bcc"] is None
    assert b"cy@" not in server.mailbox[0].content
    assert output.structured == {"message_id": message["Message-ID"], "accepted": 3}
    assert output.receipt == f"Sent mail to 3 recipients (message id {message['Message-ID']})."


@pytest.mark.parametrize(
    "changes",
    [
        {"subject": "Hi\r\nBcc: x@evil.test"},
        {"subject": "Hi\nBcc: x@evil.test"},
        {"subject": "Hi\rBcc: x@evil.test"},
        {"subject": "Hi\0"},
        {"subject": "=?utf-8?q?Hi=0D=0ABcc:_x@evil.test?="},
        {"to": ["ok@corp.example, x@evil.test"]},
        {"to": ['"x@evil.test" <ok@corp.example>']},
        {"to": ["=?utf-8?q?a=0D=0ABcc:_x@evil.test?= <ok@corp.example>"]},
        {"to": ["ok@corp.example\r\nRCPT TO:<x@evil.test>"]},
        {"reply_to": "ok@corp.example\r\nBcc: x@evil.test"},
        {"reply_to": "ok@corp.example, x@evil.test"},
        {"in_reply_to": "<1@corp.example>\r\nBcc: x@evil.test"},
        {"in_reply_to": "<1@corp.example> <2@corp.example>"},
        {"references": ["<1@corp.example>\nBcc: x@evil.test"]},
        {"references": ["<1@corp.example>\x85Bcc: x@evil.test"]},
        {"references": ["=?utf-8?q?<1=0D=0ABcc:_x@evil.test>?="]},
        {"attachments": [FILE | {"filename": "a.pdf\r\nBcc: x@evil.test"}]},
        {"attachments": [FILE | {"filename": 'a.pdf"; filename="b.exe'}]},
        {"attachments": [FILE | {"filename": "=?utf-8?q?a=0D=0ABcc:_x@evil.test?="}]},
        {"attachments": [FILE | {"filename": "../../etc/passwd"}]},
        {"attachments": [FILE | {"content_type": "text/html\r\nBcc: x@evil.test"}]},
        {"attachments": [FILE | {"content_type": 'text/html; name="b.exe"'}]},
        {"attachments": [FILE | {"content_base64": "JVBERi0=\r\n\r\n--x"}]},
    ],
)
async def test_g17_no_header_injection_and_no_second_recipient(server: SmtpServer, changes: dict[str, Any]) -> None:
    """The server sees nothing at all."""
    with pytest.raises(ArgumentProblem):
        await send(server, BASE | changes)
    assert not server.connections
    assert not server.mailbox


async def test_g17_text_cannot_smuggle_a_second_message(server: SmtpServer) -> None:
    """An end mark inside the text is text."""
    text = "a\r\n.\r\nMAIL FROM:<bot@corp.example>\r\nRCPT TO:<x@evil.test>\r\nDATA\r\nx\r\n.\r\n"
    await send(server, BASE | {"text": text})
    assert [mail.recipients for mail in server.mailbox] == [("ann@corp.example",)]


async def test_g17_text_cannot_smuggle_in_a_part(server: SmtpServer) -> None:
    """Whoever knows the boundary of a message cannot add a file that policy did not see."""
    await send(server, BASE | {"attachments": [FILE]})
    boundary = message_from_bytes(server.mailbox[0].content).get_boundary()
    text = f"--{boundary}\r\nContent-Type: application/x-msdownload\r\n\r\nMZ\r\n"
    with pytest.raises(AdapterError) as caught:
        await send(server, BASE | {"attachments": [FILE], "text": text})
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.INVALID, Happened.NO)
    assert len(server.mailbox) == 1


async def test_files_and_threads_arrive(server: SmtpServer) -> None:
    """With the bytes, the name and the type that policy saw."""
    name = "Bericht für Jürgen, 日本語 " + "x" * 80 + ".pdf"
    content = bytes(range(256)) * 40
    file = {"filename": name, "content_type": "application/pdf", "content_base64": b64encode(content).decode()}
    threads = {"in_reply_to": "<1@corp.example>", "references": ["<0@corp.example>", "<1@corp.example>"]}
    await send(server, BASE | {"html": "<p>Hi</p>", "attachments": [file, FILE]} | threads)
    message = message_from_bytes(server.mailbox[0].content, policy=default)
    first, second = message.iter_attachments()
    assert (first.get_filename(), first.get_content_type(), first.get_content()) == (name, "application/pdf", content)
    assert (second.get_filename(), second.get_content()) == ("a.pdf", b"%PDF-")
    assert (message["In-Reply-To"], message["References"].split()) == (threads["in_reply_to"], threads["references"])


async def test_connecting_is_tried_three_times(server: SmtpServer) -> None:
    """With pauses in between, and the error says how often."""
    server.faults.banner = "421 busy"
    with pytest.raises(AdapterError) as caught:
        await send(server, BASE)
    assert (caught.value.attempts, len(server.connections)) == (MAX_CONNECTS, MAX_CONNECTS)
    assert caught.value.happened is Happened.NO


async def test_a_later_attempt_can_succeed(server: SmtpServer) -> None:
    """The output says how many attempts it took."""
    server.faults.banner = "421 busy"

    class Mending(FakeClock):
        """While it sleeps, the server recovers."""

        async def sleep(self, seconds: float) -> None:
            """Return at once."""
            server.faults.banner = ""
            await super().sleep(seconds)

    clock = Mending(sleeps_pass=True)
    adapter = EmailAdapter(clock, chance=lambda: 0.5)
    output = await adapter.operations["send"].invoke(invocation(server, BASE, clock))
    assert output.attempts == 2
    assert clock.slept == [0.25]
    assert len(server.mailbox) == 1


async def test_a_server_that_keeps_failing_is_left_alone_for_a_while(server: SmtpServer) -> None:
    """After five failed messages none is tried; after a while one may try, and mail goes on."""
    clock = FakeClock(sleeps_pass=True)
    send = EmailAdapter(clock, chance=lambda: 1.0).operations["send"].invoke
    server.faults.banner = "421 busy"
    kinds = []
    for _ in range(7):
        with pytest.raises(AdapterError) as caught:
            await send(invocation(server, BASE, clock))
        kinds.append(caught.value.kind)
    assert kinds == [ErrorKind.UNAVAILABLE] * 5 + [ErrorKind.CIRCUIT_OPEN] * 2
    assert caught.value.happened is Happened.NO
    server.faults.banner = ""
    clock.advance(31)
    assert (await send(invocation(server, BASE, clock))).structured["accepted"] == 1


async def test_no_pause_reaches_past_the_deadline(server: SmtpServer) -> None:
    """There is no sense in waiting for an attempt that has no time."""
    server.faults.banner = "421 busy"
    clock = FakeClock(sleeps_pass=True)
    adapter = EmailAdapter(clock, chance=lambda: 1.0)
    with pytest.raises(AdapterError) as caught:
        await adapter.operations["send"].invoke(invocation(server, BASE, clock, deadline=clock.monotonic() + 0.4))
    assert (caught.value.attempts, clock.slept) == (1, [])


@pytest.mark.parametrize("step", ["data", "body", "mail"])
async def test_nothing_after_connecting_is_repeated(server: SmtpServer, step: str) -> None:
    """A send that began is never begun again by itself."""
    setattr(server.faults, step, "451 later")
    with pytest.raises(AdapterError) as caught:
        await send(server, BASE)
    assert (caught.value.attempts, len(server.connections)) == (1, 1)


async def test_no_credential_means_no_connection(server: SmtpServer) -> None:
    """It is refused before anything is opened."""
    with pytest.raises(AdapterError) as caught:
        await send(server, BASE, credential=None)
    assert caught.value.kind is ErrorKind.NEEDS_AUTHORISATION
    assert not server.connections


async def test_a_target_that_is_wrong_is_an_adapter_error(server: SmtpServer) -> None:
    """Though the registry should have refused it."""
    with pytest.raises(AdapterError) as caught:
        await send(server, BASE, target=Target(name="mail", hosts=(), options=server.options))
    assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


async def test_authorities_that_cannot_be_read_are_an_adapter_error(server: SmtpServer, tmp_path: Path) -> None:
    """A missing or broken file is refused, and the machine's own list does not take its place."""
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    for ca_file in (str(tmp_path / "absent.pem"), str(broken)):
        target = Target(name="mail", hosts=("localhost",), options=server.options | {"ca_file": ca_file})
        with pytest.raises(AdapterError) as caught:
            await send(server, BASE, target=target)
        assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)


async def test_a_new_file_of_authorities_is_read(server: SmtpServer) -> None:
    """A rotated authority works without a restart."""
    clock = FakeClock()
    adapter = EmailAdapter(clock)
    good = server.ca_file.read_bytes()
    trustme.CA().cert_pem.write_to_path(str(server.ca_file))
    with pytest.raises(AdapterError):
        await adapter.operations["send"].invoke(invocation(server, BASE, clock))
    server.ca_file.write_bytes(good)
    assert (await adapter.operations["send"].invoke(invocation(server, BASE, clock))).attempts == 1


async def test_the_environment_cannot_read_along(
    server: SmtpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`SSLKEYLOGFILE` gets no keys and `SSL_CERT_FILE` makes nobody trusted."""
    monkeypatch.setenv("SSLKEYLOGFILE", str(tmp_path / "keys"))
    monkeypatch.setenv("SSL_CERT_FILE", str(server.ca_file))
    await send(server, BASE)
    assert not (tmp_path / "keys").exists()
    options = {key: value for key, value in server.options.items() if key != "ca_file"}
    with pytest.raises(AdapterError) as caught:
        await send(server, BASE, target=Target(name="mail", hosts=("localhost",), options=options))
    assert caught.value.happened is Happened.NO


def test_check_target_says_what_is_wrong(server: SmtpServer) -> None:
    """Nothing for a good target, a sentence for each problem of a bad one."""
    adapter = EmailAdapter(FakeClock())
    assert adapter.check_target(Target(name="mail", hosts=("localhost",), options=server.options)) == []
    assert len(adapter.check_target(Target(name="mail", hosts=("localhost",), options={}))) == 5


async def test_one_operation_sends_and_two_read() -> None:
    """All need a credential. Closing, twice, is harmless."""
    adapter = EmailAdapter(FakeClock())
    effects = {name: operation.side_effect for name, operation in adapter.operations.items()}
    assert effects == {"send": SideEffect.SEND, "search": SideEffect.READ, "read_message": SideEffect.READ}
    assert all(operation.needs_credential for operation in adapter.operations.values())
    assert adapter.operations["send"].reconcile is not None
    await adapter.close()
    await adapter.close()


async def read(server: ImapServer, name: str, arguments: dict[str, Any], **changes: Any) -> Output:
    """Carry out an operation that reads."""
    clock = FakeClock(sleeps_pass=True)
    operation = EmailAdapter(clock, chance=lambda: 1.0).operations[name]
    return await operation.invoke(reading(server, operation.prepare(arguments), clock, **changes))


def reading(server: ImapServer, prepared: dict[str, Any], clock: FakeClock, **options: Any) -> Invocation:
    """One attempt to read through the server."""
    target = Target(name="mail", hosts=("127.0.0.1", "localhost"), options=server.options | options)
    return Invocation(
        arguments=prepared,
        target=target,
        credential=Secret(PASSWORD),
        deadline=clock.monotonic() + 5,
        effect_id="eff_1",
    )


async def test_every_operation_tells_what_it_made_of_the_credential(server: SmtpServer) -> None:
    """Before a server could repeat it."""
    clock, learned = FakeClock(sleeps_pass=True), list[str]()
    adapter = EmailAdapter(clock)
    note = lambda secret: learned.append(secret.reveal())  # noqa: E731
    await adapter.operations["send"].invoke(replace(invocation(server, BASE, clock), learn=note))
    assert plain(USERNAME, PASSWORD) in learned
    learned.clear()
    async with imap_server() as mailbox:
        search = adapter.operations["search"]
        await search.invoke(replace(reading(mailbox, search.prepare({}), clock), learn=note))
    assert plain(USERNAME, PASSWORD) in learned


async def test_a_message_is_found_and_read() -> None:
    """What a search finds can be read by its id."""
    async with imap_server() as server:
        server.keep(b"From: ann@corp.example\nSubject: Hi\n\nHello\n")
        found = await read(server, "search", {})
        (message,) = found.structured["messages"]
        letter = await read(server, "read_message", {"id": message["id"]})
    assert (found.receipt, found.attempts, found.structured["next_cursor"]) == ("Found 1 message.", 1, None)
    assert letter.structured["text"] == "Hello"
    assert letter.receipt == "Read one message with 0 attachments."


async def test_reading_is_tried_again_when_there_was_no_connection() -> None:
    """Three times, like sending."""
    async with imap_server() as server:
        server.says["GREETING"] = b"* BYE busy\r\n"
        with pytest.raises(AdapterError) as caught:
            await read(server, "search", {})
    assert (caught.value.attempts, server.connections) == (MAX_CONNECTS, MAX_CONNECTS)


async def test_an_account_that_only_sends_is_not_read(server: SmtpServer) -> None:
    """Nobody is asked, however often it is tried."""
    clock = FakeClock(sleeps_pass=True)
    search = EmailAdapter(clock).operations["search"]
    for _ in range(7):
        with pytest.raises(AdapterError) as caught:
            await search.invoke(invocation(server, BASE, clock))
        assert (caught.value.kind, caught.value.happened) == (ErrorKind.UNAVAILABLE, Happened.NO)
    assert "imap_host" in caught.value.message


SENDS = {"host": "127.0.0.1", "port": 25, "tls": "none", "from": "bot@corp.example"}


async def reconciled(server: ImapServer, **options: Any) -> Finding:
    """What became of a message, as the mailbox tells."""
    clock = FakeClock(sleeps_pass=True)
    operation = EmailAdapter(clock).operations["send"]
    assert operation.reconcile is not None
    return await operation.reconcile(reading(server, prepare_send(BASE), clock, **SENDS, **options))


async def test_a_message_that_is_in_the_folder_of_sent_mail_was_sent() -> None:
    """It is looked for by the Message-ID that its effect has. That it is not there proves nothing."""
    sought = message_id("eff_1", Address("bot", "corp.example"))
    async with imap_server() as server:
        server.keep(f"Message-ID: {sought}\n\nHi".encode(), folder=b"Sent")
        assert await reconciled(server, sent_folder="Sent") is Finding.DONE
        server.found = []
        assert await reconciled(server, sent_folder="Sent") is Finding.STILL_UNKNOWN
    assert [told for told in server.told if b"SEARCH" in told[0]] == 2 * [
        [f'UID SEARCH HEADER "Message-ID" "{sought}"'.encode()]
    ]


async def test_without_a_folder_of_sent_mail_nobody_is_asked() -> None:
    """It stays unknown what became of the message."""
    async with imap_server() as server:
        assert await reconciled(server) is Finding.STILL_UNKNOWN
    assert server.connections == 0


def test_the_rows_agree_with_the_code() -> None:
    """Each schema has exactly the arguments' keys, is closed, and names an operation that exists."""
    rows = yaml.safe_load(files("adapters.email").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    types = {"send": SendArguments, "search": SearchArguments, "read_message": ReadArguments}
    assert {row["binding"]["operation"] for row in rows} == set(types)
    for row in rows:
        kind, schema = types[row["binding"]["operation"]], row["input_schema"]
        assert set(schema["properties"]) == set(get_type_hints(kind))
        assert set(schema.get("required", ())) == kind.__required_keys__
        assert schema["additionalProperties"] is False
        assert row["output_schema"]["additionalProperties"] is False


async def test_outputs_keep_to_their_rows() -> None:
    """Every property is there, and none beside."""
    rows = yaml.safe_load(files("adapters.email").joinpath("tools.yaml").read_text("utf-8"))["tools"]
    schemas = {row["binding"]["operation"]: row["output_schema"] for row in rows}
    async with imap_server() as server:
        server.keep(b"From: =?utf-8?q?=C3=84nn?= <ann@corp.example>\n\nHello\n", b"\n\n", b"nothing that is mail")
        found = await read(server, "search", {})
        told = [await read(server, "read_message", {"id": mail["id"]}) for mail in found.structured["messages"]]
    jsonschema_rs.validator_for(schemas["search"]).validate(found.structured)
    assert len(told) == 3
    for letter in told:
        jsonschema_rs.validator_for(schemas["read_message"]).validate(letter.structured)
