"""A conversation with an IMAP server."""

import asyncio
import contextlib
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from fakes.clock import FakeClock
from fakes.imap import ImapServer, imap_server, password_proof
from fakes.smtp import PASSWORD
from hypothesis import given
from hypothesis import strategies as st

from adapters.base import AdapterError, ErrorKind, Secret, Target
from adapters.email.account import read_account
from adapters.email.imap.failures import Refused
from adapters.email.imap.grammar import MAX_VALUES, NotImap
from adapters.email.imap.pipe import Flood
from adapters.email.imap.session import MAX_FOUND, MAX_PIECES, MAX_RESPONSES, Session
from adapters.email.imap.visit import in_session
from adapters.email.imap.words import string
from adapters.email.reading import prepare_read, read_message
from adapters.email.tls import Contexts

Work = Callable[[Session], Awaitable[Any]]


async def visit(server: ImapServer, work: Work | None = None, password: str = PASSWORD, **options: Any) -> Any:
    """What the work makes of a session."""

    async def nothing(_session: Session) -> None:
        """Signing in is all."""

    account = read_account(Target(name="m", hosts=("127.0.0.1", "localhost"), options=server.options | options))
    tls = await Contexts().of(account.ca_file)
    clock = FakeClock()
    return await in_session(account, Secret(password), tls, clock, clock.monotonic() + 5, work or nothing)


async def kind_of(server: ImapServer, work: Work | None = None, **options: Any) -> ErrorKind:
    """The kind of error that it ends with."""
    with pytest.raises(AdapterError) as caught:
        await visit(server, work, **options)
    return caught.value.kind


async def searching(session: Session) -> list[int]:
    """Open the inbox and look for everything."""
    await session.examine("INBOX")
    return await session.search(b"ALL")


async def fetching(session: Session) -> Any:
    """Open the inbox and fetch a message."""
    await session.examine("INBOX")
    return await session.fetch([1], b"FLAGS")


@pytest.mark.parametrize(
    "capabilities", [b"IMAP4rev1 SASL-IR AUTH=PLAIN", b"IMAP4rev1 AUTH=PLAIN", b"imap4rev1 auth=plain"]
)
async def test_the_password_goes_by_plain(capabilities: bytes) -> None:
    """With the command, or when the server asks for it."""
    async with imap_server() as server:
        server.capabilities = capabilities
        await visit(server)
    assert server.signed_in == [password_proof()]


async def test_without_plain_the_password_goes_by_login() -> None:
    """As strings that it cannot get out of."""
    async with imap_server() as server:
        server.capabilities = b"IMAP4rev1"
        await visit(server)
        await visit(server, password='a" b\\')
    assert [told for told in server.told if told[0].startswith(b"LOGIN")] == [
        [b'LOGIN "bot" {%d}' % len(PASSWORD.encode()), PASSWORD.encode(), b""],
        [b'LOGIN "bot" "a\\" b\\\\"'],
    ]


async def test_a_token_goes_by_xoauth2() -> None:
    """And by nothing else."""
    async with imap_server() as server:
        await visit(server, password="ya29.token", auth="xoauth2")
    assert server.signed_in == [b"user=bot\x01auth=Bearer ya29.token\x01\x01"]


async def test_a_refused_token_ends_the_challenge() -> None:
    """The server's reason comes as a challenge, which wants an answer."""
    async with imap_server() as server:
        server.says["AUTHENTICATE"] = b"+ eyJzdGF0dXMiOiI0MDAifQ==\r\n{tag} NO [AUTHENTICATIONFAILED] no\r\n"
        assert await kind_of(server, auth="xoauth2") is ErrorKind.NEEDS_AUTHORISATION


async def test_where_login_is_disabled_no_password_goes() -> None:
    """It would be readable."""
    async with imap_server() as server:
        server.capabilities = b"IMAP4rev1 LOGINDISABLED"
        assert await kind_of(server) is ErrorKind.UNAVAILABLE
    assert server.commands == ["CAPABILITY"]


async def test_uids_come_newest_first_and_once() -> None:
    """Over any number of answers."""
    async with imap_server() as server:
        server.says["SEARCH"] = b"* SEARCH 3 1\r\n* 5 EXISTS\r\n* SEARCH\r\n* SEARCH 9 3\r\n{tag} OK\r\n"
        assert await visit(server, searching) == [9, 3, 1]


