"""The demo's servers are real: the mail server demands TLS and the password, the web server serves pages."""

import asyncio
import ssl
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import aiohttp
import aiosmtplib
import pytest

from gateway.cli.demo.certificate import server_context
from gateway.cli.demo.servers import ARTICLE, HOST, MOVED, Account, Mail, World, running_world
from gateway.errors import StartError

ACCOUNT = Account(username="bot", password='p"w\\ü')


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """The servers, and `ca.pem` in the test's folder."""
    async with running_world(ACCOUNT, server_context(tmp_path, "localhost")) as running:
        yield running


async def _send(world: World, password: str, ca: Path) -> None:
    client = aiosmtplib.SMTP(
        hostname="localhost",
        port=world.mail_port,
        start_tls=True,
        tls_context=ssl.create_default_context(cafile=ca),
        username=ACCOUNT.username,
        password=password,
    )
    async with client:
        await client.sendmail("bot@corp.example", ["ann@corp.example"], b"Subject: hi\r\n\r\nhello\r\n")


async def test_mail_with_the_password_is_in_the_mailbox(world: World, tmp_path: Path) -> None:
    """With how it came."""
    await _send(world, ACCOUNT.password, tmp_path / "ca.pem")
    (mail,) = world.mailbox
    assert mail.recipients == ("ann@corp.example",)
    assert mail.is_authenticated
    assert mail.is_encrypted
    assert b"hello" in mail.content


async def test_a_wrong_password_sends_nothing(world: World, tmp_path: Path) -> None:
    """The server refuses to sign in."""
    with pytest.raises(aiosmtplib.SMTPAuthenticationError):
        await _send(world, "wrong", tmp_path / "ca.pem")
    assert world.mailbox == []


async def test_without_tls_there_is_no_signing_in(world: World) -> None:
    """The server insists on STARTTLS."""
    client = aiosmtplib.SMTP(hostname=HOST, port=world.mail_port, start_tls=False)
    async with client:
        with pytest.raises(aiosmtplib.SMTPException):
            await client.sendmail("bot@corp.example", ["ann@corp.example"], b"hello")
    assert world.mailbox == []


async def test_pages_are_served_and_one_leads_to_the_trap(world: World) -> None:
    """Whoever follows the redirect is counted."""
    base = f"http://{HOST}:{world.web_port}"
    async with aiohttp.ClientSession() as session:
        async with session.get(base + ARTICLE) as response:
            assert "How a small harbour learned to count its ships" in await response.text()
        async with session.get(base + MOVED, allow_redirects=False) as response:
            assert response.headers["Location"] == f"http://{HOST}:{world.trap_port}/admin"
        assert world.trapped == 0
        with pytest.raises(aiohttp.ClientError):
            await session.get(base + MOVED)
    assert world.trapped >= 1
    assert world.pages_served == [ARTICLE, MOVED, MOVED]


async def test_ports_are_closed_in_the_end(tmp_path: Path) -> None:
    """Also when the block is left by an error."""
    with pytest.raises(ZeroDivisionError):
        async with running_world(ACCOUNT, server_context(tmp_path, "localhost")) as world:
            raise ZeroDivisionError
    for port in (world.mail_port, world.web_port, world.trap_port):
        with pytest.raises(OSError, match="Connect call failed"):
            await asyncio.open_connection(HOST, port)


async def test_without_aiosmtpd_the_demo_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence, before anything is started."""
    monkeypatch.setitem(sys.modules, "aiosmtpd.smtp", None)
    monkeypatch.setitem(sys.modules, "aiosmtpd", None)
    with pytest.raises(StartError, match="pip install aiosmtpd"):
        async with running_world(ACCOUNT, server_context(tmp_path, "localhost")):
            pass


def test_an_account_does_not_show_its_password() -> None:
    """Not even in a repr."""
    assert ACCOUNT.password not in repr(ACCOUNT)


def test_a_mail_tells_its_subject() -> None:
    """And one without has none."""
    mail = Mail(recipients=(), content=b"Subject: To all of us\r\n\r\nHello", is_authenticated=True, is_encrypted=True)
    assert mail.subject == "To all of us"
    assert replace(mail, content=b"\r\nHello").subject == ""
