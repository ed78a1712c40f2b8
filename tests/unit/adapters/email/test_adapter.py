"""The email adapter, from an agent's arguments to a mailbox."""

from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from importlib.resources import files
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import trustme
import yaml
from fakes.clock import FakeClock
from fakes.smtp import PASSWORD, SmtpServer, smtp_server

from adapters.base import (
    AdapterError,
    ArgumentProblem,
    ErrorKind,
    Happened,
    Invocation,
    Output,
    Secret,
    SideEffect,
    Target,
)
from adapters.email.adapter import MAX_CONNECTS, EmailAdapter, SendArguments, prepare_send

BASE: dict[str, Any] = {"to": ["ann@corp.example"], "subject": "Hello", "text": "Hi"}


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


def issues_of(**changes: Any) -> list[tuple[str, str]]:
    """Path and rule of every issue that the arguments have."""
    with pytest.raises(ArgumentProblem) as caught:
        prepare_send(BASE | changes)
    return [(issue.path, issue.rule) for issue in caught.value.issues]


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
    }


def test_prepare_is_pure() -> None:
    """It changes nothing, and its own output is a fixed point."""
    arguments = BASE | {"to": ["Ann <ann@corp.example>"], "html": "<p>", "reply_to": "Help <help@corp.example>"}
    before = repr(arguments)
    prepared = prepare_send(arguments)
    assert repr(arguments) == before
    assert prepare_send(prepared) == prepared
    assert prepared["reply_to"] == "help@corp.example"


def test_null_is_as_good_as_absent() -> None:
    """Strict-mode models send every key."""
    assert prepare_send(BASE | {"cc": None, "bcc": None, "html": None, "reply_to": None}) == prepare_send(BASE)


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


async def test_the_operation_is_a_send_that_needs_a_credential() -> None:
    """Nobody can be asked later what became of a message. Closing, twice, is harmless."""
    adapter = EmailAdapter(FakeClock())
    operation = adapter.operations["send"]
    assert (operation.side_effect, operation.needs_credential) == (SideEffect.SEND, True)
    assert operation.reconcile is None
    await adapter.close()
    await adapter.close()


def test_the_row_agrees_with_the_code() -> None:
    """The schema has exactly the arguments' keys, is closed, and names an operation that exists."""
    row = yaml.safe_load(files("adapters.email").joinpath("tools.yaml").read_text("utf-8"))["tools"][0]
    schema = row["input_schema"]
    assert set(schema["properties"]) == set(get_type_hints(SendArguments))
    assert set(schema["required"]) == SendArguments.__required_keys__
    assert schema["additionalProperties"] is False
    assert row["output_schema"]["additionalProperties"] is False
    assert row["binding"]["operation"] in EmailAdapter(FakeClock()).operations