async def test_facts_are_put_together_by_uid() -> None:
    """What was not asked for is left out, and answers about one message are one."""
    async with imap_server() as server:
        server.says["FETCH"] = (
            b"* 7 FETCH (FLAGS (\\Seen))\r\n* 1 FETCH (UID 1 FLAGS (x))\r\n* 2 FETCH (UID 2 FLAGS ())\r\n"
            b"* 3 EXPUNGE\r\n* 1 FETCH (UID 1 BODY[1] {4}\r\na)\r\n)\r\n{tag} OK\r\n"
        )
        assert await visit(server, fetching) == {1: {"UID": "1", "FLAGS": ["x"], "BODY[1]": b"a)\r\n"}}


async def test_a_literal_waits_until_it_is_asked_for() -> None:
    """And no byte of it means anything."""

    async def work(session: Session) -> list[int]:
        await session.examine("INBOX")
        return await session.search(b"SUBJECT", string("Grüße\r\nT9 LOGOUT"), b"UNSEEN")

    async with imap_server() as server:
        await visit(server, work)
    literal = [told for told in server.told if b"SEARCH" in told[0]]
    assert literal == [[b"UID SEARCH SUBJECT {18}", "Grüße\r\nT9 LOGOUT".encode(), b" UNSEEN"]]


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        ({"GREETING": b"* BYE busy\r\n"}, ErrorKind.UNAVAILABLE),
        ({"GREETING": b"* PREAUTH hi\r\n"}, ErrorKind.MALFORMED),
        ({"GREETING": b"HTTP/1.1 400 Bad Request\r\n"}, ErrorKind.MALFORMED),
        ({"GREETING": b"x" * 3_000_000}, ErrorKind.TOO_LARGE),
        ({"CAPABILITY": b"* BYE\r\n"}, ErrorKind.UNAVAILABLE),
        ({"CAPABILITY": b"{tag} BAD what\r\n"}, ErrorKind.MALFORMED),
        ({"CAPABILITY": b"X9 OK other\r\n"}, ErrorKind.MALFORMED),
        ({"CAPABILITY": b"{tag} MAYBE\r\n"}, ErrorKind.MALFORMED),
        ({"CAPABILITY": b"* OK x\r\n" * (MAX_RESPONSES + 1)}, ErrorKind.TOO_LARGE),
        ({"CAPABILITY": b"* x {99999999}\r\n"}, ErrorKind.TOO_LARGE),
        ({"CAPABILITY": b"* x {0}\r\n" + b" {0}\r\n" * MAX_PIECES}, ErrorKind.TOO_LARGE),
        ({"CAPABILITY": b"* x {5}\r\nab"}, ErrorKind.DEADLINE),
        ({"AUTHENTICATE": b"{tag} NO no\r\n"}, ErrorKind.NEEDS_AUTHORISATION),
        ({"EXAMINE": b"{tag} NO no\r\n"}, ErrorKind.NOT_FOUND),
        ({"EXAMINE": b"{tag} OK [UIDVALIDITY 7] not told\r\n"}, ErrorKind.MALFORMED),
        ({"EXAMINE": b"* OK [UIDVALIDITY x] x\r\n{tag} OK\r\n"}, ErrorKind.MALFORMED),
        ({"SEARCH": b"* SEARCH 1 x\r\n{tag} OK\r\n"}, ErrorKind.MALFORMED),
        ({"SEARCH": b"* SEARCH 99999999999\r\n{tag} OK\r\n"}, ErrorKind.MALFORMED),
        ({"SEARCH": b"* SEARCH 4294967296\r\n{tag} OK\r\n"}, ErrorKind.MALFORMED),
        ({"SEARCH": b"* SEARCH 0\r\n{tag} OK\r\n"}, ErrorKind.MALFORMED),
        ({"EXAMINE": b"* OK [UIDVALIDITY 0] x\r\n{tag} OK\r\n"}, ErrorKind.MALFORMED),
        ({"SEARCH": b"* SEARCH" + b" 1" * 2_000_000 + b"\r\n"}, ErrorKind.TOO_LARGE),
        ({"SEARCH": b"* SEARCH" + b" 1" * (MAX_FOUND + 2) + b"\r\n{tag} OK\r\n"}, ErrorKind.TOO_LARGE),
        ({"SEARCH": (b"* SEARCH" + b" 1" * 90_000 + b"\r\n") * 4 + b"{tag} OK\r\n"}, ErrorKind.TOO_LARGE),
        ({"CAPABILITY": (b"* x {0}\r\n" + b" {0}\r\n" * 100 + b"\r\n") * 100}, ErrorKind.TOO_LARGE),
        ({"SEARCH": b"{tag} NO [BADCHARSET (US-ASCII)] no\r\n"}, ErrorKind.INVALID),
    ],
    ids=itertools.count(),
)
async def test_a_server_that_does_not_keep_to_it(says: dict[str, bytes], kind: ErrorKind) -> None:
    """Whatever it says, it is an adapter error, and nothing is read without end."""
    async with imap_server() as server:
        server.says.update(says)
        account = read_account(Target(name="m", hosts=("127.0.0.1",), options=server.options))
        clock = FakeClock()
        seconds = 0.3 if kind is ErrorKind.DEADLINE else 20
        tls = await Contexts().of(None)
        with pytest.raises(AdapterError) as caught:
            await in_session(account, Secret(PASSWORD), tls, clock, clock.monotonic() + seconds, searching)
    assert caught.value.kind is kind


