"""One connection for one call."""

import asyncio
import base64
import contextlib
import traceback
from pathlib import Path
from typing import Any

import pytest
import trustme
import uvloop
from fakes.imap import ImapServer, imap_server
from fakes.smtp import DROP, HANG, PASSWORD, USERNAME

from adapters.base import AdapterError, ErrorKind, Fault, Happened, Secret, Target
from adapters.email.account import read_account
from adapters.email.failures import ConnectFailure
from adapters.email.imap.session import Session
from adapters.email.imap.visit import in_session
from adapters.email.tls import Contexts
from gateway.clock import SystemClock


async def visit(
    server: ImapServer, *, seconds: float = 5.0, password: str | None = PASSWORD, folder: str = "INBOX", **options: Any
) -> int:
    """Open a folder."""
    told = server.options | options
    account = read_account(Target(name="m", hosts=(told["imap_host"],), options=told))
    clock = SystemClock()
    tls = await Contexts().of(account.ca_file)

    async def work(session: Session) -> int:
        return await session.examine(folder)

    secret = None if password is None else Secret(password)
    return await in_session(account, secret, tls, clock, clock.monotonic() + seconds, work)


async def failure(server: ImapServer, **options: Any) -> AdapterError:
    """What it ends with."""
    with pytest.raises(AdapterError) as caught:
        await visit(server, **options)
    assert caught.value.happened is Happened.NO
    return caught.value


@pytest.mark.parametrize("tls", ["starttls", "implicit", "none"])
async def test_a_session_is_opened_and_left(tmp_path: Path, tls: str) -> None:
    """Encrypted as the account says, and over when the work is done."""
    async with imap_server(tmp_path, tls) as server:
        assert await visit(server) == server.validity
        await asyncio.wait_for(server.gone.wait(), 5)
    assert len(server.signed_in) == 1


def test_uvloop_does_it_too(tmp_path: Path) -> None:
    """The gateway runs on it."""

    async def run() -> int:
        async with imap_server(tmp_path, "starttls") as server:
            return await visit(server)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(run())


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
async def test_a_certificate_of_a_stranger_is_refused(tmp_path: Path, tls: str) -> None:
    """Before the password is sent; nor is a certificate for another name taken."""
    async with imap_server(tmp_path, tls) as server:
        other = await failure(server, imap_host="127.0.0.1")
        trustme.CA().cert_pem.write_to_path(str(server.ca_file))
        stranger = await failure(server)
    assert {(error.kind, error.fault) for error in (other, stranger)} == {(ErrorKind.UNAVAILABLE, Fault.REFUSED)}
    assert not isinstance(stranger, ConnectFailure)
    assert not server.signed_in


async def test_a_server_without_starttls_gets_no_password(tmp_path: Path) -> None:
    """Encryption is not optional once the account asks for it."""
    async with imap_server(tmp_path, "starttls") as server:
        server.says["STARTTLS"] = b"{tag} BAD what\r\n"
        assert (await failure(server)).kind is ErrorKind.UNAVAILABLE
    assert server.commands == ["STARTTLS"]


async def test_words_that_came_before_encryption_are_refused(tmp_path: Path) -> None:
    """The server did not say them."""
    async with imap_server(tmp_path, "starttls") as server:
        server.says["STARTTLS"] = b"{tag} OK go\r\n* PREAUTH injected\r\n"
        assert (await failure(server)).kind is ErrorKind.UNAVAILABLE
    assert not server.signed_in


@pytest.mark.parametrize("password", [None, "", "two\r\nlines", "nul\0nul"])
async def test_a_credential_that_cannot_be_used_is_not_sent(password: str | None) -> None:
    """Nobody is even connected to."""
    async with imap_server() as server:
        assert (await failure(server, password=password)).kind is ErrorKind.NEEDS_AUTHORISATION
    assert server.connections == 0


async def test_no_password_in_an_exception_when_the_server_repeats_it() -> None:
    """In none along the chain."""
    proof = base64.b64encode(f"\0{USERNAME}\0{PASSWORD}".encode())
    async with imap_server() as server:
        server.says["AUTHENTICATE"] = b"{tag} NO " + proof + PASSWORD.encode() + b"\r\n"
        error = await failure(server)
    assert (error.__cause__, error.__context__) == (None, None)
    shown = "".join(traceback.format_exception(error)) + repr(error) + str(error.__dict__)
    assert PASSWORD not in shown
    assert proof.decode() not in shown
    assert len(server.signed_in) == 1


@pytest.mark.parametrize("step", ["GREETING", "CAPABILITY", "EXAMINE"])
async def test_a_server_that_hangs_is_left_at_the_deadline(step: str) -> None:
    """By us, and the connection is let go."""
    async with imap_server() as server:
        server.says[step] = HANG.encode()
        error = await failure(server, seconds=0.3)
        assert (error.kind, error.fault) == (ErrorKind.DEADLINE, Fault.TIMEOUT)


@pytest.mark.parametrize("step", ["GREETING", "CAPABILITY", "EXAMINE"])
async def test_a_lost_connection_is_unavailable(step: str) -> None:
    """Only before signing in may it be tried again."""
    async with imap_server() as server:
        server.says[step] = DROP.encode()
        error = await failure(server)
    assert (error.kind, error.fault) == (ErrorKind.UNAVAILABLE, Fault.RESET)
    assert isinstance(error, ConnectFailure) is (step == "GREETING")


async def test_a_deadline_that_has_passed_connects_to_nobody() -> None:
    """Not even to say so."""
    async with imap_server() as server:
        assert (await failure(server, seconds=-1.0)).kind is ErrorKind.DEADLINE
    assert server.connections == 0


async def test_a_server_that_is_gone_when_all_is_read_took_nothing_back() -> None:
    """The goodbye reaches nobody."""
    async with imap_server() as server:
        server.keep(b"Subject: x\n\nx\n")
        account = read_account(Target(name="m", hosts=("127.0.0.1",), options=server.options))
        clock, tls = SystemClock(), await Contexts().of(None)

        async def work(session: Session) -> int:
            found = await session.examine("INBOX")
            server.says["NOOP"] = DROP.encode()
            with contextlib.suppress(ConnectionError):
                await session.command(b"NOOP")
            return found

        assert await in_session(account, Secret(PASSWORD), tls, clock, clock.monotonic() + 5, work) == server.validity


async def test_cancellation_passes_and_lets_the_connection_go() -> None:
    """The caller's cancellation is not turned into an error of ours."""
    async with imap_server() as server:
        server.says["EXAMINE"] = HANG.encode()
        task = asyncio.create_task(visit(server))
        async with asyncio.timeout(5):
            while "EXAMINE" not in server.commands:
                await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_an_account_that_only_sends_is_said_to_be_one() -> None:
    """With what is missing."""
    options = {"host": "127.0.0.1", "port": 25, "tls": "none", "username": "bot", "from": "bot@corp.example"}
    account = read_account(Target(name="m", hosts=("127.0.0.1",), options=options))
    clock, tls = SystemClock(), await Contexts().of(None)
    with pytest.raises(AdapterError) as caught:
        await in_session(account, Secret("x"), tls, clock, clock.monotonic() + 5, lambda _session: asyncio.sleep(0))
    assert "imap_host" in caught.value.message