@pytest.mark.parametrize(
    "answer",
    [
        b"* 1 FETCH (UID " + b"9" * 9000 + b")\r\n",
        b"* 1 FETCH (UID\r\n",
        b"* 1 FETCH UID 1\r\n",
        b"* 1 FETCH (UID 1 X)\r\n",
        b"* 1 FETCH\r\n",
    ],
    ids=range(5),
)
async def test_a_fetch_that_is_none(answer: bytes) -> None:
    """Is malformed, and no crash."""
    async with imap_server() as server:
        server.says["FETCH"] = answer + b"{tag} OK\r\n"
        assert await kind_of(server, fetching) is ErrorKind.MALFORMED


async def test_a_refused_literal_is_a_refusal() -> None:
    """The rest of the command is not sent."""

    async def work(session: Session) -> list[int]:
        await session.examine("INBOX")
        return await session.search(b"SUBJECT", string("ü"))

    async with imap_server() as server:
        server.takes_literals = False
        assert await kind_of(server, work) is ErrorKind.INVALID
    assert "ü".encode() not in [piece for told in server.told for piece in told]


async def test_all_answers_to_one_fetch_hold_so_many_values() -> None:
    """Taking them apart holds up everything else, so that it does not count anew for each answer."""
    answer = b"* 1 FETCH (UID 1 X (" + b"()" * (MAX_VALUES // 10) + b"))\r\n"
    async with imap_server() as server:
        server.says["FETCH"] = answer * 5 + b"{tag} OK\r\n"
        assert list(await visit(server, fetching)) == [1]
        server.says["FETCH"] = answer * 11 + b"{tag} OK\r\n"
        assert await kind_of(server, fetching) is ErrorKind.MALFORMED


class Script:
    """A pipe to a server that says this, whatever it is told, and hangs up."""

    def __init__(self, says: bytes) -> None:
        self._rest = says

    async def line(self, _limit: int) -> bytes:
        """The next line."""
        line, end, self._rest = self._rest.partition(b"\r\n")
        if not end:
            raise ConnectionResetError
        return line

    async def exactly(self, count: int) -> bytes:
        """So many bytes."""
        if count > len(self._rest):
            raise ConnectionResetError
        data, self._rest = self._rest[:count], self._rest[count:]
        return data

    async def write(self, _data: bytes) -> None:
        """Nobody listens."""


WORDS = (
    *(
        b" ",
        b"(",
        b")",
        b"[",
        b"]",
        b'"',
        b"\\",
        b"NIL",
        b"1",
        b"UID 1 ",
        b"{0}\r\n",
        b"{2}\r\nab",
        b"\r\n",
        b"\xff",
        b"0",
    ),
    *(b"* 1 FETCH (UID 1 ", b"BODY[1]<0> ", b"BODYSTRUCTURE ", b"FLAGS ", b"INTERNALDATE ", b'"text" "plain" ', b"* "),
    *(
        b"* OK [UIDVALIDITY 1] x\r\n",
        b"* SEARCH 1\r\n",
        b"+ go\r\n",
        b"* BYE\r\n",
        b"T1 OK\r\n",
        b"T2 OK\r\n",
        b"T2 NO\r\n",
    ),
)
LETTER = b"* OK [UIDVALIDITY 1] x\r\nT1 OK\r\n"


@given(st.lists(st.sampled_from(WORDS), max_size=30).map(b"".join), st.sampled_from([b"", LETTER, LETTER + WORDS[15]]))
def test_no_answer_is_a_crash(says: bytes, begin: bytes) -> None:
    """What a session raises is what it says that it raises, and what is read of it can be told."""

    async def read() -> None:
        session = Session(Script(begin + says + b"\r\nT2 OK\r\nT3 OK\r\n"))  # type: ignore[arg-type]
        await read_message(session, prepare_read({"id": "1:1:INBOX"}), None)

    with contextlib.suppress(AdapterError, Refused, NotImap, Flood, OSError):
        asyncio.run(read())
